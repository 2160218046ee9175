"""Alerts that are raised and told, and endpoints that they go to."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from apps.events.context import acting
from apps.events.ids import uuid7
from apps.events.message import ENVELOPE, Message
from tests.notifications.peers import web_peer

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


def at(hours=0.0, **more):
    """A moment, counted from noon."""
    return NOON + timedelta(hours=hours, **more)


@pytest.fixture
def dana(acme, member_of):
    """Manages: a manager of Acme."""
    return member_of(acme, "dana", "manager")


@pytest.fixture
def subscribe(acme, alice):
    """Makes a subscription of Alice's by mail and in the app, or of another owner."""
    from apps.watch.models import Subscription

    def make(*channels, **given):
        owner = {} if "role" in given else {"user": alice}
        fields = {"name": "Cash", "event_types": ["CASH_LOW"], "rule": {"type": "any"}} | owner
        fields["channels"] = list(channels) or ["in_app", "email"]
        return Subscription.across_tenants.create(tenant=acme, **fields | given)

    return make


@pytest.fixture
def alert(acme, said):
    """Raises an alert for these subscriptions, and has everybody told whom it concerns."""
    from apps.watch.matches import Match
    from apps.watch.models import Alert
    from apps.watch.services import raise_alerts
    from apps.watch.severity import Severity

    def make(*subscriptions, hours=0.0, severity="HIGH", thing="c1", facts=None):
        matches = [
            Match(
                tenant_id=acme.pk, subscription_id=each and each.pk, severity=Severity(severity),
                event_type="CASH_LOW", aggregate_type="case", aggregate_id=thing, case_id=None,
                event_id=uuid7(), occurred_at=at(hours), message=f"Cash of {thing} is low.",
                facts=facts or {},
            )
            for each in subscriptions
        ]  # fmt: skip
        raise_alerts(matches, now=at(hours))
        said(at(hours))
        return Alert.across_tenants.filter(aggregate_id=thing).order_by("-detected_at").first()

    return make


@pytest.fixture
def said(db):
    """Hands what watch published since the last time to the dispatcher, as the consumer does."""
    seen = set()

    def dispatch(now=NOON):
        from apps.notifications.services import dispatch

        messages = [m for m in published() if m.event_id not in seen]
        seen.update(message.event_id for message in messages)
        dispatch(messages, now=now)
        return messages

    return dispatch


def published():
    from apps.events.models import OutboxEvent

    types = ["ALERT_TRIGGERED", "ALERT_ESCALATED", "ALERT_TEAM_NOTIFIED"]
    rows = OutboxEvent.objects.filter(event_type__in=types)
    return [Message.of_fields("axiom:events", "1-0", _fields(row)) for row in rows.order_by("seq")]


def _fields(row):
    facts = {name: str(getattr(row, name, "")) for name in ENVELOPE}
    payload = row.payload if isinstance(row.payload, str) else json.dumps(row.payload)
    return facts | {"payload": payload, "occurred_at": NOON.isoformat()}


@pytest.fixture
def deliveries(db):
    """What there is to send, by channel and person: `{("email", "alice"): delivery}`."""
    from apps.notifications.models import Delivery

    def look(**which):
        rows = Delivery.across_tenants.filter(**which).select_related("recipient")
        return {(row.channel, row.recipient.name.lower() if row.recipient else ""): row
                for row in rows.order_by("created_at", "id")}  # fmt: skip

    return look


@pytest.fixture
def outbound(settings):
    """A program of Acme's that takes webhooks."""
    settings.NOTIFICATION_LOOPBACK = True
    settings.NOTIFICATION_TIMEOUT_SECONDS = 1
    with web_peer() as web:
        yield web


@pytest.fixture
def endpoint(acme, outbound):
    from apps.notifications.services import add_endpoint

    def make(kind="webhook", **given):
        with acting(tenant_id=acme.pk):
            return add_endpoint(**{"name": kind, "kind": kind, "url": outbound.url} | given)

    return make


@pytest.fixture
def prefer(acme):
    from apps.notifications.services import save_preference

    def make(person, **wishes):
        with acting(tenant_id=acme.pk):
            return save_preference(user_id=person.pk, **wishes)

    return make


@pytest.fixture
def courier():
    """Sends in a process of its own, which may be told where to die; its exit code."""
    import os
    import subprocess
    import sys

    from django.conf import settings

    def run(channel, when, failpoint=""):
        url = settings.DATABASE_URL.rsplit("/", 1)[0] + f"/{connection.settings_dict['NAME']}"
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "tests.notifications.sending.courier",
                channel,
                when.isoformat(),
            ],
            env=os.environ
            | {"DATABASE_URL": url, "AXIOM_FAILPOINTS": failpoint, "NOTIFICATION_LOOPBACK": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, -9), done.stderr
        return done.returncode

    return run
