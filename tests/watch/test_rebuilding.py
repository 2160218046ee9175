"""Windows made anew from what is stored, and forgotten when nobody can need them."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from apps.cases.events import CaseAssigned, CaseCreated, CaseStatusChanged
from apps.events import connections
from apps.events.context import acting
from apps.events.ids import uuid7
from apps.events.models import OutboxEvent
from apps.events.outbox import publish
from apps.events.selectors import GroupLevel, Health, OutboxLevel
from apps.watch import services
from apps.watch.models import Alert, Expectation, Subscription, WindowEntry
from apps.watch.services.purge import waiting_seconds
from apps.watch.tasks import purge_windows
from axiom.embedded import Valkey
from tests.watch.stories import NOON, at, happened

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


ABSENCE = {
    "type": "absence", "first": {"event_type": "CASE_CREATED"},
    "then": {"event_type": "CASE_ASSIGNED"}, "within_hours": 1,
}  # fmt: skip
SEQUENCE = {**ABSENCE, "type": "sequence", "first": {"event_type": "CASE_STATUS_CHANGED"}}


@pytest.fixture
def opened(acme, now):
    """Stores that the case was opened, or that its status changed, so many minutes ago."""

    def store(minutes, event=CaseCreated):
        with acting(tenant_id=acme.pk):
            happened_at = now - timedelta(minutes=minutes)
            publish(event(**{**event.example, "case_id": CASE}), occurred_at=happened_at)

    return store


def lost_and_rebuilt(now):
    WindowEntry.objects.all().delete()
    Expectation.objects.all().delete()
    Subscription.across_tenants.update(rebuild_due=True)
    services.rebuild_due(now=now)


@pytest.mark.parametrize(("answered", "fires"), [(True, 0), (False, 1)])
def test_what_is_waited_for_is_rebuilt_too(tower, stored, opened, now, answered, fires):
    tower.watch(ABSENCE, since=(now - timedelta(hours=3)).isoformat())
    opened(50)
    if answered:
        stored(20)
    lost_and_rebuilt(now)
    state = Expectation.objects.get().state
    assert state == ("answered" if answered else "open")
    assert services.fire_due(now=now + timedelta(hours=1)) == fires


def test_what_began_a_sequence_is_rebuilt_too(tower, stored, opened, now):
    tower.watch(SEQUENCE, since=(now - timedelta(hours=3)).isoformat())
    opened(50, CaseStatusChanged)
    stored(20)
    lost_and_rebuilt(now)
    assert Alert.across_tenants.count() == 1


def test_a_late_event_and_one_of_a_clock_that_is_ahead_are_rebuilt_where_they_belong(
    acme, waiting, now
):
    subscription = waiting(since_minutes_ago=180)
    with acting(tenant_id=acme.pk):
        for minutes in (61, 59, -100_000):
            event = CaseAssigned(case_id=CASE, manager_id=uuid7())
            publish(event, occurred_at=now - timedelta(minutes=minutes))
    services.rebuild_due(now=now)
    moments = WindowEntry.objects.filter(subscription=subscription).order_by("occurred_at")
    late, ahead = moments.values_list("occurred_at", flat=True)
    assert late == now - timedelta(minutes=59)
    assert abs(ahead - now) < timedelta(minutes=1)


def test_what_was_forgotten_is_not_told_again(acme, waiting, now):
    """Entries that the purge took come back with a rebuild, as what was looked at long ago."""
    waiting(since_minutes_ago=60 * 24 * 3)
    with acting(tenant_id=acme.pk):
        for minutes in (30, 20, 10):
            event = CaseAssigned(case_id=CASE, manager_id=uuid7())
            publish(event, occurred_at=now - timedelta(minutes=minutes))
    services.rebuild_due(now=now)
    later = now + timedelta(hours=25)
    services.purge_windows(now=later)
    assert WindowEntry.objects.count() == 0
    lost_and_rebuilt(later)
    assert Alert.across_tenants.get().count == 1


def test_a_rule_that_cannot_be_rebuilt_is_set_aside_and_the_others_are(stored, waiting, now):
    stored(30, 20, 10)
    bad, good = waiting(), waiting()
    Subscription.across_tenants.filter(pk=bad.pk).update(rule={"type": "magic"})
    services.rebuild_due(now=now)
    bad.refresh_from_db()
    assert "RuleRefused" in bad.quarantine_reason
    assert len(entries(good)) == 3
    assert Alert.across_tenants.get().event_type == "SUBSCRIPTION_QUARANTINED"


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


TWO_DAYS = {**THREE, "window_hours": 48}
NO_HOURS = {"type": "pattern"}  # an hour, by default
WITHIN = {**ABSENCE, "type": "sequence", "within_hours": 48,
          "first": {"event_type": "PAYMENT_DUE"}}  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "now", "left"),
    [
        (THREE, "2026-02-11T13:00", 1),  # an hour's window, and a day for what comes late
        (THREE, "2026-02-11T13:00:00.001", 0),
        (NO_HOURS, "2026-02-11T13:00", 1),
        (NO_HOURS, "2026-02-11T13:00:00.001", 0),
        (TWO_DAYS, "2026-02-13T12:00", 1),
        (TWO_DAYS, "2026-02-13T12:00:00.001", 0),
        (WITHIN, "2026-02-13T12:00", 1),
        (WITHIN, "2026-02-13T12:00:00.001", 0),
    ],
)
def test_entries_go_a_day_after_they_left_their_window(tower, rule, now, left):
    tower.watch(rule)
    tower.deliver(happened("12:00"))
    services.purge_windows(now=at(now))
    assert WindowEntry.objects.count() == left


def test_while_events_wait_their_neighbours_are_kept(tower, acme, streams):
    """The relay stood still for three days: what waits makes two of what was counted before."""
    now = timezone.now()
    tower.watch({**THREE, "min_count": 2}, since=(now - timedelta(days=9)).isoformat())
    tower.deliver(happened(now - timedelta(days=3)))
    with acting(tenant_id=acme.pk):
        publish(CaseAssigned(case_id=CASE, manager_id=None))
    OutboxEvent.objects.update(created_at=now - timedelta(days=3))
    purge_windows()
    assert len(tower.deliver(happened(now - timedelta(days=3) + timedelta(minutes=10)))) == 1
    OutboxEvent.objects.all().delete()
    purge_windows()
    assert WindowEntry.objects.count() == 0


@pytest.mark.parametrize(
    ("group", "seconds"), [("watch_cep_group", 500), ("canvas_mining_group", 30)]
)
def test_what_waits_for_others_holds_nothing_back(group, seconds):
    level = GroupLevel("axiom:process_mining", group, 9, 0, None, oldest_waiting_seconds=500)
    health = Health(
        at=NOON, outbox=[OutboxLevel("axiom:events", oldest_pending_seconds=30)], groups=[level],
        failures={}, handler_p99_seconds={}, delay_p99_seconds={}, open_letters={},
        silent_workers=[],
    )  # fmt: skip
    assert waiting_seconds(health) == seconds


def test_nothing_is_forgotten_while_redis_cannot_say_what_waits(tower, tmp_path, settings):
    tower.watch(THREE, "PAYMENT_DUE")
    tower.deliver(happened("12:00"))
    server = Valkey(tmp_path)
    settings.REDIS_URL = server.start()
    server.stop()
    connections._redis_client.cache_clear()
    try:
        purge_windows()
    finally:
        connections._redis_client.cache_clear()
    assert WindowEntry.objects.count() == 1


def test_entries_of_an_older_rule_go_at_once(tower):
    subscription = tower.watch(THREE, "PAYMENT_DUE")
    tower.deliver(happened("12:00"))
    subscription.revision += 1
    subscription.save()
    assert services.purge_windows(now=at("12:01")) == 1


@pytest.mark.parametrize(("days", "left"), [(14, 1), (14.01, 0)])
def test_expectations_go_two_weeks_after_they_were_settled(tower, days, left):
    tower.watch(ABSENCE)
    tower.deliver(happened("12:00", "CASE_CREATED"))
    services.fire_due(now=at("13:00"))
    settled = Expectation.objects.get().settled_at
    services.purge_windows(now=settled + timedelta(days=days))
    assert Expectation.objects.count() == left


def test_what_still_waits_is_never_forgotten(tower):
    tower.watch(ABSENCE)
    tower.deliver(happened("12:00", "CASE_CREATED"))
    services.purge_windows(now=at("2027-02-10T12:00"))
    assert Expectation.objects.get().state == "open"
