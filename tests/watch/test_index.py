"""Rules in force: changed in one process, known in the others; a broken one is set aside."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from django.db import connection, transaction
from django.utils.translation import gettext, override

from apps.events.context import acting
from apps.watch import services
from apps.watch.engine.index import RuleIndex, Watching
from apps.watch.models import Alert, RuleVersion, Subscription
from tests.watch.stories import at, happened, message

pytestmark = pytest.mark.django_db

ALWAYS = {"type": "always"}


def test_a_change_is_seen_with_the_next_batch(tower):
    subscription = tower.watch(ALWAYS)
    assert len(tower.deliver(happened())) == 1
    Subscription.across_tenants.filter(pk=subscription.pk).update(is_active=False)
    assert tower.deliver(happened()) == []
    Subscription.across_tenants.filter(pk=subscription.pk).update(is_active=True, severity="HIGH")
    assert [str(match.severity) for match in tower.deliver(happened())] == ["HIGH"]
    Subscription.across_tenants.filter(pk=subscription.pk).delete()
    assert tower.deliver(happened()) == []


def test_what_did_not_change_is_not_read_again(tower, django_assert_num_queries):
    tower.watch(ALWAYS)
    tower.deliver(happened())
    with django_assert_num_queries(3):  # savepoint, versions, release
        tower.deliver(happened(), happened(), happened(), together=True)


def test_other_tenants_changes_do_not_matter(tower, rival, charlie):
    tower.watch(ALWAYS)
    tower.deliver(happened())
    before = RuleVersion.objects.get(tenant=tower.tenant).version
    Subscription.across_tenants.create(
        tenant=rival, user=charlie, name="Theirs", rule=ALWAYS, event_types=["PAYMENT_DUE"]
    )
    assert RuleVersion.objects.get(tenant=tower.tenant).version == before
    assert len(tower.deliver(happened())) == 1


def test_a_person_who_goes_takes_their_subscriptions_along(tower, alice):
    tower.watch(ALWAYS)
    tower.deliver(happened())
    alice.memberships.all().delete()
    alice.delete()
    assert tower.deliver(happened()) == []


def test_a_tenant_that_moves_has_other_days_from_the_next_batch_on(tower, acme):
    """15:30 UTC: in Seoul the next day has begun, and one day less is left."""
    tower.watch({"type": "deadline", "days_before": 1})
    due = {"deadline": "2026-02-12T00:00:00+00:00"}
    assert tower.deliver(happened("15:30", **due)) == []
    acme.timezone = "Asia/Seoul"
    acme.save()
    assert len(tower.deliver(happened("15:30", **due))) == 1


def test_a_person_who_changes_their_language_is_told_in_it(tower, alice):
    tower.watch(ALWAYS)
    (english,) = tower.deliver(happened())
    alice.language = "ko"
    alice.save()
    (korean,) = tower.deliver(happened())
    assert (english.message, korean.message) == ("Payment due", in_korean("Payment due"))


def in_korean(text):
    with override("ko"):
        return gettext(text)


def test_who_logs_in_changes_no_rules(tower, acme, alice):
    tower.watch(ALWAYS)
    before = RuleVersion.objects.get(tenant=acme).version
    alice.last_login = at("12:00")
    alice.save()
    acme.save()
    assert RuleVersion.objects.get(tenant=acme).version == before


CHANGE = """
import django; django.setup()
from apps.watch.models import Subscription
Subscription.across_tenants.update(severity="CRITICAL")
"""


@pytest.mark.django_db(transaction=True)
def test_a_change_made_by_another_process_is_seen_at_once(tower):
    """Within a second is what is asked for; here the first batch after its commit sees it."""
    tower.watch(ALWAYS)
    assert [str(match.severity) for match in tower.deliver(happened())] == ["MEDIUM"]
    _in_another_process(CHANGE)
    assert [str(match.severity) for match in tower.deliver(happened())] == ["CRITICAL"]


def _in_another_process(script):
    address, _, query = os.environ["DATABASE_URL"].partition("?")
    here = f"{address.rpartition('/')[0]}/{connection.settings_dict['NAME']}"
    environment = {**os.environ, "DATABASE_URL": f"{here}?{query}" if query else here}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, timeout=60)


@pytest.mark.django_db(transaction=True)
def test_a_change_that_is_not_committed_is_not_seen(tower):
    tower.watch(ALWAYS)
    tower.deliver(happened())
    with transaction.atomic():
        Subscription.across_tenants.update(is_active=False)
        transaction.set_rollback(True)
    assert len(tower.deliver(happened())) == 1


BROKEN = [
    ({"type": "magic"}, "RuleRefused"),
    ({"type": "threshold"}, "RuleRefused"),
    ([], "RuleRefused"),
]


@pytest.mark.parametrize(("rule", "reason"), BROKEN)
def test_a_rule_that_cannot_be_understood_is_set_aside_and_the_others_go_on(tower, rule, reason):
    good = tower.watch(ALWAYS)
    bad = Subscription.across_tenants.create(
        tenant=tower.tenant, user=tower.owner, name="Odd", rule=rule, event_types=["PAYMENT_DUE"]
    )
    found = tower.deliver(happened(), happened())
    assert [match.subscription_id for match in found] == [good.pk, None, good.pk]
    bad.refresh_from_db()
    assert reason in bad.quarantine_reason
    assert bad.quarantined_at == at("23:00")


class Cracked(RuleIndex):
    """An index in which one rule has a fault that nobody thought of."""

    def __init__(self, subscription):
        super().__init__()
        self.subscription = subscription

    def watching(self, tenant_id, event_type):
        plain, windowed = super().watching(tenant_id, event_type)
        return Watching(tuple(self.with_fault(*watcher) for watcher in plain), windowed)

    def with_fault(self, since, check, watcher):
        return since, (fail if watcher.id == self.subscription.pk else check), watcher


def fail(payload, event):
    raise ValueError("odd")


def test_a_rule_that_raises_is_set_aside_and_the_others_go_on(tower):
    good, bad = tower.watch(ALWAYS), tower.watch(ALWAYS)
    tower.index = Cracked(bad)
    found = tower.deliver(happened(), happened())
    assert [match.subscription_id for match in found] == [good.pk, None, good.pk]
    assert Subscription.across_tenants.get(pk=bad.pk).quarantine_reason == "ValueError: odd"


SUM = {"type": "aggregate", "function": "sum", "field": "amount", "threshold": 10}


class CrackedWindow(RuleIndex):
    """An index in which the rule of one window has such a fault, at one place or another."""

    def __init__(self, subscription, fault):
        super().__init__()
        self.subscription, self.fault = subscription, fault

    def watching(self, tenant_id, event_type):
        plain, windowed = super().watching(tenant_id, event_type)
        return Watching(plain, tuple(self.with_fault(watcher) for watcher in windowed))

    def with_fault(self, watcher):
        if watcher.id != self.subscription.pk:
            return watcher
        return replace(watcher, compiled=self.fault(watcher.compiled))


@pytest.mark.parametrize(
    "fault",
    [
        lambda compiled: replace(compiled, where=fail),
        lambda compiled: replace(
            compiled, rule=compiled.rule.model_copy(update={"function": "median"})
        ),
    ],
    ids=["while it looks at the event", "while it looks at the window"],
)
def test_a_window_that_raises_is_set_aside_and_the_others_go_on(tower, fault):
    good, bad = tower.watch(SUM), tower.watch(SUM)
    tower.index = CrackedWindow(bad, fault)
    found = tower.deliver(happened(amount=5), happened(amount=6))
    assert {match.subscription_id for match in found} == {good.pk, None}
    assert Subscription.across_tenants.get(pk=bad.pk).quarantined_at == at("23:00")


def test_what_was_set_aside_is_reported_as_a_system_alert(tower, acme):
    Subscription.across_tenants.create(
        tenant=acme, user=tower.owner, name="Odd", rule={}, event_types=["PAYMENT_DUE"]
    )
    with transaction.atomic():
        services.watch_events([message(happened(), acme.pk)], now=at("13:00"))
    alert = Alert.across_tenants.get()
    assert (alert.event_type, str(alert.severity)) == ("SUBSCRIPTION_QUARANTINED", "HIGH")
    assert "Odd" in alert.message


def test_who_renames_a_rule_while_it_fails_does_not_let_it_out(tower, acme):
    row = tower.watch(ALWAYS)
    Subscription.across_tenants.filter(pk=row.pk).update(
        quarantined_at=at("13:00"), quarantine_reason="odd"
    )
    with acting(tenant_id=acme.pk):
        services.change_subscription(subscription=row, name="Mine, still")
    row.refresh_from_db()
    assert (row.name, row.quarantined_at) == ("Mine, still", at("13:00"))


def test_a_repaired_rule_is_in_force_again(tower, acme):
    bad = Subscription.across_tenants.create(
        tenant=acme, user=tower.owner, name="Odd", rule={}, event_types=["PAYMENT_DUE"]
    )
    tower.deliver(happened())
    bad.refresh_from_db()
    with acting(tenant_id=acme.pk):
        services.change_subscription(subscription=bad, rule=ALWAYS)
    bad.refresh_from_db()
    assert bad.quarantined_at is None
    assert len(tower.deliver(happened(bad.rule_since))) == 1


def test_an_event_of_before_the_rule_does_not_match(tower):
    tower.watch(ALWAYS, since="12:00")
    assert tower.deliver(happened("11:59:59.999")) == []
    assert len(tower.deliver(happened("12:00"))) == 1


ABOUT_ALERTS = [
    "ALERT_TRIGGERED", "ALERT_ESCALATED", "ALERT_ACKNOWLEDGED", "ALERT_TEAM_NOTIFIED",
    "ALERT_RESOLVED",
]  # fmt: skip


@pytest.mark.parametrize("event_type", ABOUT_ALERTS)
def test_alerts_may_be_watched_but_not_alerts_about_alerts(tower, event_type):
    tower.watch(ALWAYS, *ABOUT_ALERTS)
    assert len(tower.deliver(happened(event_type=event_type, payload_of="CASH_LOW"))) == 1
    for cause in ABOUT_ALERTS:
        assert tower.deliver(_of_alert(event_type, cause)) == []


def _of_alert(event_type, cause):
    return replace(happened(event_type=event_type), payload={"event_type": cause})


def test_two_indexes_agree(tower, acme):
    tower.watch(ALWAYS)
    other = RuleIndex()
    other.refresh([acme.pk])
    tower.index.refresh([acme.pk])
    assert len(other.watching(acme.pk, "PAYMENT_DUE").plain) == 1
    assert len(tower.index.watching(acme.pk, "PAYMENT_DUE").plain) == 1
