"""What fires because nothing happens: as a table, and on time."""

import itertools
import signal
import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from apps.cases.events import CaseAssigned
from apps.events.context import acting
from apps.events.models import OutboxEvent
from apps.events.outbox import publish
from apps.watch import services
from apps.watch.models import Alert, AlertWatcher, Expectation, Subscription
from tests.alerts.dying import scan_and_die
from tests.watch.stories import at, happened

pytestmark = pytest.mark.django_db

A, B, OTHER = "CASE_CREATED", "CASE_ASSIGNED", "COMMENT_ADDED"


def absence(**more):
    return {
        "type": "absence",
        "first": {"event_type": A},
        "then": {"event_type": B},
        "within_hours": 1,
        **more,
    }


def told():
    return list(Alert.across_tenants.order_by("detected_at"))


@pytest.mark.parametrize(
    ("story", "due"),
    [
        ([(A, "12:00")], ["13:00"]),
        ([(A, "12:00"), (B, "12:30")], []),
        ([(A, "12:00"), (B, "12:00")], []),  # at the same instant
        ([(A, "12:00"), (B, "13:00")], []),  # at the last instant
        ([(A, "12:00"), (B, "13:00:00.001")], ["13:00"]),
        ([(B, "11:59:59.999"), (A, "12:00")], ["13:00"]),  # before does not count
        ([(B, "12:30")], []),
        ([(A, "12:00"), (OTHER, "12:30")], ["13:00"]),
        ([(A, "12:00"), (A, "12:20"), (B, "12:30")], []),  # one answer for both
        ([(A, "12:00"), (A, "12:40"), (B, "13:20")], ["13:00"]),
    ],
)
def test_absence_in_whatever_order_it_is_delivered(tower, story, due):
    tower.watch(absence())
    for number, order in enumerate(itertools.permutations(story)):
        group = f"c{number}"
        tower.deliver(*[happened(moment, kind, about=group) for kind, moment in order])
        open_ = Expectation.objects.filter(group_value=group, state="open").order_by("due_at")
        assert [row.due_at for row in open_] == [at(moment) for moment in due]


@pytest.mark.parametrize(("now", "fires"), [("12:59:59.999", 0), ("13:00", 1), ("23:00", 1)])
def test_it_fires_when_the_time_is_over_even_if_nothing_more_arrives(tower, now, fires):
    tower.watch(absence())
    tower.deliver(happened("12:00", A, about="c1", title="한빛섬유 회생"))
    assert services.fire_due(now=at(now)) == fires
    assert [(alert.detected_at, alert.aggregate_id) for alert in told()] == [
        (at("13:00"), "c1")
    ] * fires


def test_it_fires_once_however_often_one_looks(tower):
    tower.watch(absence())
    tower.deliver(happened("12:00", A))
    assert [services.fire_due(now=at("14:00")) for _ in range(3)] == [1, 0, 0]
    tower.deliver(happened("12:30", B))
    assert Expectation.objects.get().state == "fired"


def test_it_says_what_did_not_happen(tower):
    tower.watch(absence())
    tower.deliver(happened("12:00", A, title="한빛섬유 회생"))
    services.fire_due(now=at("14:00"))
    (alert,) = told()
    assert alert.message == "Case opened, and no Case assigned within 1 hour (한빛섬유 회생)"
    assert (alert.event_type, str(alert.severity)) == (A, "MEDIUM")


def test_what_happened_but_has_not_reached_us_is_no_false_alarm(tower, acme):
    """The worker was away: the answer lies in the outbox, undelivered."""
    case = "018f2d1c-0000-7000-8000-00000000ca5e"
    tower.watch(absence())
    tower.deliver(happened("12:00", A, about=case))
    with acting(tenant_id=acme.pk):
        answer = CaseAssigned(case_id=case, manager_id=None)
        publish(answer, occurred_at=at("12:30"))
    assert services.fire_due(now=at("14:00")) == 0
    assert Expectation.objects.get().state == "answered"


def test_an_answer_after_the_time_does_not_help(tower, acme):
    case = "018f2d1c-0000-7000-8000-00000000ca5e"
    tower.watch(absence())
    tower.deliver(happened("12:00", A, about=case))
    with acting(tenant_id=acme.pk):
        publish(CaseAssigned(case_id=case, manager_id=None), occurred_at=at("13:30"))
    assert services.fire_due(now=at("14:00")) == 1


def test_a_rule_that_changed_meanwhile_expects_nothing(tower):
    subscription = tower.watch(absence())
    tower.deliver(happened("12:00", A))
    subscription.revision += 1
    subscription.save()
    assert services.fire_due(now=at("14:00")) == 0
    assert Expectation.objects.get().state == "dropped"


def test_a_rule_that_fails_is_set_aside_and_the_others_fire(tower):
    bad, good = tower.watch(absence()), tower.watch(absence())
    tower.deliver(happened("12:00", A))
    Subscription.across_tenants.filter(pk=bad.pk).update(rule={"type": "magic"})
    assert services.fire_due(now=at("14:00")) == 1
    assert AlertWatcher.across_tenants.get().subscription_id == good.pk
    bad.refresh_from_db()
    assert "RuleRefused" in bad.quarantine_reason
    assert Alert.across_tenants.filter(event_type="SUBSCRIPTION_QUARANTINED").count() == 1
    assert services.fire_due(now=at("15:00")) == 0


def test_an_answer_by_a_clock_that_is_ahead_is_an_answer(tower, acme):
    """Told within the hour, it claims to have happened next year: it happened when it was told."""
    case, now = "018f2d1c-0000-7000-8000-00000000ca5e", timezone.now()
    tower.watch(absence())
    tower.deliver(happened(now, A, about=case))
    with acting(tenant_id=acme.pk):
        answer = CaseAssigned(case_id=case, manager_id=None)
        publish(answer, occurred_at=now + timedelta(days=365))
    assert services.fire_due(now=now + timedelta(hours=2)) == 0


def test_a_paused_rule_expects_nothing(tower):
    subscription = tower.watch(absence())
    tower.deliver(happened("12:00", A))
    subscription.is_active = False
    subscription.save()
    assert services.fire_due(now=at("14:00")) == 0


@pytest.mark.django_db(transaction=True)
def test_many_scans_at_once_fire_each_once(tower):
    tower.watch(absence())
    tower.deliver(*[happened("12:00", A, about=f"c{n}") for n in range(50)], together=True)
    fired = []

    def scan():
        fired.append(services.fire_due(now=at("14:00")))
        connection.close()

    scans = [threading.Thread(target=scan) for _ in range(4)]
    [scan.start() for scan in scans]
    [scan.join() for scan in scans]
    assert sum(fired) == 50
    assert Alert.across_tenants.count() == 50


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "point",
    [
        "absence.claimed", "absence.judged", "absence.settled", "absence.before_commit",
        "absence.committed",
    ],
)  # fmt: skip
def test_a_scan_that_is_killed_anywhere_fires_each_once(tower, point):
    tower.watch(absence())
    names = [f"c{n}" for n in range(services.fire.BATCH + 10)]
    tower.deliver(*[happened("12:00", A, about=name) for name in names], together=True)
    assert scan_and_die("fire_due", point, at("14:00")) == -signal.SIGKILL
    services.fire_due(now=at("14:00"))
    counts = dict(Alert.across_tenants.values_list("aggregate_id", "count"))
    assert counts == dict.fromkeys(names, 1)
    said = OutboxEvent.objects.filter(event_type="ALERT_TRIGGERED").values_list("aggregate_id")
    assert len(said) == len(set(said)) == len(names)
