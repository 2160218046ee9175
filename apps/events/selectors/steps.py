"""The steps of a journey, made of what the tables remember."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from ..groups import GROUPS
from ..handlers import handler_of
from ..models import DeadLetter, DeadLetterAct, FailedAttempt, InboxEntry, OutboxStatus, Retry


class Kind(TextChoices):
    """What a step is, in the order of steps of the same moment."""

    REQUESTED = "requested", _("Requested")
    WRITTEN = "written", _("Written to the outbox")
    FAILED = "failed", _("Attempt failed")
    PUBLISHED = "published", _("Sent to its stream")
    HANDLED = "handled", _("Handled")
    GIVEN_UP = "given_up", _("Given up")
    ACTED = "acted", _("Somebody acted")
    WAITING = "waiting", _("Waiting")


_ORDER = {kind: number for number, kind in enumerate(Kind)}
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened, or that is still to happen and then has no time."""

    at: datetime | None
    kind: Kind
    event_id: UUID | None
    group: str = ""
    """The consumer group, or "relay"."""
    text: str = ""
    by: str = ""
    """The worker or the person."""
    attempt: int | None = None
    letter_id: UUID | None = None
    event_type: str = ""

    @property
    def order(self) -> tuple[datetime, int]:
        return self.at or _NEVER, _ORDER[self.kind]


@dataclass(frozen=True, slots=True)
class Records:
    """What the tables know of some events."""

    rows: Sequence[Any]
    letters: Sequence[DeadLetter]
    attempts: Sequence[FailedAttempt]
    retries: Sequence[Retry]
    inbox: Sequence[InboxEntry]
    acts: Sequence[DeadLetterAct]

    def is_cut(self, most: int) -> bool:
        limited: tuple[Sequence[Any], ...] = (self.letters, self.attempts, self.retries, self.acts)
        return any(len(found) >= most for found in limited)


def steps_of(records: Records) -> list[Step]:
    """Every step, the first first; what is still awaited stands last."""
    steps = [
        *_requests(records.rows),
        *(step for row in records.rows for step in _of_row(row)),
        *map(_of_attempt, records.attempts),
        *_outcomes(records),
        *map(_of_letter, records.letters),
        *_acts(records),
        *map(_of_retry, records.retries),
        *_awaited(records),
    ]
    types = {known.event_id: known.event_type for known in (*records.letters, *records.rows)}
    named = (replace(step, event_type=types.get(step.event_id, "")) for step in steps)
    return sorted(named, key=lambda step: step.order)


def _requests(rows: Iterable[Any]) -> Iterator[Step]:
    """One step per request, however many events it published."""
    seen: set[str] = set()
    for row in rows:
        if row.request_id and row.request_id not in seen:
            seen.add(row.request_id)
            at = min(row.occurred_at, row.created_at)
            text = f"{row.source} ({row.request_id})"
            yield Step(at, Kind.REQUESTED, row.event_id, text=text, by=row.actor)


def _of_row(row: Any) -> Iterator[Step]:
    source = "" if row.request_id else row.source
    yield Step(row.created_at, Kind.WRITTEN, row.event_id, text=source, by=row.actor)
    if row.published_at:
        text = f"{row.stream} {row.entry_id or ''}".strip()
        yield Step(row.published_at, Kind.PUBLISHED, row.event_id, DeadLetter.RELAY, text)
    elif row.status != OutboxStatus.DEAD:
        error = f"{row.last_error_code} {row.last_error_message}".strip()
        yield Step(
            row.next_retry_at, Kind.WAITING, row.event_id, DeadLetter.RELAY, error,
            row.locked_by or "",
        )  # fmt: skip


def _of_attempt(attempt: FailedAttempt) -> Step:
    return Step(
        attempt.at, Kind.FAILED, attempt.event_id, attempt.group, attempt.error, attempt.worker,
        attempt.number,
    )  # fmt: skip


def _outcomes(records: Records) -> Iterator[Step]:
    """What the groups came to; where a letter tells of giving up, that tells more."""
    told = {(letter.event_id, letter.group) for letter in records.letters}
    for entry in records.inbox:
        if entry.outcome == InboxEntry.Outcome.DONE or (entry.event_id, entry.group) not in told:
            yield _of_inbox(entry)


def _of_inbox(entry: InboxEntry) -> Step:
    handled = entry.outcome == InboxEntry.Outcome.DONE
    return Step(
        entry.processed_at, Kind.HANDLED if handled else Kind.GIVEN_UP, entry.event_id,
        entry.group, str(entry.get_outcome_display()), entry.worker,
    )  # fmt: skip


def _of_letter(letter: DeadLetter) -> Step:
    text = f"{letter.error_type}: {letter.error}"
    return Step(
        letter.created_at, Kind.GIVEN_UP, letter.event_id, letter.group, text,
        attempt=letter.attempts, letter_id=letter.pk,
    )  # fmt: skip


def _acts(records: Records) -> Iterator[Step]:
    letters = {letter.pk: letter for letter in records.letters}
    for act in records.acts:
        letter = letters[act.letter_id]
        text = ": ".join(filter(None, (str(act.get_kind_display()), act.reason)))
        yield Step(
            act.at, Kind.ACTED, letter.event_id, letter.group, text, act.actor, letter_id=letter.pk
        )


def _of_retry(retry: Retry) -> Step:
    return Step(
        retry.due_at, Kind.WAITING, retry.event_id, retry.group, attempt=retry.attempts or None
    )


def _awaited(records: Records) -> Iterator[Step]:
    """The groups that want an event of the stream and have not come to it yet."""
    over = {(entry.event_id, entry.group) for entry in records.inbox}
    over |= {(retry.event_id, retry.group) for retry in records.retries}
    for row in records.rows:
        # An edited copy has no entry: it goes to one group, which has it or waits for it.
        if row.published_at and row.entry_id:
            for group in _readers(row):
                if (row.event_id, group) not in over:
                    yield Step(None, Kind.WAITING, row.event_id, group)


def _readers(row: Any) -> list[str]:
    return [
        name
        for name, group in GROUPS.items()
        if row.stream in group.streams and handler_of(name, row.event_type)
    ]
