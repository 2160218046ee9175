"""The outbox's state machine in SQL: claim, settle, give back. One statement for each.

PENDING -> PROCESSING -> PUBLISHED, back to PENDING for another attempt, DEAD at the end.

Order per aggregate rests on two rules. A claim skips every event whose aggregate has an earlier
one in flight or waiting for its retry. And whatever makes an event PENDING again takes the same
advisory lock as a claim, so that a claim never looks while that happens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import orjson
import psycopg

from .floor import Floor
from .statements import PREPARE_THRESHOLD, Connection, execute

LOG_FIELDS = (
    "trace_id", "event_id", "stream", "event_type", "aggregate_type", "aggregate_id",
)  # fmt: skip
"""What every log line about an event carries."""

# A day's slice begins empty and without statistics, and a plan made then would be kept while it
# fills. So the planner gets no choice: events are found by number, in that order, never by
# reading a slice from end to end.
_PLANNING = (
    "plan_cache_mode = force_generic_plan", "enable_seqscan = off", "enable_bitmapscan = off",
    "enable_mergejoin = off", "enable_sort = off", "jit = off",
)  # fmt: skip

CLAIM_LOCK = "SELECT pg_advisory_xact_lock(hashtext('axiom.outbox.claim'))"

# Lets PostgreSQL pass over the slices of other days.
_DAYS = "created_at >= %(since)s AND created_at < now() + interval '1 day'"

# A row that failed before carries `next_retry_at` and is found by a small index of its own
# (`parked`); all others are found by number, from the floor on. A due one waits while an earlier
# event of its aggregate does: after a loss of the bus that may lie beyond this batch. `busy` looks
# only as far as the last candidate: what comes later blocks nobody.
_CLAIM = f"""
WITH parked AS MATERIALIZED (
    SELECT seq, tenant_id, aggregate_type, aggregate_id,
           CASE status WHEN 'PENDING' THEN next_retry_at ELSE locked_until END AS due
    FROM event_outbox
    WHERE next_retry_at IS NOT NULL AND status IN ('PENDING', 'PROCESSING') AND {_DAYS}
), again AS MATERIALIZED (
    SELECT seq, tenant_id, aggregate_type, aggregate_id FROM event_outbox o
    WHERE next_retry_at IS NOT NULL AND {_DAYS}
      AND (status = 'PENDING' AND next_retry_at <= now()
           OR status = 'PROCESSING' AND locked_until <= now())
      AND NOT EXISTS (SELECT FROM event_outbox f WHERE f.aggregate_id = o.aggregate_id
                      AND f.aggregate_type = o.aggregate_type AND f.tenant_id = o.tenant_id
                      AND f.seq < o.seq
                      AND f.seq >= %(floor)s::bigint AND f.created_at >= %(since)s
                      AND f.next_retry_at IS NULL AND f.status IN ('PENDING', 'PROCESSING'))
    ORDER BY seq LIMIT %(limit)s::int FOR UPDATE SKIP LOCKED
), fresh AS MATERIALIZED (
    SELECT seq, tenant_id, aggregate_type, aggregate_id FROM event_outbox o
    WHERE seq >= %(floor)s::bigint AND next_retry_at IS NULL AND {_DAYS}
      AND (status = 'PENDING' OR status = 'PROCESSING' AND locked_until <= now())
      AND NOT EXISTS (SELECT FROM parked p WHERE p.aggregate_id = o.aggregate_id
                      AND p.aggregate_type = o.aggregate_type AND p.tenant_id = o.tenant_id
                      AND p.seq < o.seq)
    ORDER BY seq LIMIT %(limit)s::int FOR UPDATE SKIP LOCKED
), candidate AS MATERIALIZED (
    SELECT * FROM fresh UNION ALL SELECT * FROM again
), busy AS MATERIALIZED (
    SELECT tenant_id, aggregate_type, aggregate_id, seq FROM event_outbox
    WHERE seq >= %(floor)s::bigint AND seq <= (SELECT max(seq) FROM candidate) AND {_DAYS}
      AND status = 'PROCESSING' AND locked_until > now()
    UNION ALL SELECT tenant_id, aggregate_type, aggregate_id, seq FROM parked WHERE due > now()
), chosen AS MATERIALIZED (
    SELECT seq FROM candidate c
    WHERE NOT EXISTS (SELECT FROM busy b WHERE b.aggregate_id = c.aggregate_id
                      AND b.aggregate_type = c.aggregate_type AND b.tenant_id = c.tenant_id
                      AND b.seq < c.seq)
      AND EXISTS (SELECT FROM event_bus_state WHERE NOT healing AND epoch = %(epoch)s)
), claimed AS (
    UPDATE event_outbox
    SET status = 'PROCESSING', attempt_count = attempt_count + 1, last_attempt_at = now(),
        locked_by = %(owner)s, locked_until = now() + make_interval(secs => %(lease)s),
        claim_token = %(token)s, updated_at = now()
    WHERE seq = ANY (ARRAY(SELECT seq FROM chosen)) AND {_DAYS}
    RETURNING seq, created_at, stream, event_id::text, event_type, schema_version,
              aggregate_type, aggregate_id, tenant_id::text, actor, trace_id,
              replace(occurred_at::text, ' ', 'T'), payload::text, envelope::text,
              attempt_count, max_attempts
)
SELECT * FROM claimed ORDER BY seq
"""

_WHY_NOTHING = f"""
SELECT state.epoch = %(epoch)s AND NOT state.healing,
       EXISTS (SELECT FROM event_outbox
               WHERE seq >= %(floor)s::bigint AND next_retry_at IS NULL AND {_DAYS}
                 AND (status = 'PENDING' OR status = 'PROCESSING' AND locked_until <= now()))
FROM event_bus_state state
"""

# The token fences: a relay whose lease expired and was taken over changes nothing here. So does
# the epoch: what was sent before the bus was lost must not count as published after the healing
# has looked. The lock makes the one wait for the other.
_SETTLE = """
WITH bus AS MATERIALIZED (
    SELECT FROM event_bus_state WHERE epoch = %(epoch)s AND NOT healing FOR SHARE
)
UPDATE event_outbox o
SET status = 'PUBLISHED', published_at = now(), updated_at = now(),
    entry_id = %(entries)s::jsonb ->> seq::text,
    locked_by = NULL, locked_until = NULL, next_retry_at = NULL
WHERE o.seq = ANY (%(seqs)s::bigint[]) AND o.created_at BETWEEN %(oldest)s AND %(newest)s
  AND o.status = 'PROCESSING' AND o.claim_token = %(token)s AND EXISTS (SELECT FROM bus)
"""

_GIVE_BACK = """
UPDATE event_outbox o
SET status = 'PENDING', attempt_count = attempt_count - 1, updated_at = now(),
    locked_by = NULL, locked_until = NULL
WHERE o.seq = ANY (%(seqs)s::bigint[]) AND o.created_at BETWEEN %(oldest)s AND %(newest)s
  AND o.status = 'PROCESSING' AND o.claim_token = %(token)s
"""

_FAIL = """
UPDATE event_outbox o
SET status = failed.status, next_retry_at = failed.retry_at, updated_at = now(),
    locked_by = NULL, locked_until = NULL,
    last_error_code = failed.code, last_error_message = failed.message
FROM unnest(%(seqs)s::bigint[], %(statuses)s::text[], %(retry_ats)s::timestamptz[],
            %(codes)s::text[], %(messages)s::text[])
     AS failed(seq, status, retry_at, code, message)
WHERE o.seq = failed.seq
  AND o.seq = ANY (%(seqs)s::bigint[]) AND o.created_at BETWEEN %(oldest)s AND %(newest)s
  AND o.status = 'PROCESSING' AND o.claim_token = %(token)s
RETURNING o.seq
"""


class EpochOver(Exception):
    """The bus lost its data, or is being healed: find out before claiming more."""


class Claimed(NamedTuple):
    """One claimed row, as the statement returns it; the payload is never decoded."""

    seq: int
    created_at: datetime
    stream: str
    event_id: str
    event_type: str
    schema_version: int
    aggregate_type: str
    aggregate_id: str
    tenant_id: str
    actor: str
    trace_id: str
    occurred_at: str
    payload: str
    envelope: str | None
    attempt_count: int
    max_attempts: int

    @property
    def log_fields(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in LOG_FIELDS}


@dataclass(frozen=True)
class Claim:
    """A batch that is ours until the lease ends."""

    token: UUID
    rows: Sequence[Claimed]

    def naming(self, rows: Sequence[Claimed]) -> dict[str, Any]:
        """What names some of its rows to a statement."""
        days = [row.created_at for row in rows]
        return {
            "seqs": [row.seq for row in rows],
            "oldest": min(days),
            "newest": max(days),
            "token": self.token,
        }


@dataclass(frozen=True, slots=True)
class Failure:
    """What becomes of a row that the bus refused; without a time to retry it is given up."""

    row: Claimed
    code: str
    message: str
    retry_at: datetime | None


class Outbox:
    """The outbox as one relay sees it."""

    def __init__(self, connection: Connection, owner: str, lease: float) -> None:
        self.connection, self.owner, self.lease = connection, owner, lease
        # Django switches prepared statements off, also those that are asked for.
        connection.prepare_threshold = PREPARE_THRESHOLD
        for setting in _PLANNING:
            connection.execute(f"SET {setting}")
        self.begin_epoch("")

    def begin_epoch(self, epoch: str) -> None:
        """What was settled in another epoch may wait again: look at everything once more."""
        self.epoch, self.floor = epoch, Floor()

    def claim(self, limit: int) -> Claim:
        """Take up to `limit` events that may be sent now; looks further when those are blocked.

        Raises EpochOver when the bus was lost meanwhile and this relay does not know it yet.
        """
        self.floor.look_below(self.connection)
        claim = self._claim(limit)
        if not claim.rows and self._something_waits():
            claim = self._claim(limit * 20)
        return claim

    def raise_floor(self) -> None:
        """To be called when nobody waits for us: it speaks to PostgreSQL a few times a second."""
        self.floor.rise(self.connection)

    def _claim(self, limit: int) -> Claim:
        token = uuid4()
        params = {"limit": limit, "owner": self.owner, "lease": self.lease, "token": token}
        with self.connection.pipeline():  # One round trip, one implicit transaction.
            self._execute(CLAIM_LOCK)
            cursor = self._execute(_CLAIM, params | self._place, binary=True)
        return Claim(token, [Claimed._make(row) for row in cursor.fetchall()])

    def _execute(
        self, query: str, params: Any = None, *, binary: bool = False
    ) -> "psycopg.Cursor[Any]":
        return execute(self.connection, query, params, binary=binary)

    @property
    def _place(self) -> dict[str, Any]:
        return {"floor": self.floor.seq, "since": self.floor.since, "epoch": self.epoch}

    def _something_waits(self) -> bool:
        row = self._execute(_WHY_NOTHING, self._place).fetchone()
        if row is None or not row[0]:
            raise EpochOver
        return bool(row[1])

    def settle(self, claim: Claim, rows: Sequence[Claimed], entry_ids: Sequence[str]) -> int:
        """Mark rows as published; returns how many still were ours to mark."""
        if not rows:
            return 0
        entries = {row.seq: entry for row, entry in zip(rows, entry_ids, strict=True)}
        told = orjson.dumps(entries, option=orjson.OPT_NON_STR_KEYS).decode()
        params = claim.naming(rows) | {"entries": told, "epoch": self.epoch}
        return self._execute(_SETTLE, params).rowcount

    def give_back(self, claim: Claim, rows: Sequence[Claimed]) -> None:
        """Undo the claim of rows whose sending was prevented by no fault of theirs."""
        with self.connection.transaction(), self.connection.pipeline():
            self._execute(CLAIM_LOCK)
            self._execute(_GIVE_BACK, claim.naming(rows))

    def fail(self, claim: Claim, failures: Sequence[Failure]) -> set[int]:
        """Schedule another attempt or give up, in the caller's transaction; the numbers changed."""
        params = claim.naming([failure.row for failure in failures]) | {
            "statuses": ["PENDING" if f.retry_at else "DEAD" for f in failures],
            "retry_ats": [f.retry_at for f in failures],
            "codes": [f.code for f in failures],
            "messages": [f.message for f in failures],
        }
        self._execute(CLAIM_LOCK)
        return {seq for (seq,) in self._execute(_FAIL, params)}
