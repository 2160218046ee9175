"""The history of alerts: written here and nowhere else, and never changed."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from apps.events.context import current

from ..models import AlertHistory


def remember(
    alert: Any, kind: AlertHistory.Kind, *, at: datetime, note: str = "", **facts: Any
) -> None:
    """Write down who did what about an alert."""
    remember_all([entry(alert, kind, at=at, note=note, **facts)])


def entry(
    alert: Any, kind: AlertHistory.Kind, *, at: datetime, note: str = "", **facts: Any
) -> AlertHistory:
    return AlertHistory(
        alert_id=alert.id, tenant_id=alert.tenant_id, kind=kind, actor=current().actor,
        note=note, facts=facts, at=at,
    )  # fmt: skip


def remember_all(entries: Iterable[AlertHistory]) -> None:
    """Many at once, with one statement."""
    AlertHistory.objects.bulk_create(entries)
