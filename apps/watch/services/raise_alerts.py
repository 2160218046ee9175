"""From matches to alerts: folded, stored, remembered, put on the clock and told."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.cases import selectors as cases
from apps.events.outbox import Saying, publish_each

from .. import observe
from ..events import AlertTriggered
from ..matches import Match
from ..models import AlertEvent, AlertHistory, Subscription
from . import store
from .arm import arm
from .fold import Folded, fold
from .remember import entry, remember_all
from .tidy import tidied


# No savepoint: nobody goes on after half of it.
@transaction.atomic(savepoint=False)
def raise_alerts(matches: Sequence[Match], *, now: datetime) -> None:
    """Make alerts of matches, in a number of statements that does not depend on how many.

    Called once per transaction: it takes locks in an order of its own.
    """
    if not matches:
        return
    matches = tidied(matches, now)
    store.hold(matches)
    alerts = fold(matches, store.load(matches), keep=AlertEvent.KEPT, now=now)
    alerts.sort(key=lambda alert: alert.id)
    store.save(alerts, leads=_leads(alerts), now=now)
    store.keep_events(alerts)
    _remember(alerts, now)
    arm(alerts, now=now)
    _tell(alerts, now)
    transaction.on_commit(lambda: observe.raised(alerts, len(matches)))


def _leads(alerts: Sequence[Folded]) -> dict[UUID, UUID | None]:
    """Who leads the cases of the new alerts."""
    wanted = {a.case_id: a.tenant_id for a in alerts if a.is_new and a.case_id}
    if not wanted:
        return {}
    managers = cases.managers_of(wanted.keys())
    return {case_id: managers.get((tenant, case_id)) for case_id, tenant in wanted.items()}


def _remember(alerts: Sequence[Folded], now: datetime) -> None:
    entries = [
        entry(alert, kind, at=now, note=alert.message, **_facts(alert, kind, facts))
        for alert in alerts
        for kind, facts in alert.news.items()
    ]
    if entries:
        remember_all(entries)


def _facts(alert: Folded, kind: AlertHistory.Kind, facts: dict[str, Any]) -> dict[str, Any]:
    # What else its first batch brought counts from the beginning.
    return {"severity": alert.severity} if kind is AlertHistory.Kind.RAISED else facts


def _tell(alerts: Sequence[Folded], now: datetime) -> None:
    """Say it once for every subscription whose owner has to know."""
    told = [(alert, subscription) for alert in alerts for subscription in _listeners(alert)]
    _save_watchers(alerts, told, now)
    publish_each(_saying(alert, subscription) for alert, subscription in told)


def _listeners(alert: Folded) -> Iterator[UUID | None]:
    """All who watch when there is news; otherwise those who began to watch an open alert."""
    if alert.is_told:
        watching: list[UUID | None] = [*sorted(alert.watchers | alert.joined)]
        yield from watching or [None]
    elif alert.status in ("unread", "acknowledged"):
        yield from sorted(alert.joined)


def _save_watchers(
    alerts: Sequence[Folded], told: list[tuple[Folded, UUID | None]], now: datetime
) -> None:
    joined = [(alert, subscription) for alert in alerts for subscription in alert.joined]
    pairs = {(a.id, s): (a, s) for a, s in [*joined, *told] if s}
    if not pairs:
        return
    known = _subscriptions({subscription for _, subscription in pairs})
    store.save_watchers(
        [
            {"tenant_id": a.tenant_id, "alert_id": a.id, "subscription_id": s, "since": now,
             "muted": known[s].is_muted(now, a.severity)}
            for a, s in pairs.values() if s in known
        ]
    )  # fmt: skip


def _subscriptions(ids: set[UUID]) -> dict[UUID, Subscription]:
    rows = Subscription.across_tenants.select_related("user", "tenant").in_bulk(ids)
    return dict(rows)


def _saying(alert: Folded, subscription_id: UUID | None) -> Saying:
    event = AlertTriggered(
        alert_id=alert.id,
        severity=alert.severity,
        case_id=alert.case_id,
        event_type=alert.event_type,
        event_id=alert.event_id,
        subscription_id=subscription_id,
        message=alert.message,
    )
    return Saying(event, alert.tenant_id, alert.trace_id, causation_id=alert.event_id)
