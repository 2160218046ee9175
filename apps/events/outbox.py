"""Where every event begins: a row beside the change it tells of."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson
from django.db import connection, transaction
from django.utils import timezone

from .catalog import Event, is_declared
from .context import current
from .errors import (
    EventRefused,
    EventWithoutTenant,
    NotInTransaction,
    PayloadTooLarge,
    UnknownEventType,
)
from .ids import uuid7
from .nudging import nudge
from .statements import preparing_cursor

if TYPE_CHECKING:
    from .message import Message

LARGEST_PAYLOAD = 256 * 1024

_COLUMNS = """
    event_id, stream, event_type, schema_version, aggregate_type, aggregate_id, envelope, payload,
    tenant_id, actor, trace_id, request_id, source, causation_id, replaces_id, occurred_at
"""
_INSERT_ONE = f"INSERT INTO event_outbox ({_COLUMNS}) VALUES ({', '.join(['%s'] * 16)})"

# One text holds all events: text arrays would have every quote of every payload escaped in Python.
# The constants of one publication stand once.
_INSERT_MANY = f"""
INSERT INTO event_outbox ({_COLUMNS})
SELECT e.*, %s::uuid, %s, %s, %s, %s, %s::uuid, %s::uuid, %s::timestamptz
FROM json_to_recordset(%s) AS e(event_id uuid, stream text, event_type text,
    schema_version smallint, aggregate_type text, aggregate_id text, envelope jsonb, payload json)
"""


def publish(event: Event, **circumstances: Any) -> UUID:
    """Say that something happened, in the transaction in which it happens.

    Tenant, actor and trace come from the context; `tenant=`, `actor=`, `cause=` (the message
    that made us do it), `occurred_at=` and `replaces=` override it. Returns the event's id.
    """
    return publish_many([event], **circumstances)[0]


def publish_many(
    events: Iterable[Event],
    *,
    tenant: Any = None,
    actor: Any = None,
    cause: "Message | None" = None,
    occurred_at: datetime | None = None,
    replaces: UUID | None = None,
) -> list[UUID]:
    """Publish events in this order with one statement."""
    rows = [_row(event) for event in events]
    if not connection.in_atomic_block:
        raise NotInTransaction
    if not rows:
        return []
    constants = _constants(tenant, actor, cause, occurred_at, replaces)
    if len(rows) == 1:
        return _insert(_INSERT_ONE, rows, [*_values(rows[0]), *constants])
    return _insert(_INSERT_MANY, rows, [*constants, _text(rows)])


@dataclass(frozen=True, slots=True)
class Saying:
    """An event with circumstances of its own."""

    event: Event
    tenant_id: UUID
    trace_id: str = ""
    causation_id: UUID | None = None


_INSERT_EACH = """
INSERT INTO event_outbox (
    event_id, stream, event_type, schema_version, aggregate_type, aggregate_id, envelope, payload,
    tenant_id, trace_id, causation_id, actor, request_id, source, occurred_at
)
SELECT e.*, %s, %s, %s, %s::timestamptz
FROM json_to_recordset(%s) AS e(event_id uuid, stream text, event_type text,
    schema_version smallint, aggregate_type text, aggregate_id text, envelope jsonb, payload json,
    tenant_id uuid, trace_id text, causation_id uuid)
"""


def publish_each(sayings: Iterable[Saying]) -> list[UUID]:
    """Publish what happened to several tenants, for several reasons, with one statement."""
    rows = [_row(each.event) | _circumstances(each) for each in sayings]
    if not connection.in_atomic_block:
        raise NotInTransaction
    if not rows:
        return []
    here = current()
    constants = (here.actor, here.request_id, here.source, timezone.now())
    return _insert(_INSERT_EACH, rows, [*constants, _text(rows)])


def _circumstances(saying: Saying) -> dict[str, Any]:
    here = current()
    return {
        "tenant_id": saying.tenant_id,
        "trace_id": saying.trace_id or here.trace_id or uuid7().hex,
        "causation_id": saying.causation_id or here.causation_id,
    }


def _insert(statement: str, rows: Sequence[dict[str, Any]], params: Sequence[Any]) -> list[UUID]:
    with preparing_cursor() as cursor:
        cursor.execute(statement, params)
    _nudge_on_commit()
    return [row["event_id"] for row in rows]


def _values(row: dict[str, Any]) -> list[Any]:
    """One row as parameters; its two JSON columns as text."""
    *plain, envelope, payload = row.values()
    return [*plain, None if envelope is None else orjson.dumps(envelope).decode(), payload]


def _text(rows: Sequence[dict[str, Any]]) -> str:
    return orjson.dumps(
        [row | {"payload": orjson.Fragment(row["payload"])} for row in rows]
    ).decode()


def _row(event: Event) -> dict[str, Any]:
    kind = type(event)
    if not is_declared(kind):
        raise UnknownEventType(f"{kind.__name__} is not a declared event type.")
    return {
        "event_id": uuid7(), "stream": str(kind.stream), "event_type": kind.type,
        "schema_version": kind.version, "aggregate_type": kind.aggregate,
        "aggregate_id": event.aggregate_id,
        "envelope": event.envelope_values() if kind.envelope_fields else None,
        "payload": _payload(event),
    }  # fmt: skip


def _payload(event: Event) -> str:
    try:
        payload = event.payload_json()
    except ValueError as error:  # pydantic's serialisation errors are ValueErrors
        raise EventRefused(f"{event.type}: not JSON: {error}") from error
    if len(payload) > LARGEST_PAYLOAD // 4 and len(payload.encode()) > LARGEST_PAYLOAD:
        raise PayloadTooLarge
    if "NaN" in payload or "Infinity" in payload:
        _refuse_numbers_json_lacks(event, payload)
    return payload


def _refuse_numbers_json_lacks(event: Event, payload: str) -> None:
    def refuse(constant: str) -> None:
        raise EventRefused(f"{event.type}: {constant} is not a JSON number.")

    json.loads(payload, parse_constant=refuse)


def _constants(
    tenant: Any, actor: Any, cause: "Message | None", occurred_at: datetime | None,
    replaces: UUID | None,
) -> Sequence[Any]:  # fmt: skip
    here = current()
    tenant_id = getattr(tenant, "pk", tenant) or (cause.tenant_id if cause else here.tenant_id)
    if tenant_id is None:
        raise EventWithoutTenant
    return (
        tenant_id,
        str(getattr(actor, "email", actor) or here.actor),
        (cause.trace_id if cause else here.trace_id) or uuid7().hex,
        here.request_id,
        here.source,
        cause.event_id if cause else here.causation_id,
        replaces,
        occurred_at or timezone.now(),
    )


def _nudge_on_commit() -> None:
    """Wake the relay once per transaction, however many events it holds."""
    waiting = connection.run_on_commit
    if not any(hook[1] is nudge for hook in reversed(waiting)):
        transaction.on_commit(nudge)
