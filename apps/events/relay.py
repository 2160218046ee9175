"""Carries events from the outbox to their streams: claim, send, settle."""

import json
import random
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import psycopg
import redis
import structlog
from django.conf import settings
from django.db import Error as AnyDatabaseError
from django.db import connection, transaction
from django.utils import timezone

from . import dead_letters, healing, keys, observe
from .bus import Bus, BusUnavailable, Identity, Refusal, StreamsLost
from .claims import Claim, Claimed, EpochOver, Failure, Outbox
from .connections import redis_client
from .failpoints import reach
from .handlers import readers

log = structlog.get_logger(__name__)

BUSY_POLL_SECONDS = 0.05
IDLE_POLL_SECONDS = 5.0


class Relay:
    """One relay; any number of them may run at once."""

    def __init__(self, bus: Bus, name: str) -> None:
        self.bus, self.name = bus, name
        self.batch = settings.EVENTS_BATCH
        self._outbox: Outbox | None = None
        self._known: Identity = ("", "")
        self._poll = BUSY_POLL_SECONDS
        self._trouble = 0

    def run(self, stop: threading.Event) -> None:
        """Relay until told to stop; the batch in hand is finished first."""
        while not stop.is_set():
            try:
                carried = self.relay_batch()
            except (BusUnavailable, AnyDatabaseError, psycopg.Error) as error:
                self._outbox = None
                connection.close()
                self._wait_out(error, stop)
            else:
                self._trouble = 0
                self._wait_for_work(carried, stop)

    def relay_batch(self) -> int:
        """Carry one batch; returns how many events left the outbox or were tried."""
        try:
            outbox = self._ready_outbox()
            claim = outbox.claim(self.batch)
            if claim.rows:
                reach("relay.claimed")
                self._carry(outbox, claim)
            elif self.bus.identity() != self._known:
                # Nobody publishes, and yet there may be much to send again.
                raise StreamsLost
            outbox.raise_floor()
        except (EpochOver, StreamsLost):
            # Look again before the next claim; relays that find the same wait for each other.
            self._outbox = None
            return 1
        return len(claim.rows)

    def _ready_outbox(self) -> Outbox:
        """The outbox, once it is certain that the bus still has what was sent before."""
        if self._outbox is None:
            connection.ensure_connection()
            raw: Any = connection.connection
            self._known = healing.known(self.bus) or healing.heal(self.bus, readers())
            # Losing a claim or a settlement in a crash means sending again, which is harmless.
            raw.execute("SET synchronous_commit = off")
            self._outbox = Outbox(raw, self.name, settings.EVENTS_LEASE_SECONDS)
            self._outbox.begin_epoch(self._known[1])
        return self._outbox

    def _carry(self, outbox: Outbox, claim: Claim) -> None:
        try:
            results = self._send(claim)
        except (BusUnavailable, StreamsLost):
            outbox.give_back(claim, claim.rows)
            raise
        reach("relay.sent")
        self._settle(outbox, claim, results)
        reach("relay.settled")

    def _send(self, claim: Claim) -> list[str | Refusal]:
        return self.bus.append([(row.stream, _fields(row)) for row in claim.rows], self._known)

    def _settle(self, outbox: Outbox, claim: Claim, results: Sequence[str | Refusal]) -> None:
        sent = [(r, i) for r, i in zip(claim.rows, results, strict=True) if isinstance(i, str)]
        rows, entry_ids = [row for row, _ in sent], [entry for _, entry in sent]
        settled = outbox.settle(claim, rows, entry_ids)
        if settled < len(sent):
            # Another relay has them, or the bus was lost and they have to go again.
            log.warning("claim lost while sending", sent=len(sent), settled=settled)
            outbox.give_back(claim, rows)
        observe.relayed(rows)
        refused = [
            (row, i) for row, i in zip(claim.rows, results, strict=True) if isinstance(i, Refusal)
        ]
        if refused:
            self._fail(outbox, claim, refused)

    def _fail(
        self, outbox: Outbox, claim: Claim, refused: Sequence[tuple[Claimed, Refusal]]
    ) -> None:
        failures = [_failure(row, refusal) for row, refusal in refused]
        with transaction.atomic():
            changed = outbox.fail(claim, failures)
            mine = [failure for failure in failures if failure.row.seq in changed]
            dead_letters.record_relay_failures(mine, worker=self.name)
        observe.relay_failed(mine)

    def _wait_for_work(self, carried: int, stop: threading.Event) -> None:
        """Sleep until a nudge, more rarely the longer nothing came."""
        if carried:
            self._poll = BUSY_POLL_SECONDS
        if carried >= max(1, self.batch // 10):
            return  # More than people do in a moment: there may be a backlog.
        try:
            # All at once: one look at the outbox serves everybody who nudged before it.
            if redis_client().blmpop(
                self._poll, 1, keys.NUDGE, direction="LEFT", count=keys.NUDGES_AT_MOST
            ):
                self._poll = BUSY_POLL_SECONDS
                return
        except redis.RedisError:
            stop.wait(self._poll)
        self._poll = min(self._poll * 2, IDLE_POLL_SECONDS)

    def _wait_out(self, error: Exception, stop: threading.Event) -> None:
        """Redis or PostgreSQL is away: 0.5 s, doubling, to 60 s. No event's attempt is counted."""
        pause = backoff(self._trouble)
        self._trouble += 1
        log.warning("relay waits", error=str(error), seconds=round(pause, 2))
        observe.relay_waits()
        stop.wait(pause)


def backoff(trouble: int) -> float:
    """How long to wait the n-th time in a row: 0.5 s, doubling, to 60 s, give or take 20 %."""
    return float(min(0.5 * 2**trouble, 60) * random.uniform(0.8, 1.2))


def _fields(row: Claimed) -> tuple[str | int, ...]:
    fields = (
        "event_id", row.event_id, "event_type", row.event_type,
        "schema_version", row.schema_version, "aggregate_type", row.aggregate_type,
        "aggregate_id", row.aggregate_id, "tenant_id", row.tenant_id, "actor", row.actor,
        "trace_id", row.trace_id, "occurred_at", row.occurred_at, "payload", row.payload,
    )  # fmt: skip
    if row.envelope:
        return fields + tuple(p for pair in json.loads(row.envelope).items() for p in pair)
    return fields


def _failure(row: Claimed, refusal: Refusal) -> Failure:
    last = refusal.permanent or row.attempt_count >= row.max_attempts
    retry_at = None if last else timezone.now() + timedelta(seconds=backoff(row.attempt_count - 1))
    return Failure(row, refusal.code, refusal.message, retry_at)
