"""Says every change of the catalog to the tenant's browsers, and a storm of them in one word."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from uuid import UUID

import redis
import structlog
from django.db import transaction

from apps.events import keys
from apps.events.connections import redis_client
from apps.events.message import Message

from .push import Frame, push_now

log = structlog.get_logger(__name__)

MOST_IN_A_SECOND = 20
"""Of one data source. A first reading may have a hundred thousand; no browser follows that."""
RESYNC = "resync"
WINDOW_MS = 1_000

Source = tuple[UUID, str]


def bridge(messages: Iterable[Message], *, now: datetime) -> None:
    """Say these changes as soon as it is certain that they are handled."""
    second = int(now.timestamp())
    for source, changes in groupby(sorted(messages, key=_source), key=_source):
        transaction.on_commit(partial(_say, source, list(changes), second))


def _source(message: Message) -> Source:
    return message.tenant_id, message.aggregate_id


def _say(source: Source, changes: Sequence[Message], second: int) -> None:
    tenant_id, name = source
    try:
        before = _count(source, len(changes), second)
    except redis.RedisError as error:
        # Browsers are told to read everything anew when Redis is back.
        log.warning("not bridged", error=str(error), changes=len(changes))
        return
    room = max(MOST_IN_A_SECOND - before, 0)
    frames = [_frame(each) for each in changes[:room]]
    if before <= MOST_IN_A_SECOND < before + len(changes):
        frames.append(_resync(name))
    push_now(tenant_id, frames)


def _count(source: Source, count: int, second: int) -> int:
    """Count these changes, and say how many of the source came before them in this second."""
    key = keys.bridged(*source, second)
    pipe = redis_client("nudge").pipeline(transaction=False)
    pipe.incrby(key, count)
    pipe.expire(key, 10)
    total: int = pipe.execute()[0]
    return total - count


def _frame(message: Message) -> Frame:
    told = {
        "event_id": str(message.event_id),
        "datasource_name": message.aggregate_id,
        "occurred_at": message.occurred_at.isoformat(),
        "payload": message.payload,
    }
    return Frame(message.event_type, told)


def _resync(datasource_name: str) -> Frame:
    """Who waits this long before reading anew has missed nothing that is not said any more."""
    return Frame(RESYNC, {"datasource_name": datasource_name, "in_ms": WINDOW_MS})
