"""An event as rules see it: live from a stream, or stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from apps.events import catalog
from apps.events.errors import PayloadDoesNotFit, UnknownEventType
from apps.events.message import Message
from apps.events.selectors import Happened

LATEST = timedelta(hours=1)
"""An event told later than this after it happened counts in no window."""

AHEAD = timedelta(seconds=1)
"""By so much an event may be later than its own id: that one is made first, and in milliseconds."""


ANY_TIME = datetime.max.replace(tzinfo=UTC)
"""Until when to read what is stored: a clock that was ahead stored the future, and is set back."""


# Not frozen: one is made for each event, and setting nine frozen fields takes longer than a rule.
@dataclass(slots=True)
class Occurrence:
    """What happened, when, and to what."""

    tenant_id: UUID
    event_id: UUID
    event_type: str
    aggregate_type: str
    aggregate_id: str
    occurred_at: datetime
    """Not after it was published: a producer's clock may be wrong."""
    too_late: bool
    """It was published so long after it happened that windows do not count it."""
    payload: dict[str, Any]
    beside: Mapping[str, Any]
    """The envelope: actor, trace, and what metadata events add."""

    def envelope(self, name: str, default: Any = None) -> Any:
        if name in _OWN_FIELDS:
            value = getattr(self, name)
            return value if isinstance(value, str) else str(value)
        return self.beside.get(name, default)

    @property
    def case_id(self) -> UUID | None:
        """The case it belongs to, where there is one."""
        if self.aggregate_type == "case":
            return as_uuid(self.aggregate_id)
        return as_uuid(self.payload.get("case_id") or self.beside.get("case_id"))

    @property
    def place(self) -> tuple[datetime, UUID]:
        """Where it stands among all: by event time, then by id."""
        return self.occurred_at, self.event_id


_OWN_FIELDS = {
    "tenant_id", "event_id", "event_type", "aggregate_type", "aggregate_id", "occurred_at",
}  # fmt: skip


def as_uuid(value: Any) -> UUID | None:
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


def storable(text: str) -> str:
    """The text without what JSON can say and PostgreSQL cannot keep: zero bytes, half characters."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "")


def of_message(message: Message) -> Occurrence:
    """The occurrence that a delivery tells of."""
    fields = message.fields
    happened, late = in_time(message.event_id, message.occurred_at)
    return Occurrence(
        message.tenant_id, message.event_id, message.event_type, message.aggregate_type,
        message.aggregate_id, happened, late,
        current(message.event_type, message.payload, int(fields["schema_version"])),
        fields,
    )  # fmt: skip


def of_stored(happened: Happened) -> Occurrence:
    """The occurrence that a stored event tells of."""
    at, late = in_time(happened.event_id, happened.occurred_at)
    beside = {"actor": happened.actor, "trace_id": happened.trace_id, **happened.beside}
    return Occurrence(
        happened.tenant_id, happened.event_id, happened.event_type, happened.aggregate_type,
        happened.aggregate_id, at, late,
        current(happened.event_type, happened.payload, happened.schema_version), beside,
    )  # fmt: skip


def current(event_type: str, payload: dict[str, Any], version: int) -> dict[str, Any]:
    """The payload in the shape of today, so that rules need to know only one."""
    try:
        return catalog.current_payload(event_type, payload, version=version)
    except (UnknownEventType, PayloadDoesNotFit):
        # Written by a newer release than this one: what it has in common can be watched.
        return payload


def in_time(event_id: UUID, occurred_at: datetime) -> tuple[datetime, bool]:
    """When it happened as far as windows are concerned, and whether it was told too late.

    Both are facts of the event, whenever it is delivered: an outage of ours makes nobody late.
    """
    published_at = published(event_id)
    if published_at is None:
        return occurred_at, False
    ahead = occurred_at - published_at > AHEAD
    return published_at if ahead else occurred_at, published_at - occurred_at > LATEST


def published(event_id: UUID) -> datetime | None:
    """When the event was published, which its id says; None for an id of another making."""
    if event_id.version != 7:
        return None
    return datetime.fromtimestamp((event_id.int >> 80) / 1000, UTC)
