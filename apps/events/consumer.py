"""Reads a group's entries from the bus, has them delivered, and acknowledges them."""

import contextlib
import threading
import time
from collections.abc import Iterator

import structlog
from django.conf import settings
from django.db import Error as AnyDatabaseError
from django.db import connection

from . import heartbeats
from .bus import Bus, BusUnavailable, Entry, StreamsLost
from .delivery import Delivery
from .failpoints import reach
from .groups import Group
from .relay import backoff

log = structlog.get_logger(__name__)

BLOCK_MS = 1_000


class Consumer:
    """One worker of one group."""

    def __init__(self, group: Group, bus: Bus, name: str, batch: int = 100) -> None:
        self.group, self.bus, self.name, self.batch = group, bus, name, batch
        self.delivery = Delivery(group, bus, name)
        self._streams = [str(stream) for stream in group.streams]
        self._in_hand: list[Entry] = []
        self._lease: object | None = None
        self._next_chores = 0.0
        self._look_behind = True
        self._trouble = 0

    def run(self, stop: threading.Event) -> None:
        """Consume until told to stop; the batch in hand is finished first."""
        while not stop.is_set():
            try:
                if not self.step(block_ms=BLOCK_MS):
                    stop.wait(settings.EVENTS_CHORE_SECONDS)
                self._trouble = 0
            except (BusUnavailable, StreamsLost) as error:
                self._wait_out(error, stop)
            except AnyDatabaseError as error:
                # A broken connection does not mend itself, and nobody else would replace it.
                connection.close()
                self._wait_out(error, stop)
        self._give_up_lease()

    def step(self, block_ms: int = 0) -> bool:
        """Do what is due and handle one batch; False while another worker has the lead."""
        if not self._leads():
            return False
        if time.monotonic() >= self._next_chores:
            self._do_chores()
        if not self._in_hand:
            self._in_hand = self._abandoned() or self._read(block_ms)
        self._finish_batch()
        return True

    def _do_chores(self) -> None:
        self._next_chores = time.monotonic() + settings.EVENTS_CHORE_SECONDS
        if self.delivery.retry_due(self.batch) == self.batch:
            # More may be due. What is new gets its turn first, and so does whoever wants us to stop.
            self._next_chores = 0.0
        self._look_behind = True

    def _read(self, block_ms: int) -> list[Entry]:
        entries = self._read_new(block_ms)
        if self.group.ordered and entries and self._others_hold_earlier(entries):
            self._look_behind = True
            return self._abandoned()
        return entries

    def _others_hold_earlier(self, entries: list[Entry]) -> bool:
        """Whether a worker that does not know yet that it lost the lead has read before us."""
        first = {entry.stream: entry.entry_id for entry in reversed(entries)}
        return any(self.bus.first_held(self.group.name, s) != e for s, e in first.items())

    def _read_new(self, block_ms: int) -> list[Entry]:
        try:
            return self.bus.read(self.group.name, self.name, self._streams, self.batch, block_ms)
        except StreamsLost:
            # A missing group begins at the stream's start. A missing stream is the relay's to make.
            if not all(self.bus.ensure_group(s, self.group.name) for s in self._streams):
                raise
            return []

    def _finish_batch(self) -> None:
        """Handle what is in hand. An outage keeps it in hand for the next step."""
        entries = self._in_hand
        if entries:
            reach("consumer.read")
            self.delivery.handle(entries)
            reach("consumer.handled")
            self.bus.ack(self.group.name, entries)
            reach("consumer.acked")
        self._in_hand = []

    def _leads(self) -> bool:
        """Whether this worker may handle: always, or while its connection holds the group's lock.

        The lock lives and dies with the connection that commits the effects, so a worker that
        lost it cannot commit anything either.
        """
        if not self.group.ordered:
            return True
        connection.ensure_connection()
        if self._lease is connection.connection:
            return True
        self._in_hand = []
        if not self._lock("pg_try_advisory_lock"):
            return False
        self._lease = connection.connection
        self._next_chores = 0.0
        return True

    def _lock(self, function: str) -> bool:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {function}(hashtext(%s))", [f"axiom.group.{self.group.name}"])
            row = cursor.fetchone()
        return bool(row and row[0])

    def _give_up_lease(self) -> None:
        if self._lease is not None and self._lease is connection.connection:
            with contextlib.suppress(AnyDatabaseError):
                self._lock("pg_advisory_unlock")
        self._lease = None

    def _abandoned(self) -> list[Entry]:
        """A batch of what was handed out and that nobody will finish, as long as there is some."""
        for stream in self._streams if self._look_behind else ():
            for owner, min_idle_ms in self._left_by(stream):
                if held := self._take_over(stream, owner, min_idle_ms):
                    return held
        self._look_behind = False
        return []

    def _take_over(self, stream: str, owner: str, min_idle_ms: int) -> list[Entry]:
        group = self.group.name
        held = self.bus.take_over(group, self.name, stream, min_idle_ms, owner, self.batch)
        if not held and owner and owner != self.name:
            self.bus.forget_consumer(group, owner, stream)
        return held

    def _left_by(self, stream: str) -> Iterator[tuple[str, int]]:
        """Whose entries may be taken, and after how long; "" stands for anybody's."""
        if self.group.ordered:
            # Only the leader handles: what another worker still holds, it will never finish.
            yield "", 0
            return
        # Our hands are empty: what the bus believes we hold never reached us.
        yield self.name, 0
        yield "", settings.EVENTS_RECLAIM_IDLE_SECONDS * 1000
        for owner in self._dead_owners(stream):
            yield owner, 0

    def _dead_owners(self, stream: str) -> list[str]:
        state = self.bus.state(stream)
        groups = state.groups if state else ()
        owners = [c for g in groups if g.group == self.group.name for c in g.consumers]
        return heartbeats.silent(owner for owner in owners if owner != self.name)

    def _wait_out(self, error: Exception, stop: threading.Event) -> None:
        pause = min(backoff(self._trouble), 10.0)
        self._trouble += 1
        log.warning("consumer waits", group=self.group.name, error=str(error), seconds=pause)
        stop.wait(pause)
