"""Whatever the order and however often: the same alerts as in order and once."""

import random
from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.watch import services
from apps.watch.models import Alert
from tests.watch.stories import NOON, happened, message

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


def story(drawn):
    """In the order of event time."""
    return [
        happened(NOON + timedelta(minutes=minute), kind, about=case, case=case, amount=amount)
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
    """What is open after these deliveries, all of which is undone again."""
    with transaction.atomic():
        tower.index.forget(tower.tenant.pk)
        handled = set()
        for batch in deliveries:
            # The inbox lets each event through once; within a batch too.
            new = {e.event_id: e for e in batch if e.event_id not in handled}
            handled |= set(new)
            tell(tower, list(new.values()))
        services.fire_due(now=NOON + timedelta(hours=12))
        found = {
            (a.event_type, a.aggregate_type, a.aggregate_id, a.detected_at, str(a.severity))
            for a in Alert.across_tenants.all()
        }
        transaction.set_rollback(True)
    return found


def tell(tower, events):
    if events:
        messages = [message(event, tower.tenant.pk) for event in events]
        with transaction.atomic():
            services.watch_events(messages, now=NOON + timedelta(hours=12))


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
        tower.watch(rule, OPENED, ASSIGNED)
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
        tower.watch({**aggregate(function, 2), "operator": "<"}, OPENED, ASSIGNED)
        in_order = alerts_after(tower, [[event] for event in events])
        shuffled = alerts_after(tower, batches(disorder(events, chance), chance))
        transaction.set_rollback(True)
    assert {alert[:3] for alert in in_order} <= {alert[:3] for alert in shuffled}
