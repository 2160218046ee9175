"""What the backbone knows."""

from .event_types import find_event_types, groups_that_read
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

__all__ = [
    "LetterFilter",
    "LetterKind",
    "find_event_types",
    "groups_that_read",
    "kinds_of_letters",
    "letters_of",
    "letters_of_same_event",
    "progress_of",
    "redrives_of",
    "what_became_of",
]
