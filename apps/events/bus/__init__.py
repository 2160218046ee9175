"""What carries events from the relay to the groups. Nothing above knows which bus it is."""

from .errors import BusUnavailable, StreamsLost
from .protocol import Bus, Entry, GroupState, Identity, Refusal, StreamState

__all__ = [
    "Bus",
    "BusUnavailable",
    "Entry",
    "GroupState",
    "Identity",
    "Refusal",
    "StreamState",
    "StreamsLost",
    "connect",
]


def connect() -> Bus:
    """The bus of this installation."""
    from .redis_streams import RedisStreams

    return RedisStreams()
