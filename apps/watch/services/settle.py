"""What people do about an alert: acknowledge, dismiss, resolve."""

from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.events.outbox import publish
from axiom.tenancy import ForeignTenant

from .. import observe
from ..errors import AlertSettled, AlreadyAcknowledged, RootCauseMissing
from ..events import AlertAcknowledged, AlertResolved
from ..models import Alert, AlertHistory
from .arm import call_off
from .remember import remember

if TYPE_CHECKING:
    from apps.accounts.models import User

Kind = AlertHistory.Kind
Status = Alert.Status


def held(alert_id: UUID) -> Alert:
    """The tenant's alert as it is now, which nobody else changes until the transaction ends."""
    alert = Alert.objects.select_for_update(no_key=True, of=("self",)).filter(pk=alert_id).first()
    if alert is None:
        raise ForeignTenant
    return alert  # type: ignore[no-any-return]


def held_open(alert_id: UUID) -> Alert:
    """The same of an alert that is not settled."""
    alert = held(alert_id)
    if not alert.is_open:
        raise AlertSettled
    return alert


@transaction.atomic
def acknowledge(
    *, alert: Alert, by: "User | None", note: str = "", now: datetime | None = None
) -> Alert:
    """Take an alert on: the clock of its escalation stops here, in the same transaction."""
    now, alert = now or timezone.now(), held_open(alert.pk)
    if alert.status == Status.ACKNOWLEDGED:
        raise AlreadyAcknowledged
    alert.status, alert.acknowledged_at, alert.acknowledged_by = Status.ACKNOWLEDGED, now, by
    _looked_at(alert, now)
    alert.save()
    call_off([alert.pk], now=now)
    remember(alert, Kind.ACKNOWLEDGED, at=now, note=note)
    publish(
        AlertAcknowledged(
            **_about(alert),
            acknowledged_by_id=by.pk if by else None,
            seconds_to_acknowledge=_seconds(alert, now),
        )
    )
    return alert


@transaction.atomic
def dismiss(
    *,
    alert: Alert,
    by: "User | None",
    false_positive: bool,
    reason: str = "",
    now: datetime | None = None,
) -> Alert:
    """Set an alert aside, with the verdict whether it should have been raised at all."""
    now, alert = now or timezone.now(), held_open(alert.pk)
    alert.status, alert.dismissed_at = Status.DISMISSED, now
    _settle(alert, by, now, false_positive=false_positive)
    remember(alert, Kind.DISMISSED, at=now, note=reason, false_positive=false_positive)
    _say_settled(alert, by, now, cause=reason, dismissed=True)
    return alert


@transaction.atomic
def resolve(
    *,
    alert: Alert,
    by: "User | None",
    root_cause: str = "",
    note: str = "",
    false_positive: bool = False,
    now: datetime | None = None,
) -> Alert:
    """End the matter behind an alert. What caused it has to be known by then."""
    now, alert = now or timezone.now(), held_open(alert.pk)
    alert.root_cause = root_cause.strip() or alert.root_cause
    if not alert.root_cause:
        raise RootCauseMissing
    alert.status, alert.resolved_at = Status.RESOLVED, now
    _settle(alert, by, now, false_positive=false_positive)
    facts = {"root_cause": alert.root_cause, "false_positive": false_positive}
    remember(alert, Kind.RESOLVED, at=now, note=note, **facts)
    _say_settled(alert, by, now, cause=alert.root_cause, dismissed=False)
    _count(observe.resolve_seconds, alert, now)
    return alert


def _settle(alert: Alert, by: "User | None", now: datetime, *, false_positive: bool) -> None:
    alert.settled_by, alert.false_positive = by, false_positive
    if by is not None:  # What went away by itself was looked at by nobody.
        _looked_at(alert, now)
    alert.save()
    call_off([alert.pk], now=now)


def _looked_at(alert: Alert, now: datetime) -> None:
    """Whoever does anything about an alert has seen it."""
    if alert.first_acknowledged_at is None:
        alert.first_acknowledged_at = now
        _count(observe.ack_seconds, alert, now)


def _count(histogram: Any, alert: Alert, now: datetime) -> None:
    seen, seconds = histogram.labels(alert.severity), _seconds(alert, now)
    transaction.on_commit(lambda: seen.observe(seconds))


def _say_settled(
    alert: Alert, by: "User | None", now: datetime, *, cause: str, dismissed: bool
) -> None:
    publish(
        AlertResolved(
            **_about(alert),
            resolved_by_id=by.pk if by else None,
            root_cause=cause,
            false_positive=bool(alert.false_positive),
            dismissed=dismissed,
            seconds_to_resolve=_seconds(alert, now),
        )
    )


def _about(alert: Alert) -> dict[str, Any]:
    return {
        "alert_id": alert.pk,
        "severity": alert.severity,
        "case_id": alert.case_id,
        "event_type": alert.event_type,
    }


def _seconds(alert: Alert, now: datetime) -> float:
    return max(0.0, (now - alert.detected_at).total_seconds())
