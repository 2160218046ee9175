"""Replacing a dead letter's event by an edited copy, for the one who gave up on it.

A copy for a group goes to that group alone: the others handled the original, and would handle the
copy as another event. So it never enters the stream. It has a row in the outbox, published from
the beginning and without a stream entry, and one delivery. A copy of what the relay gave up on
takes the way of every event, because nobody has seen the original.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from .. import catalog
from ..catalog import Event
from ..context import acting
from ..errors import EventRefused, EventWithoutTenant, NobodyHandles, ReasonMissing
from ..handlers import handler_of
from ..message import ENVELOPE, Message, aggregate_key
from ..models import DeadLetter, DeadLetterAct, InboxEntry, OutboxEvent, Retry
from ..outbox import publish
from .compare import difference
from .settle import change_outcome, hold, remember, settle

# Without an entry it is never taken for something that a bus has lost and must get again.
_KEEP_FROM_STREAM = """
UPDATE event_outbox SET status = 'PUBLISHED', published_at = now()
WHERE event_id = %s AND created_at > now() - interval '1 day'
"""


@dataclass(frozen=True)
class Edit:
    """An edit that fits its schema, and what it changes."""

    event: Event
    diff: str


def payload_of(letter: DeadLetter) -> dict[str, Any] | None:
    """The payload as it was published; None when it is not one that somebody could read."""
    try:
        return message_of(letter).payload if letter.is_readable else None
    except (TypeError, ValueError):
        return None


def raw_text(letter: DeadLetter) -> str:
    """What stands in the place of a payload that nobody can read, as far as it can be shown."""
    if letter.raw is not None:
        return bytes(letter.raw).decode(errors="backslashreplace")
    return str(letter.fields.get("payload", "")) if payload_of(letter) is None else ""


def draft(letter: DeadLetter) -> dict[str, Any]:
    """The payload to begin an edit with: brought up to the current version where that works."""
    payload = payload_of(letter)
    if payload is None:
        return {}
    try:
        version = int(letter.fields["schema_version"])
        return catalog.current_payload(letter.event_type, payload, version=version)
    except (EventRefused, LookupError, TypeError, ValueError):
        return payload


def plan_edit(letter: DeadLetter, payload: Mapping[str, Any], *, event_type: str = "") -> Edit:
    """Validate an edit and say what it changes; refused with the place of each fault."""
    beside = {name: value for name, value in letter.fields.items() if name not in ENVELOPE}
    event = catalog.build(letter.event_type or event_type, dict(payload), **beside)
    return Edit(event, difference(_before(letter), dict(payload)))


@transaction.atomic
def edit_and_redrive(
    letter: DeadLetter, *, payload: Mapping[str, Any], by: str, reason: str,
    event_type: str = "", tenant_id: UUID | None = None,
) -> DeadLetter:  # fmt: skip
    """Send an edited copy, under an id of its own, in the letter's place.

    An entry that nobody could read says neither type nor tenant: these have to be given then.
    """
    if not reason.strip():
        raise ReasonMissing
    letter = hold(letter)
    edit = plan_edit(letter, payload, event_type=event_type)
    if not letter.of_relay and handler_of(letter.group, edit.event.type) is None:
        raise NobodyHandles
    letter.replaced_by = _send(letter, edit.event, letter.tenant_id or tenant_id, by)
    change_outcome(letter, InboxEntry.Outcome.REPLACED)
    settle(letter, DeadLetter.Status.REPLACED)
    remember(
        [letter], DeadLetterAct.Kind.REPLACED, by=by, reason=reason.strip(), diff=edit.diff,
        replaced_by=str(letter.replaced_by),
    )  # fmt: skip
    return letter


def message_of(letter: DeadLetter) -> Message:
    return Message.of_fields(letter.stream, letter.entry_id, letter.fields)


def _before(letter: DeadLetter) -> Any:
    payload = payload_of(letter)
    return raw_text(letter) if payload is None else payload


def _send(letter: DeadLetter, event: Event, tenant_id: UUID | None, by: str) -> UUID:
    if tenant_id is None:
        raise EventWithoutTenant
    occurred_at = parse_datetime(letter.fields.get("occurred_at", ""))
    with acting(
        tenant_id=tenant_id, actor=letter.fields.get("actor", by),
        causation_id=_cause_of(letter),
        **({"trace_id": letter.trace_id} if letter.trace_id else {}),
    ):  # fmt: skip
        event_id = publish(event, occurred_at=occurred_at, replaces=letter.event_id)
    if not letter.of_relay:
        _deliver_to_one(letter, event_id)
    return event_id


def _cause_of(letter: DeadLetter) -> UUID | None:
    """What caused the original also caused the copy."""
    if letter.event_id is None:
        return None
    original = OutboxEvent.objects.filter(event_id=letter.event_id).first()
    return original.causation_id if original else None


def _deliver_to_one(letter: DeadLetter, event_id: UUID) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_KEEP_FROM_STREAM, [event_id])
    row = OutboxEvent.objects.get(event_id=event_id)
    Retry.objects.create(
        group=letter.group, event_id=event_id, stream=letter.stream, entry_id=letter.entry_id,
        aggregate=aggregate_key(row.tenant_id, row.aggregate_type, row.aggregate_id),
        position=letter.position, fields=_fields(row), due_at=timezone.now(),
    )  # fmt: skip


def _fields(row: OutboxEvent) -> dict[str, str]:
    """The row as its stream entry would be."""
    fields = {name: str(getattr(row, name)) for name in ENVELOPE}
    return fields | {"occurred_at": row.occurred_at.isoformat()} | (row.envelope or {})
