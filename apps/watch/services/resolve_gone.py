"""A system alert ends by itself when what it tells of is gone, and stays gone for a while."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts import selectors as accounts
from apps.events.context import acting

from ..engine import quarantine
from ..models import Alert, Subscription
from .settle import held, resolve

Place = tuple[UUID | None, str, str]
"""Whose it is, of which kind, and where."""


def resolve_gone(judged: set[str], *, present: set[Place], now: datetime) -> int:
    """Resolve the alerts of these kinds whose cause is not there any more; returns how many.

    Whoever comes and goes is not gone: it has to be calm for as long as the measures look back.
    """
    there = present | set(_quarantined())
    gone = [
        alert
        for alert in _calm(judged | {quarantine.EVENT_TYPE}, now)
        if _place(alert) not in there
    ]
    return sum(_resolve(alert, now) for alert in gone)


def _quarantined() -> Iterable[Place]:
    rows = Subscription.across_tenants.exclude(quarantined_at=None)
    for tenant_id, key in rows.values_list("tenant_id", "pk"):
        yield tenant_id, quarantine.EVENT_TYPE, str(key)


def _calm(kinds: set[str], now: datetime) -> Iterable[Alert]:
    # By tenant and type: so the index finds them, however many alerts there are.
    tenants = accounts.active_tenants().values_list("pk", flat=True)
    rows: Iterable[Alert] = Alert.across_tenants.filter(
        tenant_id__in=list(tenants), event_type__in=kinds, status__in=OPEN,
        last_seen_at__lte=_seen_before(now),
    ).order_by("pk")  # fmt: skip
    return rows


OPEN = (Alert.Status.UNREAD, Alert.Status.ACKNOWLEDGED)


def _seen_before(now: datetime) -> datetime:
    return now - timedelta(seconds=settings.WATCH_SYSTEM_CALM_SECONDS)


def _place(alert: Alert) -> Place:
    return alert.tenant_id, alert.event_type, alert.aggregate_id


@transaction.atomic
def _resolve(found: Alert, now: datetime) -> bool:
    """Whether it was: meanwhile somebody may have, or it may have come back."""
    with acting(tenant_id=found.tenant_id, actor="system"):
        alert = held(found.pk)
        if not alert.is_open or alert.last_seen_at > _seen_before(now):
            return False
        # What somebody found out stays.
        resolve(
            alert=alert,
            by=None,
            root_cause=alert.root_cause or _("It went away by itself."),
            now=now,
        )
    return True
