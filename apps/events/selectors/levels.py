"""How the backbone is: what its gauges show and what the system alerts are decided by."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count
from django.utils import timezone

from .. import backlog, bus, heartbeats, timings
from ..floor import Floor
from ..groups import GROUPS, RELAY
from ..handlers import active_groups
from ..ids import made_at
from ..keys import Stream
from ..models import BusState, DeadLetter, FailedAttempt

FAILURES_WITHIN = timedelta(minutes=5)

Letters = dict[tuple[str, str], int]
"""How many are open, by stream and group."""

# What failed before and waits is found by an index of its own; the rest by number, from the floor.
_WAITING = """
SELECT stream, status, count(*), extract(epoch FROM now() - min(created_at))::float
FROM event_outbox
WHERE seq >= %(floor)s AND created_at >= %(since)s
  AND next_retry_at IS NULL AND status IN ('PENDING', 'PROCESSING')
GROUP BY stream, status
UNION ALL
SELECT stream, status, count(*), extract(epoch FROM now() - min(created_at))::float
FROM event_outbox
WHERE next_retry_at IS NOT NULL AND status IN ('PENDING', 'PROCESSING')
GROUP BY stream, status
"""


@dataclass(slots=True)
class OutboxLevel:
    """How much of a stream's events has not left the outbox."""

    stream: str
    pending: int = 0
    processing: int = 0
    dead: int = 0
    """Given up by the relay, and nobody did anything about it yet."""
    oldest_pending_seconds: float = 0.0


class _Passed:
    """Where the outbox can still hold something unsent. A new look at all of it costs a second."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.epoch, self.floor = "", Floor(every_seconds=0)

    def advance(self) -> Floor:
        epoch = BusState.objects.values_list("epoch", flat=True).first() or ""
        if epoch != self.epoch:
            # What was sent in another epoch may wait again.
            self.epoch, self.floor = epoch, Floor(every_seconds=0)
        connection.ensure_connection()
        self.floor.look_below(connection.connection)
        self.floor.rise(connection.connection)
        return self.floor


_passed = _Passed()


def outbox_levels(letters: Letters | None = None) -> list[OutboxLevel]:
    """For every stream what waits, cheap however much was published."""
    levels = {str(stream): OutboxLevel(stream) for stream in Stream}
    for stream, status, count, age in _waiting():
        level = levels.setdefault(stream, OutboxLevel(stream))
        if status == "PENDING":
            level.pending += count
            level.oldest_pending_seconds = max(level.oldest_pending_seconds, age)
        else:
            level.processing += count
    letters = open_letters_by_place() if letters is None else letters
    for (stream, group), count in letters.items():
        if group == DeadLetter.RELAY and stream in levels:
            levels[stream].dead += count
    return list(levels.values())


def _waiting() -> list[tuple[Any, ...]]:
    with _passed.lock:
        floor = _passed.advance()
        place: dict[str, Any] = {"floor": floor.seq, "since": floor.since}
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, place)
        return list(cursor.fetchall())


def open_letters_by_place() -> Letters:
    """How many dead letters are open, by stream and group."""
    found = DeadLetter.objects.filter(status=DeadLetter.Status.OPEN).values_list("stream", "group")
    return {
        (stream, group): count for stream, group, count in found.annotate(n=Count("*")).order_by()
    }


@dataclass(frozen=True, slots=True)
class GroupLevel:
    """How far a group is behind on a stream."""

    stream: str
    group: str
    lag: int
    """Entries that it has not read."""
    pending: int
    """Entries that it has read and not finished."""
    many_pending_since: datetime | None
    """Since when `pending` is above 50 without a break."""
    oldest_waiting_seconds: float
    """Since when the oldest of all these was published."""


def group_levels(now: datetime | None = None) -> list[GroupLevel]:
    """For every stream and group that has handlers."""
    return list(_group_levels(now or timezone.now()))


def _group_levels(now: datetime) -> Iterator[GroupLevel]:
    line, active, since = bus.connect(), set(active_groups()), backlog.many_pending_since()
    for stream in Stream:
        state = line.state(stream)
        for group in state.groups if state else ():
            if group.group in active:
                oldest = line.oldest_waiting(stream, group) if group.lag or group.pending else None
                yield GroupLevel(
                    stream, group.group, group.lag, group.pending,
                    since.get((stream, group.group)), _age(oldest, now),
                )  # fmt: skip


def _age(entry: bus.Entry | None, now: datetime) -> float:
    try:
        published = made_at(UUID(entry.raw[b"event_id"].decode())) if entry else now
    except (KeyError, ValueError):
        return 0.0  # Nobody can read it; that becomes a dead letter, which tells more.
    return max(0.0, (now - published).total_seconds())


def failures_lately(now: datetime | None = None) -> dict[str, int]:
    """Attempts that failed in the last five minutes, by group; "relay" is one."""
    since = (now or timezone.now()) - FAILURES_WITHIN
    failed = FailedAttempt.objects.filter(at__gte=since).values_list("group")
    return dict(failed.annotate(n=Count("*")).order_by())


@dataclass(frozen=True, slots=True)
class Health:
    """All that the system alerts are decided by; what is wrong is for the reader to decide."""

    at: datetime
    outbox: list[OutboxLevel]
    groups: list[GroupLevel]
    failures: dict[str, int]
    """Attempts that failed in the last five minutes, by group."""
    handler_p99_seconds: dict[str, float]
    """By group, over the last five minutes."""
    delay_p99_seconds: dict[str, float]
    """From publishing to the end of handling, by group, over the last five minutes."""
    open_letters: Letters
    silent_workers: list[str]
    """Workers that have something to do and no heartbeat."""

    @property
    def worst_delay_seconds(self) -> float:
        """Of what was handled lately and of what still waits: who stands still measures nothing."""
        return max(
            0.0,
            *self.delay_p99_seconds.values(),
            *(group.oldest_waiting_seconds for group in self.groups),
            *(level.oldest_pending_seconds for level in self.outbox),
        )


def health(now: datetime | None = None) -> Health:
    """How the backbone is now. Raises when Redis or PostgreSQL is away: that is an answer too."""
    now, letters = now or timezone.now(), open_letters_by_place()
    return Health(
        at=now,
        outbox=outbox_levels(letters),
        groups=group_levels(now),
        failures=failures_lately(now),
        handler_p99_seconds=timings.handler_seconds(now=now.timestamp()),
        delay_p99_seconds=timings.delay_seconds(now=now.timestamp()),
        open_letters=letters,
        silent_workers=silent_workers(),
    )


def silent_workers() -> list[str]:
    """Workers that have something to do and were not heard of lately."""
    needed = {RELAY} | {GROUPS[name].worker for name in active_groups()}
    return sorted(needed - {worker for each in heartbeats.alive() for worker in each.workers})
