"""Whatever the order and however often: the same alerts as in order and once."""

import random
from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.events.bus.memory import MemoryBus
from apps.events.delivery import Delivery
from apps.events.groups import GROUPS
from apps.events.models import Retry
from apps.watch import services
from apps.watch.engine.index import rows_in_force, watcher_of
from apps.watch.engine.trying import Trial, folded
from apps.watch.models import Alert
from tests.watch.stories import NOON, entry, happened

pytestmark = pytest.mark.django_db

OPENED, ASSIGNED = "CASE_CREATED", "CASE_ASSIGNED"


def steps(kind):
    return {"type": kind, "first": {"event_type": OPENED}, "then": {"event_type": ASSIGNED},
            "within_hours": 1}  # fmt: skip


def aggregate(function, threshold):
    return {"type": "aggregate", "function": function, "field": "amount", "operator": ">",
            "threshold": threshold, "window_hours": 1, "group_by": "case"}  # fmt: skip


RULES = [
    {"type": "threshold", "field": "amount", "threshold": 3},
    {"type": "pattern", "min_count": 2, "window_hours": 0.5},
    {"type": "pattern", "min_count": 3, "window_hours": 1, "group_by": "case"},
    aggregate("sum", 6),
    aggregate("max", 4),
    aggregate("distinct", 2),
    steps("sequence"),
    steps("absence"),
]


def undone(function):
    """A condition that more events can undo."""
    return {**aggregate(function, 2), "operator": "<"}


_events = st.lists(
    st.tuples(
        st.integers(0, 6 * 60),  # minutes after noon
        st.sampled_from([OPENED, ASSIGNED]),
        st.sampled_from(["a", "b"]),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=14,
)


LONG_AGO = NOON.replace(year=2025)


def story(drawn):
    """In the order of event time."""
    return [
        happened(LONG_AGO + timedelta(minutes=minute), kind, about=case, case=case, amount=amount)
        for minute, kind, case, amount in sorted(drawn)
    ]


def disorder(events, chance):
    """Each event up to an hour late, some of them twice."""
    repeated = [event for event in events for _ in range(chance.choice([1, 1, 2]))]
    return sorted(repeated, key=lambda e: e.occurred_at + timedelta(minutes=60) * chance.random())


def batches(events, chance):
    events = list(events)
    while events:
        size = chance.randint(1, 5)
        yield events[:size]
        events = events[size:]


def alerts_after(tower, deliveries):
    """What is open after these deliveries to a worker and its inbox, all of which is undone."""
    with transaction.atomic():
        worker = Delivery(GROUPS["watch_cep_group"], MemoryBus(), "w1")
        for batch in deliveries:
            worker.handle([entry(event, tower.tenant.pk) for event in batch])
        services.fire_due(now=LONG_AGO + timedelta(hours=12))
        found = {
            (a.event_type, a.aggregate_type, a.aggregate_id, a.detected_at, str(a.severity))
            for a in Alert.across_tenants.all()
        }
        assert not Retry.objects.exists()
        transaction.set_rollback(True)
    services.watch.index.forget(tower.tenant.pk)
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule['type']}-{rule.get('function')}")
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn=_events, seed=st.integers(0, 2**32))
def test_any_order_and_any_repetition_ends_in_the_same_alerts(tower, rule, drawn, seed):
    chance, events = random.Random(seed), story(drawn)
    with transaction.atomic():
        tower.watch(rule, OPENED, ASSIGNED, since="2024-01-01T00:00")
        in_order = alerts_after(tower, [[event] for event in events])
        shuffled = alerts_after(tower, batches(disorder(events, chance), chance))
        transaction.set_rollback(True)
    assert shuffled == in_order


@pytest.mark.parametrize("function", ["sum", "avg", "min"])
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn=_events, seed=st.integers(0, 2**32))
def test_what_more_events_can_undo_is_never_left_out(tower, function, drawn, seed):
    """Told on what had arrived, it may be told too often; never too seldom."""
    chance, events = random.Random(seed), story(drawn)
    with transaction.atomic():
        tower.watch(undone(function), OPENED, ASSIGNED, since="2024-01-01T00:00")
        in_order = alerts_after(tower, [[event] for event in events])
        shuffled = alerts_after(tower, batches(disorder(events, chance), chance))
        transaction.set_rollback(True)
    assert {alert[:3] for alert in in_order} <= {alert[:3] for alert in shuffled}


@pytest.mark.parametrize(
    "rule",
    [*RULES, *map(undone, ["sum", "avg", "min"])],
    ids=lambda rule: f"{rule['type']}-{rule.get('function')}",
)
@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn=_events)
def test_a_dry_run_finds_what_is_raised(tower, rule, drawn):
    events = story(drawn)
    with transaction.atomic():
        subscription = tower.watch(rule, OPENED, ASSIGNED, since="2024-01-01T00:00")
        raised = alerts_after(tower, [[event] for event in events])
        (row,) = rows_in_force(pk=subscription.pk)
        transaction.set_rollback(True)
    trial = Trial(watcher_of(row), until=LONG_AGO + timedelta(hours=12))
    for event in events:
        trial.look_at(event)
    assert {(m.event_type, m.aggregate_type, m.aggregate_id, m.occurred_at, "MEDIUM")
            for m in folded(trial.end())} == raised  # fmt: skip
