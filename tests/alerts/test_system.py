"""Axiom watches itself: what is wrong becomes an alert, told once and to those who can mend it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.events.models import DeadLetter
from apps.events.selectors import GroupLevel, Health, OutboxLevel
from apps.watch import selectors, system
from apps.watch.models import Alert
from apps.watch.services import (
    acknowledge,
    record_root_cause,
    release_from_quarantine,
    resolve,
)
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


@pytest.fixture
def nowhere(acme, tmp_path, settings):
    """Redis is away."""
    from apps.events import connections

    server = Valkey(tmp_path)
    settings.REDIS_URL = server.start()
    server.stop()
    connections._redis_client.cache_clear()
    yield
    connections._redis_client.cache_clear()


def test_redis_being_away_is_an_alert(nowhere):
    watch_system(now=timezone.now())
    assert Alert.across_tenants.get().event_type == "SYSTEM_UNREACHABLE"


CALM = timedelta(minutes=5)


def test_when_the_letters_are_settled_their_alert_is_resolved(letter, told, said, kinds):
    now = timezone.now()
    letter(now - timedelta(minutes=9))
    (alert,) = told(now)
    assert (alert.status, alert.escalations.model.across_tenants.get().state) == (
        "unread", "waiting",
    )  # fmt: skip
    DeadLetter.objects.update(status="discarded")
    (alert,) = told(now + timedelta(minutes=1))
    assert (alert.status, alert.settled_by, alert.root_cause) == (
        "resolved", None, "It went away by itself.",
    )  # fmt: skip
    assert alert.first_acknowledged_at is None
    assert kinds(alert) == ["raised", "resolved"]
    assert alert.history.last().actor == "system"
    assert alert.escalations.model.across_tenants.get().state == "cancelled"
    assert len([each for each in said("ALERT_RESOLVED") if each["alert_id"] == str(alert.pk)]) == 1


@pytest.mark.parametrize(("calm", "status"), [(CALM, "resolved"), (CALM * 0.99, "unread")])
def test_it_is_gone_when_it_was_calm_for_five_minutes(happens, told, calm, status):
    now = timezone.now()
    happens(event_type="SYSTEM_FAILURES", aggregate_id="bpm_engine", subscription_id=None,
            occurred_at=now - calm, now=now - calm)  # fmt: skip
    told(now)
    assert Alert.across_tenants.get(event_type="SYSTEM_FAILURES").status == status


def test_what_is_still_there_stays_and_a_colleagues_cause_too(
    happens, told, streams, alice, in_acme
):
    long_ago = timezone.now() - timedelta(hours=1)
    for place in ("relay", "nobody"):
        happens(event_type="SYSTEM_SILENT_WORKER", aggregate_id=place, subscription_id=None,
                occurred_at=long_ago, now=long_ago)  # fmt: skip
    gone = Alert.across_tenants.get(aggregate_id="nobody")
    acknowledge(alert=gone, by=alice)
    record_root_cause(alert=gone, root_cause="It was moved.")
    told(timezone.now())  # no relay runs here, and its alert says so
    states = {a.aggregate_id: (a.status, a.root_cause) for a in Alert.across_tenants.all()}
    assert states["relay"] == ("unread", "")
    assert states["nobody"] == ("resolved", "It was moved.")


def test_what_comes_back_opens_its_alert_again(letter, told):
    now = timezone.now()
    letter(now - timedelta(minutes=9))
    told(now)
    DeadLetter.objects.update(status="redriven")
    assert told(now + timedelta(minutes=1))[0].status == "resolved"
    letter(now + timedelta(minutes=2))
    (alert,) = told(now + timedelta(minutes=3))
    assert (alert.status, alert.reopened) == ("unread", 1)


def test_while_redis_is_away_nobody_says_that_a_lag_is_gone(happens, nowhere):
    long_ago = timezone.now() - timedelta(hours=1)
    happens(event_type="SYSTEM_LAG", aggregate_id="x", subscription_id=None,
            occurred_at=long_ago, now=long_ago)  # fmt: skip
    watch_system(now=timezone.now())
    assert Alert.across_tenants.get(event_type="SYSTEM_LAG").status == "unread"


def test_when_redis_is_back_its_alert_is_resolved(happens, told):
    long_ago = timezone.now() - timedelta(hours=1)
    happens(event_type="SYSTEM_UNREACHABLE", aggregate_id="redis", subscription_id=None,
            occurred_at=long_ago, now=long_ago)  # fmt: skip
    told(timezone.now())
    assert Alert.across_tenants.get(event_type="SYSTEM_UNREACHABLE").status == "resolved"


@pytest.mark.parametrize(("released", "status"), [(True, "resolved"), (False, "unread")])
def test_when_a_rule_is_let_out_of_quarantine_its_alert_is_resolved(
    happens, told, subscribe, in_acme, released, status
):
    long_ago = timezone.now() - timedelta(hours=1)
    row = subscribe(rule={"type": "always"}, quarantined_at=long_ago)
    happens(event_type="SUBSCRIPTION_QUARANTINED", aggregate_id=str(row.pk), subscription_id=None,
            occurred_at=long_ago, now=long_ago)  # fmt: skip
    if released:
        release_from_quarantine(subscription=row)
    told(timezone.now())
    assert Alert.across_tenants.get(event_type="SUBSCRIPTION_QUARANTINED").status == status


def test_alerts_of_rules_never_resolve_themselves(happens, told):
    happens(0)
    told(timezone.now())
    assert Alert.across_tenants.get(event_type="CASH_LOW").status == "unread"


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
