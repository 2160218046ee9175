"""Sending a dead letter's event again, to the one who gave up on it and to nobody else."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from axiom.errors import AxiomError

from ..claims import CLAIM_LOCK
from ..errors import LetterUnreadable, NobodyHandles
from ..handlers import handler_of
from ..message import ENVELOPE, aggregate_key
from ..models import DeadLetter, DeadLetterAct, Redrive, Retry
from ..nudging import nudge
from .settle import hold, remember

# Found again by its retry time, so that relays need not look below their floor.
_RELAY_AGAIN = """
UPDATE event_outbox
SET status = 'PENDING', next_retry_at = now(), attempt_count = 0, updated_at = now()
WHERE event_id = ANY(%s) AND status = 'DEAD'
"""
_STILL_THERE = "SELECT event_id FROM event_outbox WHERE event_id = ANY(%s)"
_WRITE_ANEW = """
INSERT INTO event_outbox (
    event_id, stream, event_type, schema_version, aggregate_type, aggregate_id, tenant_id, actor,
    trace_id, occurred_at, payload, envelope, request_id, source, causation_id, replaces_id
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_LEAVE_INBOX = """
DELETE FROM event_inbox i USING unnest(%s::uuid[], %s::text[]) AS letter(event_id, name)
WHERE i.event_id = letter.event_id AND i."group" = letter.name AND i.outcome = 'dead'
"""


@transaction.atomic
def redrive(letter: DeadLetter, *, by: str, reason: str = "") -> DeadLetter:
    """Let the event be tried again. If it fails again, that is a new dead letter."""
    letter = hold(letter)
    if obstacle := obstacle_to(letter):
        raise obstacle
    send_again([letter], by=by, reason=reason)
    return letter


def obstacle_to(letter: DeadLetter) -> AxiomError | None:
    """Why this letter cannot be sent again as it is."""
    if not letter.is_readable:
        return LetterUnreadable()
    if not letter.of_relay and handler_of(letter.group, letter.event_type) is None:
        return NobodyHandles()
    return None


def send_again(
    letters: Sequence[DeadLetter], *, by: str, reason: str, redrive: Redrive | None = None
) -> None:
    """Put held letters back on their way, in the open transaction."""
    _to_the_relay([letter for letter in letters if letter.of_relay])
    _to_their_groups([letter for letter in letters if not letter.of_relay])
    for letter in letters:
        letter.status, letter.updated_at = DeadLetter.Status.REDRIVEN, timezone.now()
    DeadLetter.objects.bulk_update(letters, ["status", "updated_at"])
    remember(letters, DeadLetterAct.Kind.REDRIVEN, by=by, reason=reason, redrive=redrive)


def _to_their_groups(letters: Sequence[DeadLetter]) -> None:
    """A delivery that is due now; its proof of failure goes, or it would count as done."""
    if not letters:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _LEAVE_INBOX, [[each.event_id for each in letters], [each.group for each in letters]]
        )
    Retry.objects.bulk_create([_delivery(letter) for letter in letters], ignore_conflicts=True)


def _delivery(letter: DeadLetter) -> Retry:
    """Keeps the place that the event had in its stream: ordered groups go by it."""
    assert letter.event_id
    return Retry(
        group=letter.group, event_id=letter.event_id, stream=letter.stream,
        aggregate=aggregate_key(letter.tenant_id, letter.aggregate_type, letter.aggregate_id),
        entry_id=letter.entry_id, position=letter.position, fields=letter.fields,
        due_at=timezone.now(),
    )  # fmt: skip


def _to_the_relay(letters: Sequence[DeadLetter]) -> None:
    if not letters:
        return
    ids = [letter.event_id for letter in letters]
    with connection.cursor() as cursor:
        # Whatever makes an event wait again does so while no claim looks.
        cursor.execute(CLAIM_LOCK)
        cursor.execute(_RELAY_AGAIN, [ids])
        cursor.execute(_STILL_THERE, [ids])
        there: set[UUID] = {event_id for (event_id,) in cursor.fetchall()}
        # Slices of the outbox go after some days; the letter has all of the event.
        cursor.executemany(
            _WRITE_ANEW, [_row(each) for each in letters if each.event_id not in there]
        )
    transaction.on_commit(nudge)


def _row(letter: DeadLetter) -> list[Any]:
    fields = letter.fields
    beside = {name: value for name, value in fields.items() if name not in ENVELOPE}
    return [
        letter.event_id, letter.stream, letter.event_type, int(fields["schema_version"]),
        letter.aggregate_type, letter.aggregate_id, letter.tenant_id, fields["actor"],
        letter.trace_id, fields["occurred_at"], fields["payload"],
        json.dumps(beside) if beside else None,
        letter.origin.get("request_id", ""), letter.origin.get("source", ""),
        letter.origin.get("causation_id"), letter.origin.get("replaces_id"),
    ]  # fmt: skip
