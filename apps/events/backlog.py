"""Since when a group holds many entries of a stream without finishing them."""

from datetime import UTC, datetime

from django.utils import timezone

from . import keys
from .bus import StreamState
from .connections import redis_client

MANY_PENDING = 50


def note(state: StreamState, now: datetime | None = None) -> None:
    """Remember when it became many; forget it when it is no longer."""
    at = (now or timezone.now()).timestamp()
    pipe = redis_client().pipeline(transaction=False)
    for group in state.groups:
        name = f"{state.stream}|{group.group}"
        if group.pending > MANY_PENDING:
            pipe.hsetnx(keys.MANY_PENDING_SINCE, name, at)
        else:
            pipe.hdel(keys.MANY_PENDING_SINCE, name)
    pipe.execute()


def many_pending_since() -> dict[tuple[str, str], datetime]:
    """By stream and group."""
    told = redis_client().hgetall(keys.MANY_PENDING_SINCE)
    return {
        _named(name.decode()): datetime.fromtimestamp(float(at), UTC) for name, at in told.items()
    }


def _named(name: str) -> tuple[str, str]:
    stream, _, group = name.partition("|")
    return stream, group
