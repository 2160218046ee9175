"""Windows made anew from what is stored, and forgotten when nobody can need them."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from apps.cases.events import CaseAssigned
from apps.events.context import acting
from apps.events.ids import uuid7
from apps.events.models import OutboxEvent
from apps.events.outbox import publish
from apps.watch import services
from apps.watch.models import Alert, Expectation, Subscription, WindowEntry
from tests.watch.stories import at, happened

pytestmark = pytest.mark.django_db

THREE = {"type": "pattern", "min_count": 3, "window_hours": 1}
CASE = "018f2d1c-0000-7000-8000-00000000ca5e"


@pytest.fixture
def now():
    return timezone.now()


@pytest.fixture
def stored(acme, now):
    """Stores an assignment of the case so many minutes ago."""

    def store(*minutes):
        with acting(tenant_id=acme.pk):
            for ago in minutes:
                event = CaseAssigned(case_id=CASE, manager_id=uuid7())
                publish(event, occurred_at=now - timedelta(minutes=ago))

    return store


@pytest.fixture
def waiting(tower, now):
    """Makes a subscription to three assignments within an hour, whose windows are not there."""

    def make(since_minutes_ago=0, **given):
        since = (now - timedelta(minutes=since_minutes_ago)).isoformat()
        return tower.watch(THREE, "CASE_ASSIGNED", since=since, rebuild_due=True, **given)

    return make


def entries(subscription):
    rows = WindowEntry.objects.filter(subscription=subscription).order_by("occurred_at")
    return list(rows.values_list("event_id", "told"))


def test_what_happened_before_the_rule_counts_and_alerts_nobody(stored, waiting, now):
    stored(30, 20, 10)
    subscription = waiting()
    assert services.rebuild_due(now=now) == 1
    assert [told for _, told in entries(subscription)] == [True, True, True]
    assert not Alert.across_tenants.exists()


def test_what_happened_since_the_rule_raises_what_was_missed(stored, waiting, now):
    stored(30, 20, 10)
    waiting(since_minutes_ago=45)
    services.rebuild_due(now=now)
    assert Alert.across_tenants.count() == 1


def test_doing_it_twice_changes_nothing(stored, waiting, now):
    stored(30, 20, 10)
    subscription = waiting(since_minutes_ago=45)
    services.rebuild(subscription_id=subscription.pk, now=now)
    before = entries(subscription)
    services.rebuild(subscription_id=subscription.pk, now=now)
    assert entries(subscription) == before
    assert Alert.across_tenants.get().count == 1


def test_windows_that_were_lost_are_as_they_were(stored, waiting, now):
    stored(30, 20, 10)
    subscription = waiting(since_minutes_ago=45)
    services.rebuild(subscription_id=subscription.pk, now=now)
    before = entries(subscription)
    WindowEntry.objects.all().delete()
    Subscription.across_tenants.update(rebuild_due=True)
    services.rebuild_due(now=now)
    assert [event for event, _ in entries(subscription)] == [event for event, _ in before]
    assert OutboxEvent.objects.filter(event_type="ALERT_TRIGGERED").count() == 1


def test_windows_of_an_older_rule_are_forgotten(stored, waiting, now):
    stored(30, 20)
    subscription = waiting()
    services.rebuild_due(now=now)
    Subscription.across_tenants.update(revision=subscription.revision + 1, rebuild_due=True)
    services.rebuild_due(now=now)
    revisions = WindowEntry.objects.values_list("revision", flat=True)
    assert list(revisions) == [subscription.revision + 1] * 2


def test_another_tenants_events_do_not_count(stored, waiting, now, rival):
    with acting(tenant_id=rival.pk):
        publish(CaseAssigned(case_id=CASE, manager_id=None), occurred_at=now)
    subscription = waiting()
    services.rebuild_due(now=now)
    assert entries(subscription) == []


def test_nothing_waits_after_it(stored, waiting, now):
    stored(5)
    waiting()
    assert services.rebuild_due(now=now) == 1
    assert services.rebuild_due(now=now) == 0


def test_a_subscription_that_is_gone_is_no_trouble(now):
    assert services.rebuild(subscription_id=uuid7(), now=now) is False


def test_the_command_rebuilds_all(stored, waiting):
    stored(30, 20)
    subscription = waiting()
    out = StringIO()
    call_command("watch", "rebuild", stdout=out)
    assert out.getvalue() == "rebuild: 1\n"
    assert len(entries(subscription)) == 2


@pytest.mark.parametrize(
    ("now", "left"),
    [
        ("2026-02-11T13:00", 1),  # an hour's window, and a day for what comes late
        ("2026-02-11T13:00:00.001", 0),
    ],
)
def test_entries_go_a_day_after_they_left_their_window(tower, now, left):
    tower.watch(THREE, "PAYMENT_DUE")
    tower.deliver(happened("12:00"))
    services.purge_windows(now=at(now))
    assert WindowEntry.objects.count() == left


def test_entries_of_an_older_rule_go_at_once(tower):
    subscription = tower.watch(THREE, "PAYMENT_DUE")
    tower.deliver(happened("12:00"))
    subscription.revision += 1
    subscription.save()
    assert services.purge_windows(now=at("12:01")) == 1


@pytest.mark.parametrize(("days", "left"), [(14, 1), (14.01, 0)])
def test_expectations_go_two_weeks_after_they_were_settled(tower, days, left):
    absence = {
        "type": "absence", "first": {"event_type": "CASE_CREATED"},
        "then": {"event_type": "CASE_ASSIGNED"}, "within_hours": 1,
    }  # fmt: skip
    tower.watch(absence)
    tower.deliver(happened("12:00", "CASE_CREATED"))
    services.fire_due(now=at("13:00"))
    settled = Expectation.objects.get().settled_at
    services.purge_windows(now=settled + timedelta(days=days))
    assert Expectation.objects.count() == left


def test_what_still_waits_is_never_forgotten(tower):
    absence = {
        "type": "absence", "first": {"event_type": "CASE_CREATED"},
        "then": {"event_type": "CASE_ASSIGNED"}, "within_hours": 1,
    }  # fmt: skip
    tower.watch(absence)
    tower.deliver(happened("12:00", "CASE_CREATED"))
    services.purge_windows(now=at("2027-02-10T12:00"))
    assert Expectation.objects.get().state == "open"
