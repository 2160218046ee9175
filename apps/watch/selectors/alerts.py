"""Alerts as people and other apps look at them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery

from ..models import Alert, AlertEvent, AlertHistory, AlertWatcher, Escalation
from ..policy import Policy


def alerts() -> QuerySet[Alert]:
    """The current tenant's alerts, newest first, with the moment of the next escalation."""
    waiting = Escalation.across_tenants.filter(
        alert=OuterRef("pk"), state=Escalation.State.WAITING
    ).order_by("level")
    rows: QuerySet[Alert] = Alert.objects.annotate(
        escalates_at=Subquery(waiting.values("due_at")[:1])
    ).order_by("-detected_at", "-id")
    return rows


def alerts_by_id(alert_ids: Iterable[UUID]) -> dict[UUID, Alert]:
    """These alerts as they are now, whichever tenant's."""
    return dict(Alert.across_tenants.in_bulk(list(alert_ids)))


def events_of(alert: Alert) -> QuerySet[AlertEvent]:
    """What made the alert, in the order it happened; the first hundred that were seen."""
    return AlertEvent.objects.filter(alert=alert).order_by("occurred_at", "id")


def history_of(alert: Alert) -> QuerySet[AlertHistory]:
    """Everything that was done about the alert, the first first."""
    return AlertHistory.objects.filter(alert=alert).order_by("id")


@dataclass(frozen=True, slots=True)
class Stage:
    """A level of escalation: what was done, what waits, or what is planned after that."""

    level: int
    state: str
    due_at: datetime
    audience: str
    channels: list[str]
    recipient_ids: list[UUID]
    settled_at: datetime | None = None


PLANNED = "planned"


def stages_of(alert: Alert) -> list[Stage]:
    """All levels of an alert: those on record, and those that follow if nobody acknowledges."""
    rows = Escalation.across_tenants.filter(alert=alert).order_by("level")
    known = [_on_record(row) for row in rows]
    return [*known, *_planned(alert, known)]


def _on_record(row: Escalation) -> Stage:
    return Stage(
        row.level, row.state, row.due_at, row.audience, row.channels, row.recipient_ids,
        row.settled_at,
    )  # fmt: skip


def _planned(alert: Alert, known: list[Stage]) -> Iterator[Stage]:
    waiting = [stage for stage in known if stage.state == Escalation.State.WAITING]
    if not waiting or alert.tenant_id is None:
        return
    policy, last = Policy([alert.tenant_id]), waiting[-1]
    due_at, level = last.due_at, last.level
    while step := policy.next_step(alert.tenant_id, alert.severity, after_level=level):
        due_at, level = due_at + step.after, step.level
        yield Stage(level, PLANNED, due_at, step.audience, list(step.channels), [])


def next_stage(alert: Alert) -> Stage | None:
    """What happens next, and when, unless somebody acknowledges."""
    waiting = Escalation.across_tenants.filter(alert=alert, state=Escalation.State.WAITING)
    row = waiting.order_by("level").first()
    return _on_record(row) if row else None


def watching(alert_id: UUID) -> QuerySet[AlertWatcher]:
    """Whose subscriptions an alert concerns, and whether they wanted to be told just then."""
    rows: QuerySet[AlertWatcher] = AlertWatcher.across_tenants.filter(alert_id=alert_id)
    return rows.select_related("subscription", "subscription__user").order_by("id")


def is_still_unread(alert_id: UUID) -> bool:
    """Whether nobody has looked yet: asked again right before a message leaves the house."""
    unread: Any = Alert.across_tenants.filter(pk=alert_id, status=Alert.Status.UNREAD)
    return bool(unread.exists())
