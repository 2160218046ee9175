"""What the backbone knows."""

from .event_types import find_event_types, groups_that_read
from .journey import EventTold, Journey, journey_of
from .letters import (
    LetterFilter,
    LetterKind,
    kinds_of_letters,
    letters_of,
    letters_of_same_event,
    progress_of,
    redrives_of,
    what_became_of,
)
from .steps import Kind, Step

__all__ = [
    "EventTold",
    "Journey",
    "Kind",
    "LetterFilter",
    "LetterKind",
    "Step",
    "find_event_types",
    "groups_that_read",
    "journey_of",
    "kinds_of_letters",
    "letters_of",
    "letters_of_same_event",
    "progress_of",
    "redrives_of",
    "what_became_of",
]
