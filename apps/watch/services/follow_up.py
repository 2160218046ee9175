"""Between acknowledging and resolving: the cause, the team, and what was done."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from ..errors import NothingSaid
from ..models import Alert, AlertHistory
from .remember import remember
from .settle import held_open

Kind = AlertHistory.Kind


@transaction.atomic
def record_root_cause(*, alert: Alert, root_cause: str, now: datetime | None = None) -> Alert:
    """Say what caused it. Said again, the latest stands, and the history keeps both."""
    now, alert = now or timezone.now(), held_open(alert.pk)
    alert.root_cause = _said(root_cause)
    alert.save(update_fields=["root_cause"])
    remember(alert, Kind.ROOT_CAUSE, at=now, note=alert.root_cause)
    return alert


@transaction.atomic
def record_team_notified(*, alert: Alert, note: str = "", now: datetime | None = None) -> Alert:
    """Say that the team knows. The first time counts, and every time is remembered."""
    now, alert = now or timezone.now(), held_open(alert.pk)
    alert.team_notified_at = alert.team_notified_at or now
    alert.save(update_fields=["team_notified_at"])
    remember(alert, Kind.TEAM_NOTIFIED, at=now, note=note)
    return alert


@transaction.atomic
def record_action(*, alert: Alert, action: str, now: datetime | None = None) -> Alert:
    """Say what was done about it."""
    now, alert = now or timezone.now(), held_open(alert.pk)
    remember(alert, Kind.ACTION, at=now, note=_said(action))
    return alert


def _said(text: str) -> str:
    if not text.strip():
        raise NothingSaid
    return text.strip()
