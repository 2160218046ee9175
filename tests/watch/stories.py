"""Short ways to say in tests what happened and when."""

import itertools
import json
import uuid
from datetime import UTC, datetime, timedelta

from apps.events.bus import Entry
from apps.events.message import Message
from apps.watch.engine.occurrences import Occurrence, in_time

NOON = datetime(2026, 2, 10, 12, tzinfo=UTC)
TENANT = uuid.UUID("018f2d1c-0000-7000-8000-00000000ac4e")
_numbers = itertools.count(1)


def at(text):
    """A moment: "12:30" of the tenth of February, or a whole ISO moment in UTC."""
    text = text if "T" in text else f"2026-02-10T{text}"
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def id_of(moment, number=None):
    """An event id as publishing at this moment would make it."""
    milliseconds = int(moment.timestamp() * 1000)
    number = next(_numbers) if number is None else number
    return uuid.UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62 | number)


def happened(moment=NOON, event_type="PAYMENT_DUE", about="p1", late=timedelta(0), **payload):
    """What happened at this moment and was published that much later."""
    moment = at(moment) if isinstance(moment, str) else moment
    event_id = id_of(moment + late)
    occurred_at, too_late = in_time(event_id, moment)
    return Occurrence(
        TENANT, event_id, event_type, "payment", about, occurred_at, too_late, payload,
        {"actor": "alice@acme.example"},
    )  # fmt: skip


def entry(event, tenant_id=TENANT):
    """The same as an entry of the stream."""
    fields = message(event, tenant_id).fields
    raw = {name.encode(): value.encode() for name, value in fields.items()}
    return Entry("axiom:watches", f"{event.event_id.int}-0", raw)


def message(event, tenant_id=TENANT, stream="axiom:watches"):
    """The delivery that tells of an occurrence."""
    fields = {
        "event_id": str(event.event_id), "event_type": event.event_type, "schema_version": "1",
        "aggregate_type": event.aggregate_type, "aggregate_id": event.aggregate_id,
        "tenant_id": str(tenant_id), "actor": "alice@acme.example", "trace_id": "t" * 32,
        "occurred_at": event.occurred_at.isoformat(), "payload": json.dumps(event.payload),
    }  # fmt: skip
    return Message.of_fields(stream, "1-0", fields)
