"""Who is told, and when, if nobody acknowledges: a tenant's own steps, or the installation's."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from .models import Audience, EscalationStep


@dataclass(frozen=True, slots=True)
class Step:
    level: int
    after: timedelta
    """From the alert, or from the level before this one."""
    audience: Audience
    channels: tuple[str, ...]
    is_active: bool = True


class Policy:
    """The steps of several tenants, read with one query."""

    def __init__(self, tenant_ids: Collection[UUID]) -> None:
        self._own: dict[tuple[UUID, str], list[Step]] = {}
        rows = EscalationStep.across_tenants.filter(tenant_id__in=set(tenant_ids))
        for row in rows.order_by("level"):
            self._own.setdefault((row.tenant_id, row.severity), []).append(_of_row(row))

    def steps(self, tenant_id: UUID, severity: str) -> list[Step]:
        """What happens to an unread alert of this severity, in order."""
        return self._own.get((tenant_id, severity)) or _default_steps(severity)

    def next_step(self, tenant_id: UUID, severity: str, *, after_level: int = 0) -> Step | None:
        """What comes after this level; None when escalation ends there."""
        later = (s for s in self.steps(tenant_id, severity) if s.level > after_level)
        step = next(later, None)
        return step if step and step.is_active else None


def _of_row(row: EscalationStep) -> Step:
    return Step(
        level=row.level,
        after=timedelta(minutes=row.after_minutes),
        audience=Audience(row.audience),
        channels=tuple(row.channels),
        is_active=row.is_active,
    )


def _default_steps(severity: str) -> list[Step]:
    steps = [
        _of_setting(each) for each in settings.WATCH_ESCALATION if each["severity"] == severity
    ]
    return sorted(steps, key=lambda step: step.level)


def _of_setting(given: dict[str, Any]) -> Step:
    return Step(
        level=given["level"],
        after=timedelta(minutes=given["after_minutes"]),
        audience=Audience(given["audience"]),
        channels=tuple(given["channels"]),
    )
