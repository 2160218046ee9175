"""Who is told of an alert, and how."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from apps.accounts import selectors as accounts

from ..models import Alert, AlertWatcher, Subscription

Told = tuple[UUID, UUID | None]
"""An alert, and the subscription that tells of it; none for those who look after Axiom."""


@dataclass(frozen=True, slots=True)
class Recipient:
    user_id: UUID
    channels: tuple[str, ...]


def recipients_of(alert_id: UUID, subscription_id: UUID | None) -> list[Recipient]:
    """Whom an ALERT_TRIGGERED tells: a subscription's owners, or those who look after Axiom.

    Nobody while the subscription is muted, and nobody who left.
    """
    told = (alert_id, subscription_id)
    return recipients_of_each([told]).get(told, [])


def recipients_of_each(told: Collection[Told]) -> dict[Told, list[Recipient]]:
    """The same for many, in as many statements as for one."""
    listening = {(w.alert_id, w.subscription_id): w.subscription for w in _listening(told)}
    tenants = _tenants_of_system(told)
    people = _People(listening.values(), set(tenants.values()))
    found = {pair: people.of(subscription) for pair, subscription in listening.items()}
    return found | {(alert, None): people.of_system(tenant) for alert, tenant in tenants.items()}


def _listening(told: Iterable[Told]) -> list[AlertWatcher]:
    wanted = {pair for pair in told if pair[1] is not None}
    rows = AlertWatcher.across_tenants.filter(
        alert_id__in={alert for alert, _ in wanted},
        subscription_id__in={subscription for _, subscription in wanted},
        muted=False,
    ).select_related("subscription")
    return [row for row in rows if (row.alert_id, row.subscription_id) in wanted]


def _tenants_of_system(told: Iterable[Told]) -> dict[UUID, UUID]:
    wanted = {alert for alert, subscription in told if subscription is None}
    alerts = Alert.across_tenants.filter(pk__in=wanted) if wanted else Alert.across_tenants.none()
    return dict(alerts.values_list("pk", "tenant_id"))


class _People:
    """Who works in some tenants, and as what: as far as these subscriptions and tenants ask."""

    def __init__(self, subscriptions: Collection[Subscription], of_system: set[UUID]) -> None:
        self._roles: dict[Any, dict[UUID, str]] = defaultdict(dict)
        tenants = {*of_system, *(each.tenant_id for each in subscriptions)}
        # Of a large tenant few are asked for: not all of it is read for each alert.
        asked = Q(user_id__in={each.user_id for each in subscriptions if each.user_id})
        asked |= Q(role__in={each.role for each in subscriptions if not each.user_id})
        if of_system:
            asked |= Q(role__in=settings.WATCH_SYSTEM_ROLES)
        for tenant_id, user_id, role in accounts.active_roles(tenants).filter(asked):
            self._roles[tenant_id][user_id] = role

    def of(self, subscription: Subscription) -> list[Recipient]:
        here = self._roles[subscription.tenant_id]
        if subscription.user_id:
            people = [subscription.user_id] if subscription.user_id in here else []
        else:
            people = [user_id for user_id, role in here.items() if role == subscription.role]
        return [Recipient(user_id, tuple(subscription.channels)) for user_id in people]

    def of_system(self, tenant_id: UUID) -> list[Recipient]:
        channels = tuple(settings.WATCH_SYSTEM_CHANNELS)
        here = self._roles[tenant_id].items()
        return [Recipient(u, channels) for u, role in here if role in settings.WATCH_SYSTEM_ROLES]
