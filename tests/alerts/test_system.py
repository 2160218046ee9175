"""Axiom watches itself: what is wrong becomes an alert, told once and to those who can mend it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.events.models import DeadLetter
from apps.events.selectors import GroupLevel, Health, OutboxLevel
from apps.watch import selectors, system
from apps.watch.models import Alert
from apps.watch.services import resolve
from apps.watch.services.watch_system import watch_system
from axiom.embedded import Valkey

from .conftest import at

pytestmark = pytest.mark.django_db


def health(**given):
    well = {
        "at": at(), "outbox": [OutboxLevel("axiom:events")], "groups": [], "failures": {},
        "handler_p99_seconds": {}, "delay_p99_seconds": {}, "open_letters": {},
        "silent_workers": [],
    }  # fmt: skip
    return Health(**well | given)


def group(lag=0, pending=0, since=None, waiting=0.0):
    return GroupLevel("axiom:events", "bpm_engine", lag, pending, since, waiting)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, []),
        ({"groups": [group(lag=100)]}, []),
        ({"groups": [group(lag=101)]}, ["SYSTEM_LAG"]),
        ({"groups": [group(pending=51, since=at(minutes=-4.9))]}, []),
        ({"groups": [group(pending=51, since=at(minutes=-5))]}, ["SYSTEM_PENDING"]),
        ({"failures": {"bpm_engine": 10}}, []),
        ({"failures": {"bpm_engine": 11}}, ["SYSTEM_FAILURES"]),
        ({"handler_p99_seconds": {"bpm_engine": 30.0}}, []),
        ({"handler_p99_seconds": {"bpm_engine": 30.1}}, ["SYSTEM_SLOW_HANDLER"]),
        ({"delay_p99_seconds": {"bpm_engine": 10.0}}, []),
        ({"delay_p99_seconds": {"bpm_engine": 10.1}}, ["SYSTEM_DELAY"]),
        ({"groups": [group(waiting=11)]}, ["SYSTEM_DELAY"]),
        ({"silent_workers": ["relay"]}, ["SYSTEM_SILENT_WORKER"]),
    ],
)
def test_what_is_wrong_by_which_measure(given, found):
    assert [sign.kind for sign in system.signs(health(**given))] == found


@pytest.fixture
def letter(acme):
    def make(created_at, tenant_id=acme.pk, group="bpm_engine"):
        return DeadLetter.objects.create(
            group=group, stream="axiom:events", entry_id="1-0", tenant_id=tenant_id, fields={},
            error_type="GiveUp", error="no", attempts=1, fingerprint="f", created_at=created_at,
        )  # fmt: skip

    return make


@pytest.fixture
def told(acme, redis_client):
    """Scans, and tells the alerts about dead letters."""

    def look(now):
        watch_system(now=now)
        return list(Alert.across_tenants.filter(event_type="SYSTEM_DEAD_LETTER"))

    return look


def test_any_dead_letter_is_critical_and_told_once(letter, told, said):
    letter(timezone.now() - timedelta(minutes=1))
    (alert,) = told(timezone.now())
    assert (alert.severity, alert.count, alert.facts["count"]) == ("CRITICAL", 1, 1)
    (alert,) = told(timezone.now() + timedelta(minutes=1))
    assert alert.count == 1
    about = [each for each in said() if each["event_type"] == "SYSTEM_DEAD_LETTER"]
    assert len(about) == 1


def test_another_dead_letter_is_counted_and_a_resolved_alert_opened_again(
    letter, told, alice, in_acme
):
    now = timezone.now()
    letter(now - timedelta(minutes=5))
    (alert,) = told(now - timedelta(minutes=4))
    resolve(alert=alert, by=alice, root_cause="x", now=now - timedelta(minutes=3))
    assert told(now - timedelta(minutes=2))[0].status == "resolved"
    letter(now - timedelta(minutes=1))
    assert [(a.status, a.count) for a in told(now)] == [("unread", 2)]


def test_a_letter_that_nobody_can_read_is_told_to_who_runs_the_platform(
    letter, told, rival, settings
):
    settings.WATCH_SYSTEM_TENANTS = ["rival"]
    letter(timezone.now(), tenant_id=None)
    assert [alert.tenant_id for alert in told(timezone.now())] == [rival.pk]


def test_redis_being_away_is_an_alert(acme, tmp_path, settings):
    from apps.events import connections

    server = Valkey(tmp_path)
    settings.REDIS_URL = server.start()
    server.stop()
    connections._redis_client.cache_clear()
    try:
        watch_system(now=timezone.now())
    finally:
        connections._redis_client.cache_clear()
    assert Alert.across_tenants.get().event_type == "SYSTEM_UNREACHABLE"


def test_system_alerts_reach_admins_and_engineers(happens, alice, bob, acme, member_of):
    erin = member_of(acme, "erin", "engineer")
    alert = happens(subscription_id=None)
    found = selectors.recipients_of(alert.pk, None)
    assert {each.user_id for each in found} == {alice.pk, erin.pk}
    assert found[0].channels == ("in_app", "email", "slack")


def test_a_subscriptions_owners_are_told_unless_it_is_muted(happens, subscribe, alice, bob):
    for given, people in (
        ({}, {alice.pk}),
        ({"role": "viewer"}, {bob.pk}),
        ({"snoozed_until": at(5)}, set()),
    ):
        owner = subscribe(name=str(given), channels=["email"], **given)
        alert = happens(0, aggregate_id=str(given), subscription_id=owner.pk)
        found = selectors.recipients_of(alert.pk, owner.pk)
        assert {each.user_id for each in found} == people
