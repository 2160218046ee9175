"""Between acknowledging and resolving: the cause, the team, and what was done."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.accounts import selectors as accounts
from apps.events.context import current
from apps.events.outbox import publish

from ..errors import NotAColleague, NothingSaid
from ..events import AlertTeamNotified
from ..models import Alert, AlertHistory
from ..selectors import active_people, team_of
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
def record_team_notified(
    *,
    alert: Alert,
    note: str = "",
    recipient_ids: Collection[UUID] | None = None,
    now: datetime | None = None,
) -> Alert:
    """Tell the team, or these colleagues, and remember it. The first time counts."""
    now, alert = now or timezone.now(), held_open(alert.pk)
    told = _others(alert) if recipient_ids is None else _colleagues(alert, recipient_ids)
    alert.team_notified_at = alert.team_notified_at or now
    alert.save(update_fields=["team_notified_at"])
    word = _word(alert, note.strip(), told)
    remember(
        alert, Kind.TEAM_NOTIFIED, at=now, note=word.note, number=word.number,
        recipient_ids=[str(user_id) for user_id in told], channels=list(word.channels),
    )  # fmt: skip
    publish(word)
    return alert


def _word(alert: Alert, note: str, told: Collection[UUID]) -> AlertTeamNotified:
    before = AlertHistory.objects.filter(alert=alert, kind=Kind.TEAM_NOTIFIED).count()
    return AlertTeamNotified(
        alert_id=alert.pk, severity=alert.severity, case_id=alert.case_id,
        event_type=alert.event_type, message=alert.message, number=before + 1,
        told_by=current().actor, note=note, recipient_ids=tuple(told),
        channels=tuple(settings.WATCH_TEAM_CHANNELS),
    )  # fmt: skip


def _others(alert: Alert) -> list[UUID]:
    """The team without whoever tells them."""
    team = accounts.users_by_id(team_of(alert))
    return sorted(user.pk for user in team if user.email != current().actor)


def _colleagues(alert: Alert, user_ids: Collection[UUID]) -> list[UUID]:
    if not set(user_ids) <= active_people(alert):
        raise NotAColleague
    return sorted(set(user_ids))


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
