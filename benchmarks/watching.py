"""How fast the watch looks at events that match nothing, and what one rule costs."""

import json
import time
from collections.abc import Callable, Iterator
from math import ceil
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

from apps.events import bus
from apps.events.consumer import Consumer
from apps.events.groups import GROUPS, Group
from apps.events.handlers import on
from apps.events.ids import uuid7
from apps.watch.consumers import watch
from apps.watch.engine.occurrences import Occurrence
from apps.watch.rules import compile_condition, parse

from . import servers
from .consumers import GROUP
from .events import ClaimWatched, an_event
from .figure import Figure, Round, Size, faster
from .stage import STREAM, Stage, stage

READ = 100
WATCH = GROUPS["watch_cep_group"]
HANDLER = watch
"""Importing it is what makes it react."""

NEVER = {
    "type": "all",
    "conditions": [
        {"type": "threshold", "field": "currency", "operator": "==", "threshold": "KRW"},
        {"type": "threshold", "field": "number", "operator": ">=", "threshold": 0},
        {"type": "threshold", "field": "note", "operator": "==", "threshold": "never"},
    ],
}

# Of the subscriptions of each tenant, twenty look at the event's type, each with a rule of its own.
_TENANTS = """
INSERT INTO accounts_tenant (id, name, slug, timezone, is_active, created_at)
SELECT md5('tenant' || n)::uuid, 'Tenant ' || n, 'tenant-' || n, 'Asia/Seoul', true, now()
FROM generate_series(1, %(tenants)s) AS n
"""
_SUBSCRIPTIONS = """
INSERT INTO watch_subscription (
    id, tenant_id, name, role, event_types, rule, severity, channels, is_active, rule_since,
    revision, rebuild_due, quarantine_reason, created_at, updated_at)
SELECT gen_random_uuid(), md5('tenant' || t)::uuid, 'Subscription ' || s, 'manager',
       ARRAY[CASE WHEN s <= 20 THEN 'BENCH_CLAIM_WATCHED' ELSE 'CASE_CREATED' END],
       jsonb_set(%(rule)s::jsonb, '{conditions,2,threshold}', to_jsonb('never ' || s)), 'MEDIUM',
       ARRAY['in_app'], true, '2020-01-01', 1, false, '', now(), now()
FROM generate_series(1, %(tenants)s) AS t, generate_series(1, %(each)s) AS s
"""


@on(ClaimWatched, group=GROUP.name, batch=True)
def look_away(messages: Any) -> None:
    """What the watch is held against: a handler that does nothing."""


def watch_evaluate(size: Size) -> Iterator[Figure]:
    """Events that match none of many rules, against a handler that does nothing."""
    with stage("here", 0) as place:
        one = _rounds(place, size, tenants=1, each=1_000)
        many = _rounds(place, size, tenants=size.of(1_000, 2), each=100)
    yield faster("watch_evaluate_1_tenant", one, against="empty handler", least=0.5)
    yield faster("watch_evaluate_1000_tenants", many, against="empty handler", least=0.5)


def _rounds(place: Stage, size: Size, *, tenants: int, each: int) -> list[Round]:
    given = {"tenants": tenants, "each": each, "rule": json.dumps(NEVER)}
    place.connection.execute("TRUNCATE watch_subscription, accounts_tenant CASCADE")
    place.connection.execute(_TENANTS, given)
    place.connection.execute(_SUBSCRIPTIONS, given)
    ids = [row[0] for row in place.connection.execute("SELECT id FROM accounts_tenant")]
    # Every tenant's rules are read once before anything is measured.
    _speed(place, ids, max(len(ids), READ), WATCH), _speed(place, ids, READ, GROUP)
    count = size.of(20_000)
    return [
        (_speed(place, ids, count, WATCH), _speed(place, ids, count, GROUP))
        for _ in range(size.rounds(5))
    ]


def _speed(place: Stage, tenants: list[Any], count: int, group: Group) -> float:
    """Events per second from the first read to the last acknowledgement."""
    _fill(place, tenants, count, group)
    servers.checkpoint()
    consumer = Consumer(group, bus.connect(), "bench-1", batch=READ)
    begin = time.monotonic()
    for _ in range(ceil(count / READ)):
        consumer.step()
    elapsed = time.monotonic() - begin
    assert place.count("event_inbox") == count
    assert place.count("watch_alert") == 0
    return count / elapsed


def _fill(place: Stage, tenants: list[Any], count: int, group: Group) -> None:
    place.clear()
    for stream in map(str, group.streams):
        place.client.delete(stream)
        place.client.xgroup_create(stream, group.name, id="0", mkstream=True)
    pipe = place.client.pipeline(transaction=False)
    for number in range(count):
        pipe.xadd(STREAM, _entry(number, tenants[number % len(tenants)]))
    pipe.execute()


def _entry(number: int, tenant_id: Any) -> dict[str, str | int]:
    event = an_event(ClaimWatched, number, uuid7())
    return {
        "event_id": str(uuid7()), "event_type": event.type, "schema_version": 1,
        "aggregate_type": event.aggregate, "aggregate_id": event.aggregate_id,
        "tenant_id": str(tenant_id), "actor": "alice@example.com", "trace_id": uuid7().hex,
        "occurred_at": "2026-01-01T00:00:00+00:00", "payload": event.payload_json(),
    }  # fmt: skip


def rule_cost(size: Size) -> Iterator[Figure]:
    """A compiled rule of three conditions, against the same written by hand."""
    check = compile_condition(parse(NEVER), ZoneInfo("UTC"))
    by_hand: Callable[..., Any] = lambda payload, event: (
        payload["currency"] == "KRW" and payload["number"] >= 0 and payload["note"] == "never"
    )
    rounds = [
        (_seconds(check, size.of(200_000)), _seconds(by_hand, size.of(200_000)))
        for _ in range(size.rounds(9))
    ]
    ratio = median(ours / theirs for ours, theirs in rounds)
    yield Figure(
        "rule_cost", median(ours for ours, _ in rounds) * 1e9, "ns", "hand-written lambda",
        median(theirs for _, theirs in rounds) * 1e9, ratio, "ratio <= 4", ratio <= 4,
    )  # fmt: skip


def _seconds(check: Callable[..., Any], count: int) -> float:
    payload = {"currency": "KRW", "number": 7, "note": "Filed by the creditor's counsel."}
    event: Occurrence = None  # type: ignore[assignment]
    begin = time.perf_counter()
    for _ in range(count):
        check(payload, event)
    return (time.perf_counter() - begin) / count
