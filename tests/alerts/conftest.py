"""Matches to make alerts of, and what was said about them."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from apps.events.ids import uuid7

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


def at(hours=0.0, **more):
    """A moment, counted from noon."""
    return NOON + timedelta(hours=hours, **more)


@pytest.fixture
def dana(acme, member_of):
    """Manages: a manager of Acme."""
    return member_of(acme, "dana", "manager")


@pytest.fixture
def case(in_acme, alice, dana):
    from apps.cases import services

    return services.open_case(title="Hanbit Textile", opened_by=alice, manager_id=dana.pk)


@pytest.fixture
def subscribe(acme, alice):
    """Makes a subscription of Alice's, or of another owner."""
    from apps.watch.models import Subscription

    def make(**given):
        owner = {} if "role" in given else {"user": alice}
        fields = {"name": "Cash", "event_types": ["CASH_LOW"], "rule": {"type": "any"}} | owner
        return Subscription.across_tenants.create(tenant=acme, **fields | given)

    return make


@pytest.fixture
def watcher(subscribe):
    return subscribe()


@pytest.fixture
def match(acme, watcher):
    """Makes a match of Alice's subscription, at noon and about c1 unless told otherwise."""
    from apps.watch.matches import Match
    from apps.watch.severity import Severity

    def make(hours=0.0, **given):
        severity = Severity(given.pop("severity", "HIGH"))
        fields = {
            "tenant_id": acme.pk, "subscription_id": watcher.pk, "severity": severity,
            "event_type": "CASH_LOW", "aggregate_type": "case", "aggregate_id": "c1",
            "case_id": None, "event_id": uuid7(), "occurred_at": at(hours),
            "message": f"Cash is low at {hours}.", "facts": {"kind": "threshold", "seen": hours},
        }  # fmt: skip
        return Match(**fields | given)

    return make


@pytest.fixture
def happens(match):
    """A match becomes an alert or is folded into one; returns the alert of its aggregate."""
    from apps.watch.models import Alert
    from apps.watch.services import raise_alerts

    def raise_it(hours=0.0, now=None, **given):
        found = match(hours, **given)
        raise_alerts([found], now=now or found.occurred_at)
        mine = Alert.across_tenants.filter(aggregate_id=found.aggregate_id)
        return mine.order_by("-detected_at").first()

    return raise_it


@pytest.fixture
def said(db):
    """The payloads of what was published under a type, the first first."""
    from apps.events.models import OutboxEvent

    def look(event_type="ALERT_TRIGGERED"):
        rows = OutboxEvent.objects.filter(event_type=event_type).order_by("seq")
        return [json.loads(p) if isinstance(p := row.payload, str) else p for row in rows]

    return look


@pytest.fixture
def kinds():
    """What the history of an alert says, the first first."""

    def look(alert):
        return [entry.kind for entry in alert.history.order_by("id")]

    return look
