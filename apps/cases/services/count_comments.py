"""Comment counts: deltas collected in Redis, added to the cases in batches, repaired by recount.

A delta belongs to a generation of its case's count. A batch adds it only while that generation
lasts; a recount ends the generation. So a delta that comes late, or twice, or after a loss of
Redis can never be counted beside a recount that had it already. docs/adr/0030 has the proof.
"""

import functools
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import redis
import structlog
from django.db import connection, transaction
from django.db.models import Max

from apps.cases.models import CountBatch
from apps.events import keys
from apps.events.connections import Redis, redis_client
from apps.events.failpoints import reach
from apps.events.ids import uuid7

log = structlog.get_logger(__name__)

MOST_CASES_PER_BATCH = 1_000
KEPT = timedelta(days=7)
# A session tells the beginning of its transaction an instant late.
MARGIN = timedelta(seconds=10)

# What was taken stays in Redis under its batch's id until PostgreSQL has it: a batch that died
# in between is found here and finished, under the same id.
_TAKE = """
local taken = redis.call('HGETALL', KEYS[2])
if #taken > 0 then return taken end
local cases = redis.call('SPOP', KEYS[1], ARGV[2])
if #cases == 0 then return {} end
redis.call('HSET', KEYS[2], 'id', ARGV[1])
for _, case in ipairs(cases) do
    local key = ARGV[3] .. '{' .. case .. '}'
    local deltas = redis.call('HGETALL', key)
    for i = 1, #deltas, 2 do
        redis.call('HSET', KEYS[2], case .. ':' .. deltas[i], deltas[i + 1])
    end
    redis.call('DEL', key)
end
return redis.call('HGETALL', KEYS[2])
"""
_FORGET = """
if redis.call('HGET', KEYS[1], 'id') == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""
# Rows are locked in one order, so that two batches never wait for each other in a circle.
_ADD = """
WITH delta AS (
    SELECT * FROM unnest(%s::uuid[], %s::int[], %s::int[]) AS d(case_id, generation, change)
), held AS (
    SELECT c.id FROM cases_case c
    JOIN delta d ON d.case_id = c.id AND d.generation = c.count_generation
    ORDER BY c.id FOR NO KEY UPDATE OF c
)
UPDATE cases_case c SET comment_count = c.comment_count + d.change
FROM delta d JOIN held ON held.id = d.case_id
WHERE c.id = d.case_id AND c.count_generation = d.generation
"""
# Every transaction that began before this moment is over.
_ALL_OVER_BEFORE = """
SELECT least(now(), min(xact_start)) - make_interval(secs => %s) FROM pg_stat_activity
WHERE datname = current_database() AND xact_start IS NOT NULL
"""
_CHANGED_SINCE = """
SELECT case_id FROM cases_comment WHERE changed_at >= %(since)s
UNION
SELECT unnest(case_ids) FROM count_batches WHERE kind = 'added' AND created_at >= %(since)s
"""
_WRONG = """
SELECT c.id FROM cases_case c
WHERE c.id = ANY(%s) AND c.comment_count <> (
    SELECT count(*) FROM cases_comment m WHERE m.case_id = c.id AND m.deleted_at IS NULL
)
ORDER BY c.id
"""
_RECOUNT = """
UPDATE cases_case SET count_generation = count_generation + 1, comment_count = (
    SELECT count(*) FROM cases_comment m WHERE m.case_id = %(case)s AND m.deleted_at IS NULL
)
WHERE id = %(case)s
"""
_BEGINNING = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


@dataclass(frozen=True)
class Taken:
    """Deltas on their way from Redis to PostgreSQL."""

    batch_id: UUID
    deltas: dict[tuple[UUID, int], int]

    @property
    def case_ids(self) -> list[UUID]:
        return sorted({case_id for case_id, _ in self.deltas})

    @classmethod
    def from_redis(cls, flat: list[bytes]) -> "Taken":
        fields = dict(zip(flat[::2], flat[1::2], strict=True))
        batch_id = UUID(fields.pop(b"id").decode())
        return cls(batch_id, {_case_and_generation(k): int(v) for k, v in fields.items()})


def _case_and_generation(field: bytes) -> tuple[UUID, int]:
    case_id, generation = field.decode().split(":")
    return UUID(case_id), int(generation)


def note_change(case_id: UUID, generation: int, change: int) -> None:
    """Collect one comment more or less. If Redis is away, recovery will find it."""
    reach("count.committed")
    try:
        pipe = redis_client("nudge").pipeline(transaction=True)
        pipe.hincrby(keys.comment_delta(case_id), str(generation), change)
        pipe.sadd(keys.COMMENT_DELTAS, str(case_id))
        pipe.execute()
    except redis.RedisError as error:
        log.warning("comment not counted yet", case_id=str(case_id), error=str(error))


def add_comment_deltas(client: Redis | None = None) -> int:
    """Add what was collected to the cases; how many cases that were.

    When Redis has lost its memory, what it lost is found by a recount.
    """
    client = client or redis_client()
    lost = not client.exists(keys.COMMENT_EPOCH)
    taken = take_deltas(client)
    if taken:
        reach("count.taken")
        add_once(taken)
        reach("count.added")
        _scripts(client).forget(keys=[keys.COMMENT_BATCH], args=[str(taken.batch_id)])
    if lost:
        recover_comment_counts()
        client.set(keys.COMMENT_EPOCH, str(uuid7()))
    return len(taken.case_ids) if taken else 0


def take_deltas(client: Redis) -> Taken | None:
    """What was collected, or what an earlier batch took and did not finish."""
    flat = _scripts(client).take(
        keys=[keys.COMMENT_DELTAS, keys.COMMENT_BATCH],
        args=[str(uuid7()), MOST_CASES_PER_BATCH, keys.COMMENT_DELTA],
    )
    return Taken.from_redis(flat) if flat else None


@transaction.atomic
def add_once(taken: Taken) -> bool:
    """Add deltas to the cases, unless their batch did so already."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO count_batches (id, kind, processed_to, case_ids)"
            f" SELECT %s, 'added', ({_ALL_OVER_BEFORE}), %s ON CONFLICT (id) DO NOTHING",
            [taken.batch_id, MARGIN.total_seconds(), taken.case_ids],
        )
        if not cursor.rowcount:
            return False
        reach("count.batch_recorded")
        cases, generations = zip(*taken.deltas, strict=True) if taken.deltas else ((), ())
        cursor.execute(_ADD, [list(cases), list(generations), list(taken.deltas.values())])
    return True


def recover_comment_counts(margin: timedelta = MARGIN) -> int:
    """Recount the cases with comments or counts changed since the last time; how many were wrong.

    Whatever was lost on the way (a process before it told Redis, Redis itself, a delta that came
    back with a restored Redis) shows in a case that changed since.
    """
    processed_to, since = _all_over_before(margin), _last_recovery()
    changed = _ids(_CHANGED_SINCE, {"since": since})
    wrong = _ids(_WRONG, [changed])
    for case_id in wrong:
        recount(case_id)
        reach("count.recounted")
    CountBatch.objects.create(
        kind=CountBatch.Kind.RECOUNTED, processed_to=processed_to, case_ids=wrong
    )
    return len(wrong)


@transaction.atomic
def recount(case_id: UUID) -> None:
    """Count a case's comments anew and end the generation of its deltas."""
    with connection.cursor() as cursor:
        # Waits for every comment that is being written, and makes new ones wait.
        cursor.execute("SELECT FROM cases_case WHERE id = %s FOR UPDATE", [case_id])
        cursor.execute(_RECOUNT, {"case": case_id})


def purge_count_batches(now: datetime) -> int:
    """Forget batches that nobody will ask for again; the last recovery stays."""
    old = CountBatch.objects.filter(processed_to__lt=min(now - KEPT, _last_recovery()))
    return old.delete()[0]


def _last_recovery() -> datetime:
    recovered = CountBatch.objects.filter(kind=CountBatch.Kind.RECOUNTED)
    return recovered.aggregate(to=Max("processed_to"))["to"] or _BEGINNING


def _all_over_before(margin: timedelta) -> datetime:
    with connection.cursor() as cursor:
        cursor.execute(_ALL_OVER_BEFORE, [margin.total_seconds()])
        return cursor.fetchone()[0]


def _ids(query: str, parameters: Any) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return [row[0] for row in cursor.fetchall()]


class _Scripts:
    def __init__(self, client: Redis) -> None:
        self.take = client.register_script(_TAKE)
        self.forget = client.register_script(_FORGET)


@functools.lru_cache(maxsize=4)
def _scripts(client: Redis) -> _Scripts:
    return _Scripts(client)
