"""Who is told of an alert, and how."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings

from apps.accounts import selectors as accounts

from ..models import Alert, AlertWatcher


@dataclass(frozen=True, slots=True)
class Recipient:
    user_id: UUID
    channels: tuple[str, ...]


def recipients_of(alert_id: UUID, subscription_id: UUID | None) -> list[Recipient]:
    """Whom an ALERT_TRIGGERED tells: a subscription's owners, or those who look after Axiom.

    Nobody while the subscription is muted, and nobody who left.
    """
    if subscription_id is None:
        return _of_system(Alert.across_tenants.filter(pk=alert_id).first())
    watcher = (
        AlertWatcher.across_tenants.filter(alert_id=alert_id, subscription_id=subscription_id)
        .select_related("subscription")
        .first()
    )
    return [] if watcher is None or watcher.muted else _of_subscription(watcher.subscription)


def _of_subscription(subscription: Any) -> list[Recipient]:
    members = accounts.members_of(subscription.tenant_id).filter(user__is_active=True)
    if subscription.user_id:
        members = members.filter(user_id=subscription.user_id)
    else:
        members = members.filter(role=subscription.role)
    return _told(members, subscription.channels)


def _of_system(alert: Alert | None) -> list[Recipient]:
    if alert is None or alert.tenant_id is None:
        return []
    members = accounts.members_of(alert.tenant_id).filter(
        user__is_active=True, role__in=settings.WATCH_SYSTEM_ROLES
    )
    return _told(members, settings.WATCH_SYSTEM_CHANNELS)


def _told(members: Any, channels: Any) -> list[Recipient]:
    people = members.order_by("user_id").values_list("user_id", flat=True)
    return [Recipient(user_id, tuple(channels)) for user_id in people]
