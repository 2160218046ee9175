"""What carries events from the relay to the groups. Nothing above knows which bus it is."""

from django.conf import settings

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

    return _with_kafka(RedisStreams()) if settings.EVENTS_BUS == "kafka" else RedisStreams()


def _with_kafka(chat: Bus) -> Bus:
    # Only who chose Kafka has its package.
    from .beside import ChatBeside
    from .kafka import Kafka

    return ChatBeside(Kafka(), chat)
