"""Pages of the console that are no list of rows: what can happen, what did, and what waits."""

from .event_types import EVENT_TYPES
from .journey import JOURNEY
from .kinds import KINDS
from .streams import STREAMS

__all__ = ["EVENT_TYPES", "JOURNEY", "KINDS", "STREAMS"]
