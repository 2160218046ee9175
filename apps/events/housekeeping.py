"""Keeps tables and streams at their size, and never takes what somebody still needs."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import redis
import structlog
from django.conf import settings
from django.db import Error as AnyDatabaseError
from django.db import connection
from django.utils import timezone

from . import backlog, keys, partitions
from .bus import Bus, BusUnavailable, StreamState
from .connections import redis_client
from .groups import GROUPS
from .handlers import active_groups
from .ids import first_id_of
from .keys import Stream
from .models import FailedAttempt
from .services import advance_redrives, forget_settled

log = structlog.get_logger(__name__)

_CHUNK = 10_000
_ORIGIN = "0-0"


class Housekeeper:
    """Does the chores of the whole installation; one of all running housekeepers does at a time."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus

    def run(self, stop: threading.Event) -> None:
        chores: tuple[tuple[float, Callable[[], object]], ...] = (
            (settings.EVENTS_CHORE_SECONDS, self.redrive),
            (settings.EVENTS_TRIM_SECONDS, lambda: self._do(self.trim_streams)),
            (3600, lambda: self._do(self.keep_tables)),
        )
        due = dict.fromkeys(chores, 0.0)
        while not stop.is_set():
            for chore in chores:
                if time.monotonic() >= due[chore]:
                    due[chore] = time.monotonic() + chore[0]
                    chore[1]()
            stop.wait(settings.EVENTS_CHORE_SECONDS)

    def _do(self, chore: Callable[[], object]) -> None:
        """Do a chore of which one housekeeper at a time is enough."""
        with self._patiently(chore), self._alone() as alone:
            if alone:
                chore()

    def redrive(self) -> None:
        """Take a step with the redrives; each is held while it is stepped, so this needs no lock."""
        with self._patiently(advance_redrives):
            advance_redrives()

    @contextlib.contextmanager
    def _patiently(self, chore: Callable[..., object]) -> Iterator[None]:
        try:
            yield
        except (AnyDatabaseError, BusUnavailable, redis.RedisError) as error:
            log.warning("chore waits", chore=chore.__name__, error=str(error))
            connection.close()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[bool]:
        """Whether no other housekeeper works, until the end of the block.

        The lock is the session's, for chores commit bit by bit: whoever publishes must not wait
        until the last of them is done.
        """
        alone = self._lock("pg_try_advisory_lock")
        try:
            yield alone
        finally:
            if alone:
                self._lock("pg_advisory_unlock")

    def _lock(self, function: str) -> bool:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {function}(hashtext('axiom.housekeeping'))")
            row = cursor.fetchone()
        return bool(row and row[0])

    # Tables

    def keep_tables(self) -> None:
        """Make the coming days' slices, drop old ones, forget old proofs and settled letters."""
        today = timezone.now()
        outbox_from = today - timedelta(days=settings.EVENTS_OUTBOX_DAYS)
        with connection.cursor() as cursor:
            made = partitions.ensure_partitions(cursor, today.date())
            dropped = partitions.drop_partitions(cursor, outbox_from.date())
        self._purge_default_slice(outbox_from)
        self.purge_inbox()
        forget_settled(today - timedelta(days=max(30, settings.EVENTS_LETTER_DAYS)))
        if made or dropped:
            log.info("outbox slices", made=made, dropped=dropped)

    def _purge_default_slice(self, before: datetime) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {partitions.PREFIX}default "
                "WHERE created_at < %s AND status IN ('PUBLISHED', 'DEAD')", [before]
            )  # fmt: skip

    def purge_inbox(self) -> int:
        """Forget proofs that are older than any replay; returns how many."""
        before = timezone.now() - timedelta(days=settings.EVENTS_INBOX_DAYS)
        FailedAttempt.objects.filter(at__lt=before).delete()
        gone = 0
        while chunk := self._purge_chunk(before):
            gone += chunk
        return gone

    def _purge_chunk(self, before: datetime) -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                'DELETE FROM event_inbox WHERE (event_id, "group") IN ('
                'SELECT event_id, "group" FROM event_inbox '
                "WHERE event_id < %s AND processed_at < %s LIMIT %s)",
                # Ids sort by time, so that no index of the proofs' own time has to be kept.
                [first_id_of(before), before, _CHUNK],
            )  # fmt: skip
            return int(cursor.rowcount)

    # Streams

    def trim_streams(self) -> None:
        for stream in Stream:
            self.trim_stream(stream)

    def trim_stream(self, stream: Stream) -> int:
        """Cut a stream to about its length, but never into what a group still needs."""
        state = self.bus.state(stream)
        if state is None or self._made_missing_groups(state):
            return 0
        self._mark_length(state)
        backlog.note(state)
        surplus_ends = self._entry_when_length_was(stream, state.entries_added - stream.max_length)
        needed_from = self._needed_from(state)
        self.bus.trim(stream, min((_forgotten_soon(), *needed_from), key=_order), exact=True)
        keep_from = min((surplus_ends, *needed_from), key=_order)
        return self.bus.trim(stream, keep_from) if keep_from != _ORIGIN else 0

    def _made_missing_groups(self, state: StreamState) -> bool:
        """A group that is not there has acknowledged nothing: it begins at what is there now."""
        there = {group.group for group in state.groups}
        readers = {name for name in active_groups() if state.stream in GROUPS[name].streams}
        for name in readers - there:
            self.bus.ensure_group(state.stream, name)
            log.warning("group was missing", group=name, stream=state.stream)
        return bool(readers - there)

    def _needed_from(self, state: StreamState) -> list[str]:
        """For each group that exists in the code: the oldest entry it has not acknowledged."""
        active = set(active_groups())
        return [
            group.oldest_pending_id or _after(group.last_delivered_id)
            for group in state.groups
            if group.group in active
        ]

    def _mark_length(self, state: StreamState) -> None:
        """Remember which entry was the last at this length: streams cannot be asked by position."""
        if state.entries_added:
            marks = keys.length_marks(state.stream)
            redis_client().zadd(marks, {state.last_id: state.entries_added})

    def _entry_when_length_was(self, stream: Stream, length: int) -> str:
        marks = keys.length_marks(stream)
        client = redis_client()
        found = client.zrevrangebyscore(marks, length, "-inf", start=0, num=1)
        if not found:
            return _ORIGIN
        client.zremrangebyscore(marks, "-inf", f"({client.zscore(marks, found[0])}")
        return str(found[0].decode())


def _forgotten_soon() -> str:
    """What is older leaves the stream before the inbox forgets it: read again, it would be new."""
    day = timezone.now() - timedelta(days=settings.EVENTS_INBOX_DAYS - 1)
    return f"{int(day.timestamp() * 1000)}-0"


def _order(entry_id: str) -> tuple[int, int]:
    ms, _, number = entry_id.partition("-")
    return int(ms), int(number or 0)


def _after(entry_id: str) -> str:
    ms, number = _order(entry_id)
    return f"{ms}-{number + 1}" if (ms, number) != (0, 0) else _ORIGIN
