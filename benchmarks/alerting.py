"""How fast one worker makes alerts of a storm of matches."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from math import ceil
from uuid import UUID

from apps.accounts.models import Tenant
from apps.events import bus
from apps.events.consumer import Consumer
from apps.events.groups import GROUPS
from apps.events.ids import uuid7
from apps.watch.engine.index import RuleIndex
from apps.watch.models import Alert, Subscription
from apps.watch.services import watch

from . import servers
from .events import ClaimFiled, an_event
from .figure import Figure, Size, faster
from .publishing import TENANT
from .stage import STREAM, Stage, stage

GROUP = GROUPS["watch_cep_group"]
EVENTS, AGGREGATES, BATCH = 100_000, 1_000, 500
RULES_ON_THE_TYPE = 20
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
NEVER = {"type": "threshold", "field": "number", "operator": "<", "threshold": -1}
ALWAYS = {"type": "always"}


def alert_storm(size: Size) -> Iterator[Figure]:
    """Every event matches and folds into one of 1,000 alerts, against the same without a match."""
    count = size.of(EVENTS, 2_000)
    rounds = [
        (_watched(count, ALWAYS, AGGREGATES), _watched(count, NEVER, 0))
        for _ in range(size.rounds(3))
    ]
    yield faster("alert_storm", rounds, against="the same events without a match", least=0.3)


def _watched(count: int, first_rule: dict[str, object], alerts: int) -> float:
    """Events per second through one worker, with 20 rules on their type."""
    with stage("here", 0) as place:
        subscribe(ClaimFiled, [first_rule, *[NEVER] * (RULES_ON_THE_TYPE - 1)])
        _fill(place, count)
        servers.checkpoint()
        begin = time.monotonic()
        consumer = Consumer(GROUP, bus.connect(), "bench-1", batch=BATCH)
        for _ in range(ceil(count / BATCH)):
            consumer.step()
        elapsed = time.monotonic() - begin
        assert place.count("event_inbox") == count
        assert Alert.across_tenants.count() == min(count, alerts)
        assert sum(Alert.across_tenants.values_list("count", flat=True)) == bool(alerts) * count
    return count / elapsed


def subscribe(kind: type, rules: list[dict[str, object]]) -> None:
    """Let the benchmarks' tenant have these rules about this type, and no others."""
    tenant, _ = Tenant.objects.get_or_create(pk=TENANT, name="Bench", slug="bench")
    Subscription.across_tenants.all().delete()
    for number, rule in enumerate(rules):
        Subscription.across_tenants.create(
            tenant=tenant, role="admin", name=f"Rule {number}", event_types=[kind.type],
            rule=rule, rule_since=LONG_AGO,
        )  # fmt: skip
    watch.index = RuleIndex()


def _fill(place: Stage, count: int) -> None:
    things = [uuid7() for _ in range(AGGREGATES)]
    for stream in GROUP.streams:
        place.client.xgroup_create(stream, GROUP.name, id="0", mkstream=True)
    pipe = place.client.pipeline(transaction=False)
    for number in range(count):
        pipe.xadd(STREAM, _entry(number, things[number % AGGREGATES]))
    pipe.execute()


def _entry(number: int, thing: UUID) -> dict[str, str | int]:
    event = an_event(ClaimFiled, number, thing)
    return {
        "event_id": str(uuid7()), "event_type": event.type, "schema_version": 1,
        "aggregate_type": event.aggregate, "aggregate_id": event.aggregate_id,
        "tenant_id": str(TENANT), "actor": "alice@example.com", "trace_id": uuid7().hex,
        "occurred_at": datetime.now(UTC).isoformat(),
        "payload": event.payload_json(),
    }  # fmt: skip
