"""Everything that happened to an event, to all events of a trace, or to an aggregate, in order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self, cast
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from ..ids import first_id_of
from ..models import DeadLetter, DeadLetterAct, FailedAttempt, InboxEntry, OutboxEvent, Retry
from .steps import Records, Step, steps_of

MOST_OWN = 100
"""Events of the trace or aggregate on one page."""
MOST_EVENTS = 300
"""With those they caused."""
MOST_RECORDS = 1_000
"""Of each kind: attempts, letters, acts."""

_COLUMNS = (
    "event_id", "seq", "stream", "event_type", "schema_version", "aggregate_type", "aggregate_id",
    "tenant_id", "actor", "trace_id", "request_id", "source", "causation_id", "replaces_id",
    "status", "attempt_count", "next_retry_at", "last_attempt_at", "locked_by", "last_error_code",
    "last_error_message", "entry_id", "occurred_at", "created_at", "published_at",
)  # fmt: skip
_THEIRS = "(%(tenant)s::uuid IS NULL OR tenant_id = %(tenant)s::uuid)"


def _found_by(what: str, condition: str) -> str:
    return f"""(SELECT event_id, seq, '{what}' AS found_as FROM event_outbox
        WHERE {condition} AND seq > %(after)s AND {_THEIRS} ORDER BY seq LIMIT %(own)s)"""


# A tree, not a loop: UNION drops what was found before, and the LIMIT ends the search.
_EVENTS = f"""
WITH RECURSIVE own AS MATERIALIZED (
    SELECT event_id, seq, min(found_as) AS found_as FROM (
        {_found_by("event", "event_id = %(event_id)s::uuid")}
        UNION ALL {_found_by("trace", "trace_id = %(name)s")}
        UNION ALL {_found_by("aggregate", "aggregate_id = %(name)s")}
    ) found GROUP BY event_id, seq ORDER BY seq LIMIT %(own)s
), tree AS (
    SELECT event_id FROM own
    UNION
    SELECT caused.event_id FROM tree, LATERAL (
        SELECT event_id FROM event_outbox WHERE causation_id = tree.event_id AND {_THEIRS}
        UNION ALL
        SELECT event_id FROM event_outbox WHERE replaces_id = tree.event_id AND {_THEIRS}
    ) caused
), chosen AS MATERIALIZED (
    SELECT event_id FROM tree LIMIT %(most)s
)
SELECT {", ".join(f"event.{name}" for name in _COLUMNS)}, own.found_as
FROM chosen JOIN event_outbox event USING (event_id) LEFT JOIN own USING (event_id)
ORDER BY event.seq
"""


@dataclass(frozen=True, slots=True)
class EventTold:
    """An event as a journey tells of it; what only its dead letter remembers is less."""

    event_id: UUID
    event_type: str
    stream: str
    aggregate_type: str
    aggregate_id: str
    tenant_id: UUID | None
    trace_id: str
    status: str
    """Of its row in the outbox; empty once that is gone."""
    found_as: str
    """What the id is of this event: event, trace or aggregate; empty: it was caused by one."""
    actor: str = ""
    causation_id: UUID | None = None
    replaces_id: UUID | None = None

    @classmethod
    def of_row(cls, row: Any) -> Self:
        return cls(
            **{name: getattr(row, name) for name in _SHARED}, status=row.status, actor=row.actor,
            causation_id=row.causation_id, replaces_id=row.replaces_id,
            found_as=row.found_as or "",
        )  # fmt: skip

    @classmethod
    def of_letter(cls, letter: DeadLetter, asked: "Asked") -> Self:
        return cls(
            **{name: getattr(letter, name) for name in _SHARED}, status="",
            found_as=asked.matches(letter),
        )  # fmt: skip


_SHARED = (
    "event_id", "event_type", "stream", "aggregate_type", "aggregate_id", "tenant_id", "trace_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Journey:
    """One page of what happened."""

    id: str
    events: list[EventTold]
    steps: list[Step]
    payload: str | None
    """JSON text, when the id is that of an event."""
    cut: bool
    """More happened than is told here."""
    next_after: int | None
    """Where the next page of the trace or aggregate begins."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants to know, and whose events they may see (None: everybody's)."""

    name: str
    event_id: UUID | None
    tenant_id: UUID | None
    after: int

    def matches(self, letter: DeadLetter) -> str:
        if self.event_id and letter.event_id == self.event_id:
            return "event"
        if letter.trace_id == self.name:
            return "trace"
        return "aggregate" if letter.aggregate_id == self.name else ""


def journey_of(name: str, *, tenant_id: UUID | None, after: int = 0) -> Journey | None:
    """What happened under this id: a fixed number of queries, a bounded number of rows.

    None when nothing did, or when it happened to another tenant.
    """
    if not name or "\x00" in name:
        return None
    asked = Asked(name, _as_uuid(name), tenant_id, after)
    rows, more = _own_and_caused(asked)
    letters = _letters(asked, [row.event_id for row in rows])
    events = _events(asked, rows, letters)
    ids = {event.event_id for event in events}
    if tenant_id is None and asked.event_id:
        # What nobody else remembers may still stand in the inbox, which knows no tenants.
        ids.add(asked.event_id)
    records = _records(rows, letters, ids)
    steps = steps_of(records)
    if not steps:
        return None
    cut = more or len(rows) >= MOST_EVENTS or records.is_cut(MOST_RECORDS)
    next_after = max(row.seq for row in rows if row.found_as) if more else None
    return Journey(name, events, steps, _payload(rows, asked), cut, next_after)


def _as_uuid(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None


def _own_and_caused(asked: Asked) -> tuple[list[Any], bool]:
    """The rows, and whether the trace or aggregate has more of its own."""
    found = OutboxEvent.objects.raw(
        _EVENTS,
        {
            "event_id": asked.event_id, "name": asked.name, "tenant": asked.tenant_id,
            "after": asked.after, "own": MOST_OWN + 1, "most": MOST_EVENTS,
        },
    )  # fmt: skip
    rows = list({row.event_id: row for row in found}.values())
    own = [row for row in rows if cast(Any, row).found_as]
    if len(own) <= MOST_OWN:
        return rows, False
    return [row for row in rows if row is not own[-1]], True


def _letters(asked: Asked, ids: Sequence[UUID]) -> list[DeadLetter]:
    """Letters of these events, and of older ones that only a letter remembers."""
    meant = Q(event_id__in=ids)
    if not asked.after:
        days = timedelta(days=settings.EVENTS_OUTBOX_DAYS)
        forgotten = Q(event_id__lt=first_id_of(timezone.now() - days))
        meant |= Q(event_id=asked.event_id) if asked.event_id else Q()
        meant |= forgotten & (Q(trace_id=asked.name) | Q(aggregate_id=asked.name))
    letters = DeadLetter.objects.filter(meant, event_id__isnull=False)
    if asked.tenant_id is not None:
        letters = letters.filter(tenant_id=asked.tenant_id)
    return list(letters.defer("stack", "fields", "raw").order_by("created_at")[:MOST_RECORDS])


def _events(asked: Asked, rows: Iterable[Any], letters: Iterable[DeadLetter]) -> list[EventTold]:
    events = {row.event_id: EventTold.of_row(row) for row in rows}
    for letter in letters:
        assert letter.event_id
        events.setdefault(letter.event_id, EventTold.of_letter(letter, asked))
    return list(events.values())


def _records(rows: list[Any], letters: list[DeadLetter], ids: Iterable[UUID]) -> Records:
    ids = list(ids)
    acts = DeadLetterAct.objects.filter(letter__in=[letter.pk for letter in letters])
    return Records(
        rows=rows,
        letters=letters,
        attempts=list(FailedAttempt.objects.filter(event_id__in=ids).order_by("id")[:MOST_RECORDS]),
        retries=list(Retry.objects.filter(event_id__in=ids).defer("fields")[:MOST_RECORDS]),
        # As many as there are groups, for each event.
        inbox=list(InboxEntry.objects.filter(event_id__in=ids)),
        acts=list(acts.order_by("id")[:MOST_RECORDS]),
    )


def _payload(rows: Iterable[Any], asked: Asked) -> str | None:
    for row in rows:
        if row.event_id == asked.event_id:
            return str(row.payload)
    return None
