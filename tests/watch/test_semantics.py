"""What each rule means, as one table, however its events are delivered.

On the left the rule and what happened when, on the right the moments at which an alert begins.
Each row is delivered in order, in one batch, backwards, shuffled and repeatedly, through the real
delivery with its inbox: the same alerts come out in every way, and a dry run finds them too.
"""

import random

import pytest

from apps.events.bus.memory import MemoryBus
from apps.events.delivery import Delivery
from apps.events.groups import GROUPS
from apps.watch import services
from apps.watch.engine.index import rows_in_force, watcher_of
from apps.watch.engine.trying import Trial, folded
from apps.watch.models import Alert
from tests.watch.stories import at, entry, happened

pytestmark = pytest.mark.django_db

PAID, OPENED, ASSIGNED = "PAYMENT_DUE", "CASE_CREATED", "CASE_ASSIGNED"
SEOUL, BERLIN, NEW_YORK = "Asia/Seoul", "Europe/Berlin", "America/New_York"


def threshold(operator, limit):
    return {"type": "threshold", "field": "amount", "operator": operator, "threshold": limit}


def pattern(count, **more):
    return {"type": "pattern", "min_count": count, "window_hours": 1, **more}


def aggregate(function, operator, limit, **more):
    return {"type": "aggregate", "function": function, "field": "amount", "operator": operator,
            "threshold": limit, "window_hours": 1, **more}  # fmt: skip


def steps(kind, **more):
    return {"type": kind, "first": {"event_type": OPENED}, "then": {"event_type": ASSIGNED},
            "within_hours": 1, **more}  # fmt: skip


def deadline(days):
    return {"type": "deadline", "days_before": days}


def paid(*moments, **payload):
    return [(moment, PAID, "p1", payload) for moment in moments]


def amounts(**by_minute):
    """Payments in the minutes after noon: amounts(m00=50, m10=60)."""
    return [(f"12:{name[1:]}", PAID, "p1", {"amount": n}) for name, n in by_minute.items()]


def about(name, story):
    return [(moment, kind, name, payload) for moment, kind, _, payload in story]


def opened(*moments):
    return [(moment, OPENED, "c1", {}) for moment in moments]


def assigned(*moments):
    return [(moment, ASSIGNED, "c1", {}) for moment in moments]


def due(moment, day):
    return [(moment, PAID, "p1", {"deadline": day})]


ALL = {"type": "all", "conditions": [threshold(">", 10), threshold("<", 20)]}
ANY = {"type": "any", "conditions": [threshold("<", 10), threshold(">", 20)]}
NOT = {"type": "not", "condition": threshold(">", 10)}
LARGE = threshold(">=", 100)

TABLE = [
    # rule, where the tenant is, what happened, when an alert begins
    ({"type": "always"}, "UTC", paid("12:00"), ["12:00"]),
    ({"type": "always"}, "UTC", paid("12:00", "12:59"), ["12:00"]),  # the same thing: one alert
    ({"type": "always"}, "UTC", paid("12:00") + about("p2", paid("12:59")), ["12:00", "12:59"]),
    # threshold
    (threshold(">", 100), "UTC", amounts(m00=100), []),
    (threshold(">", 100), "UTC", amounts(m00=100, m10=100.01), ["12:10"]),
    (threshold(">=", 100), "UTC", amounts(m00=100), ["12:00"]),
    (threshold(">=", 100), "UTC", amounts(m00="100", m10=None, m20=[]), []),
    # all, any, not
    (ALL, "UTC", amounts(m00=10, m10=20, m20=19.9), ["12:20"]),
    (ANY, "UTC", amounts(m00=10, m10=20, m20=20.1), ["12:20"]),
    (NOT, "UTC", amounts(m00=11, m10=10), ["12:10"]),
    (NOT, "UTC", paid("12:00"), []),  # without an amount nobody can tell
    # deadline: days of the calendar where the tenant is
    (deadline(7), "UTC", due("2025-02-19T23:59:59", "2025-02-27"), []),
    (deadline(7), "UTC", due("2025-02-20T00:00", "2025-02-27"), ["2025-02-20T00:00"]),
    (deadline(7), SEOUL, due("2025-02-19T14:59:59", "2025-02-27"), []),
    (deadline(7), SEOUL, due("2025-02-19T15:00", "2025-02-27"), ["2025-02-19T15:00"]),
    # ... where 30 March 2025 has 23 hours, and 2 November 2025 has 25
    (deadline(1), BERLIN, due("2025-03-29T22:59:59", "2025-03-31T00:00:00+02:00"), []),
    (deadline(1), BERLIN, due("2025-03-29T23:00", "2025-03-31T00:00:00+02:00"),
     ["2025-03-29T23:00"]),
    (deadline(0), BERLIN, due("2025-03-30T21:59:59", "2025-03-31"), []),
    (deadline(0), BERLIN, due("2025-03-30T22:00", "2025-03-31"), ["2025-03-30T22:00"]),
    (deadline(1), NEW_YORK, due("2025-11-02T03:59:59", "2025-11-03"), []),
    (deadline(1), NEW_YORK, due("2025-11-02T04:00", "2025-11-03"), ["2025-11-02T04:00"]),
    (deadline(0), NEW_YORK, due("2025-11-03T04:59:59", "2025-11-03"), []),
    (deadline(0), NEW_YORK, due("2025-11-03T05:00", "2025-11-03"), ["2025-11-03T05:00"]),
    # pattern: an hour that ends at 13:00 begins just after 12:00
    (pattern(3), "UTC", paid("12:00", "12:30"), []),
    (pattern(3), "UTC", paid("12:00", "12:30", "13:00"), []),
    (pattern(3), "UTC", paid("12:00", "12:30", "12:59:59.999"), ["12:59:59.999"]),
    (pattern(3), "UTC", paid("12:00", "12:00", "12:00"), ["12:00"]),
    (pattern(3), "UTC", paid("12:00", "12:10", "12:20", "12:30", "12:40"), ["12:20"]),
    (pattern(1), "UTC", paid("12:00"), ["12:00"]),
    (pattern(2, where=LARGE), "UTC", amounts(m00=100, m10=99, m20=100), ["12:20"]),
    (pattern(2, group_by="@aggregate_id"), "UTC", paid("12:00") + about("p2", paid("12:10")), []),
    (pattern(2, group_by="@aggregate_id"), "UTC",
     paid("12:00", "12:20") + about("p2", paid("12:10", "12:30")), ["12:20", "12:30"]),
    # ... an hour is an hour on every day
    (pattern(2), BERLIN, paid("2025-03-30T01:30+01:00", "2025-03-30T03:29:59+02:00"),
     ["2025-03-30T01:29:59"]),
    (pattern(2), BERLIN, paid("2025-03-30T01:30+01:00", "2025-03-30T03:30+02:00"), []),
    (pattern(2), NEW_YORK, paid("2025-11-02T01:30-04:00", "2025-11-02T01:29:59-05:00"),
     ["2025-11-02T06:29:59"]),
    (pattern(2), NEW_YORK, paid("2025-11-02T01:30-04:00", "2025-11-02T01:30-05:00"), []),
    # aggregate
    (aggregate("sum", ">", 100), "UTC", amounts(m00=50, m10=50), []),
    (aggregate("sum", ">", 100), "UTC", amounts(m00=50, m10=50, m20=0.01), ["12:20"]),
    (aggregate("sum", ">=", 0.3), "UTC", amounts(m00=0.1, m10=0.2), ["12:10"]),
    (aggregate("max", ">", 5), "UTC", amounts(m00=5, m10=6, m20=7), ["12:10"]),
    (aggregate("min", "<", 5), "UTC", amounts(m00=5, m10=4, m20=3), ["12:10"]),
    (aggregate("distinct", ">=", 2), "UTC", amounts(m00="x", m10="x", m20="y"), ["12:20"]),
    (aggregate("avg", ">", 5), "UTC", amounts(m00=6, m10=8), ["12:00"]),
    (aggregate("sum", ">", 9), BERLIN, paid("2025-03-30T01:30+01:00", "2025-03-30T03:30+02:00",
     amount=5), []),
    (aggregate("sum", ">", 9), NEW_YORK, paid("2025-11-02T01:30-04:00",
     "2025-11-02T01:29:59-05:00", amount=5), ["2025-11-02T06:29:59"]),
    # sequence: the last instant still counts, an end before its beginning does not
    (steps("sequence"), "UTC", opened("12:00") + assigned("12:00:00.001"), ["12:00:00.001"]),
    (steps("sequence"), "UTC", opened("12:00") + assigned("13:00"), ["13:00"]),
    (steps("sequence"), "UTC", opened("12:00") + assigned("13:00:00.001"), []),
    (steps("sequence"), "UTC", assigned("12:00") + opened("12:30"), []),
    (steps("sequence"), "UTC", opened("12:00") + about("c2", assigned("12:10")), []),
    (steps("sequence", group_by="@actor"), "UTC",
     opened("12:00") + about("c2", assigned("12:10")), ["12:10"]),
    (steps("sequence"), BERLIN, opened("2025-03-30T01:30+01:00")
     + assigned("2025-03-30T03:30+02:00"), ["2025-03-30T01:30"]),
    (steps("sequence"), NEW_YORK, opened("2025-11-02T01:30-04:00")
     + assigned("2025-11-02T01:30:00.001-05:00"), []),
    # absence: told when the time is over
    (steps("absence"), "UTC", opened("12:00"), ["13:00"]),
    (steps("absence"), "UTC", opened("12:00") + assigned("12:00"), []),
    (steps("absence"), "UTC", opened("12:00") + assigned("13:00"), []),
    (steps("absence"), "UTC", opened("12:00") + assigned("13:00:00.001"), ["13:00"]),
    (steps("absence"), "UTC", assigned("11:59:59.999") + opened("12:00"), ["13:00"]),
    (steps("absence"), "UTC", opened("12:00", "12:40") + assigned("13:20"), ["13:00"]),
    (steps("absence"), "UTC", opened("12:00") + about("c2", assigned("12:30")), ["13:00"]),
    (steps("absence"), BERLIN, opened("2025-03-30T01:30+01:00")
     + assigned("2025-03-30T03:30:00.001+02:00"), ["2025-03-30T01:30"]),
    (steps("absence"), NEW_YORK, opened("2025-11-02T01:30-04:00")
     + assigned("2025-11-02T01:30-05:00"), []),
]  # fmt: skip


def in_order(events, chance):
    return [[event] for event in events]


def in_one_batch(events, chance):
    return [events]


def backwards(events, chance):
    return [[event] for event in reversed(events)]


def shuffled(events, chance):
    mixed = chance.sample(events, len(events))
    return [mixed[n : n + 2] for n in range(0, len(mixed), 2)]


def repeatedly(events, chance):
    return [*[[event, event] for event in events], events, events[::-1]]


@pytest.fixture
def delivered(tower):
    """Delivers batches as a worker of the group does, and returns when alerts begin."""

    def deliver(batches):
        worker = Delivery(GROUPS["watch_cep_group"], MemoryBus(), "w1")
        for batch in batches:
            worker.handle([entry(event, tower.tenant.pk) for event in batch])
        services.fire_due(now=moment("2025-12-31T00:00"))
        return sorted(Alert.across_tenants.values_list("detected_at", flat=True))

    return deliver


def moment(text):
    return at(text if "T" in text else f"2025-02-10T{text}")


def story_of(story):
    """The events in the order in which they happened."""
    events = [happened(moment(when), *what, **payload) for when, *what, payload in story]
    return sorted(events, key=lambda event: event.place)


def watching(tower, rule, zone):
    tower.tenant.timezone = zone
    tower.tenant.save()
    return tower.watch(rule, PAID, since="2024-01-01T00:00")


@pytest.mark.parametrize(
    "delivery", [in_order, in_one_batch, backwards, shuffled, repeatedly], ids=lambda d: d.__name__
)
@pytest.mark.parametrize(("rule", "zone", "story", "begins"), TABLE)
def test_what_a_rule_means_however_its_events_are_delivered(
    tower, delivered, delivery, rule, zone, story, begins
):
    watching(tower, rule, zone)
    batches = delivery(story_of(story), random.Random(7))
    assert delivered(batches) == [moment(text) for text in begins]


@pytest.mark.parametrize(("rule", "zone", "story", "begins"), TABLE)
def test_a_dry_run_finds_the_same(tower, rule, zone, story, begins):
    subscription = watching(tower, rule, zone)
    (row,) = rows_in_force(pk=subscription.pk)
    trial = Trial(watcher_of(row), until=moment("2025-12-31T00:00"))
    for event in story_of(story):
        trial.look_at(event)
    assert [m.occurred_at for m in folded(trial.end())] == [moment(text) for text in begins]
