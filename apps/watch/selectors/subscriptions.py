"""Who is told of what."""

from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.events import catalog
from apps.events.errors import UnknownEventType
from apps.watch.models import Subscription
from axiom.roles import Role


def subscriptions_seen_by(*, user_id: Any, role: str) -> QuerySet[Subscription]:
    """One's own and those of one's role; an admin sees all of the tenant."""
    rows: QuerySet[Subscription] = Subscription.objects.all()
    return rows if role == Role.ADMIN else rows.filter(Q(user_id=user_id) | Q(role=role))


def own_name(event_type: str) -> str:
    """The type's own name for an alias; a type that is no longer declared keeps its name."""
    try:
        return catalog.canonical(event_type)
    except UnknownEventType:
        return event_type


def subscriptions_about(*, tenant_id: UUID, event_type: str) -> QuerySet[Subscription]:
    """Those of a tenant that look at events of a type: who is affected when it goes."""
    rows: QuerySet[Subscription] = Subscription.across_tenants.filter(
        tenant_id=tenant_id, event_types__contains=[own_name(event_type)]
    )
    return rows
