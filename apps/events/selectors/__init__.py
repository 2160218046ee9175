"""What the backbone knows."""

from .about import events_about
from .event_types import find_event_types, groups_that_read
from .history import Happened, history, stored_event
from .journey import EventTold, Journey, journey_of
from .letters import (
    LetterFilter,
    LetterKind,
    acts_lately,
    kinds_of_letters,
    letters_of,
    letters_of_same_event,
    newest_open,
    progress_of,
    redrives_of,
    what_became_of,
)
from .levels import GroupLevel, Health, OutboxLevel, health
from .steps import Kind, Step

__all__ = [
    "EventTold",
    "GroupLevel",
    "Happened",
    "Health",
    "Journey",
    "Kind",
    "LetterFilter",
    "LetterKind",
    "OutboxLevel",
    "Step",
    "acts_lately",
    "events_about",
    "find_event_types",
    "groups_that_read",
    "health",
    "history",
    "journey_of",
    "kinds_of_letters",
    "letters_of",
    "letters_of_same_event",
    "newest_open",
    "progress_of",
    "redrives_of",
    "stored_event",
    "what_became_of",
]
