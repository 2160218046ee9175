"""What happened, as it is stored: the events of the days that are kept."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from apps.events.models import OutboxEvent

CHUNK = 1_000
# The table is cut by the day of publication, and a clock may be a little ahead of ours.
_AHEAD = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Happened:
    """A stored event: the envelope, and the payload as it was published."""

    event_id: UUID
    event_type: str
    schema_version: int
    aggregate_type: str
    aggregate_id: str
    tenant_id: UUID
    actor: str
    trace_id: str
    occurred_at: datetime
    beside: dict[str, Any]
    payload: dict[str, Any]


_COLUMNS = (
    "event_id", "event_type", "schema_version", "aggregate_type", "aggregate_id", "tenant_id",
    "actor", "trace_id", "occurred_at", "envelope", "payload",
)  # fmt: skip


def history(
    *,
    tenant_id: UUID,
    event_types: Sequence[str],
    since: datetime,
    until: datetime,
    aggregate_id: str | None = None,
) -> Iterator[Happened]:
    """A tenant's events of these types in the order of event time, read bit by bit."""
    rows = _stored(tenant_id).filter(
        event_type__in=list(event_types),
        created_at__gte=since - _AHEAD,
        occurred_at__gte=since,
        occurred_at__lte=until,
    )
    if aggregate_id is not None:
        rows = rows.filter(aggregate_id=aggregate_id)
    ordered = rows.order_by("occurred_at", "event_id").values_list(*_COLUMNS)
    return (_happened(row) for row in ordered.iterator(chunk_size=CHUNK))


def stored_event(*, tenant_id: UUID, event_id: UUID) -> Happened | None:
    """One of the tenant's events, as long as it is kept."""
    row = _stored(tenant_id).filter(event_id=event_id).values_list(*_COLUMNS).first()
    return _happened(row) if row else None


def _stored(tenant_id: UUID) -> QuerySet[OutboxEvent]:
    return OutboxEvent.objects.filter(tenant_id=tenant_id)


def _happened(row: tuple[Any, ...]) -> Happened:
    *envelope, beside, payload = row
    columns: list[Any] = [*envelope, beside or {}, json.loads(payload)]
    return Happened(*columns)
