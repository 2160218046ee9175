"""The stored events of things: of a case and all that belongs to it, for instance."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import QuerySet

from ..models import OutboxEvent


def events_about(
    aggregate_ids: Collection[str], *, tenant_id: UUID, but: Collection[str] = ()
) -> QuerySet[OutboxEvent]:
    """The tenant's events of these aggregates, as long as they are kept; without types of `but`."""
    rows = OutboxEvent.objects.filter(tenant_id=tenant_id, aggregate_id__in=list(aggregate_ids))
    return rows.exclude(event_type__in=list(but)).only(
        "event_type", "occurred_at", "actor", "payload"
    )
