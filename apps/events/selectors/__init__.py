"""What the backbone knows."""

from .event_types import find_event_types, groups_that_read
from .letters import LetterFilter, letters_of

__all__ = ["LetterFilter", "find_event_types", "groups_that_read", "letters_of"]
