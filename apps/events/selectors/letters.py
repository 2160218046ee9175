"""Dead letters as people look for them."""

from collections import Counter
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Self
from uuid import UUID

from django.db import connection
from django.db.models import Count, Max, Min, Q, QuerySet
from django.db.models.functions import TruncHour
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from ..models import DeadLetter, DeadLetterAct, Redrive

MOST_SELECTED = 1_000

_END = """
CASE WHEN %(group)s = 'relay' THEN coalesce((
    SELECT CASE status WHEN 'PUBLISHED' THEN 'done' WHEN 'DEAD' THEN 'dead' ELSE 'waiting' END
    FROM event_outbox WHERE event_id = %(event_id)s ORDER BY seq DESC LIMIT 1), 'waiting')
ELSE coalesce((
    SELECT outcome FROM event_inbox WHERE event_id = %(event_id)s AND "group" = %(group)s),
    'waiting')
END
"""
_ENDS = f"""
SELECT {_END % {"event_id": "letter.event_id", "group": 'letter."group"'}} AS ended, count(*)
FROM event_dead_letter_act act JOIN event_dead_letter letter ON letter.id = act.letter_id
WHERE act.redrive_id = %s GROUP BY ended
"""


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """Which dead letters are meant; what is empty does not narrow."""

    ids: tuple[UUID, ...] = ()
    group: str = ""
    stream: str = ""
    fingerprint: str = ""
    event_type: str = ""
    tenant_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None

    def matches(self) -> Q:
        """The condition on a letter."""
        same = {name: getattr(self, name) for name in _SAME if getattr(self, name)}
        condition = Q(**same)
        if self.ids:
            condition &= Q(pk__in=self.ids)
        if self.since:
            condition &= Q(created_at__gte=self.since)
        if self.until:
            condition &= Q(created_at__lt=self.until)
        return condition

    def as_json(self) -> dict[str, Any]:
        """What was asked for, to be kept and shown."""
        told = {name: _plain(value) for name, value in asdict(self).items()}
        return {name: value for name, value in told.items() if value}

    @classmethod
    def of_json(cls, told: dict[str, Any]) -> Self:
        known = {field.name for field in fields(cls)}
        return cls(**{name: _parsed(name, value) for name, value in told.items() if name in known})


_SAME = ("group", "stream", "fingerprint", "event_type", "tenant_id")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if value else ""


def _parsed(name: str, value: Any) -> Any:
    if name == "ids":
        return tuple(UUID(item) for item in value)
    if name == "tenant_id":
        return UUID(value)
    return parse_datetime(value) if name in ("since", "until") else value


def letters_of(tenant_id: UUID | None) -> QuerySet[DeadLetter]:
    """A tenant's dead letters; without a tenant, everybody's and those that nobody can read."""
    letters = DeadLetter.objects.order_by("-id")  # Ids sort by time.
    return letters if tenant_id is None else letters.filter(tenant_id=tenant_id)


def redrives_of(tenant_id: UUID | None) -> QuerySet[Redrive]:
    """The redrives that a tenant's people started; without a tenant, all."""
    redrives = Redrive.objects.order_by("-id")
    return redrives if tenant_id is None else redrives.filter(tenant_id=tenant_id)


def letters_of_same_event(letter: DeadLetter) -> QuerySet[DeadLetter]:
    """How often this group gave up on this event: its letters, the first first."""
    if letter.event_id is None:
        return DeadLetter.objects.filter(pk=letter.pk)
    same = DeadLetter.objects.filter(group=letter.group, event_id=letter.event_id)
    return same.order_by("created_at", "id")


def what_became_of(letter: DeadLetter) -> str:
    """Where the event, or its edited copy, got to since: "waiting", or how it ended."""
    if letter.status not in (DeadLetter.Status.REDRIVEN, DeadLetter.Status.REPLACED):
        return ""
    event_id = letter.replaced_by or letter.event_id
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {_END}", {"event_id": event_id, "group": letter.group})
        (end,) = cursor.fetchone() or ("",)
    return str(end)


HOURS = 24


@dataclass(frozen=True, slots=True)
class LetterKind:
    """Letters with the same fingerprint: most likely one cause, and one cure."""

    fingerprint: str
    group: str
    count: int
    first_seen: datetime
    last_seen: datetime
    tenants: int
    sample: DeadLetter
    hours: list[int]
    """How many came in each of the last 24 hours, the current one last."""


def kinds_of_letters(
    letters: QuerySet[DeadLetter], *, now: datetime | None = None, limit: int = 100
) -> list[LetterKind]:
    """These letters by fingerprint, the most frequent first; three queries however many there are."""
    letters = letters.order_by()
    kinds = letters.values("fingerprint", "group").annotate(
        count=Count("pk"), first_seen=Min("created_at"), last_seen=Max("created_at"),
        tenants=Count("tenant_id", distinct=True),
    ).order_by("-count", "fingerprint")[:limit]  # fmt: skip
    prints = [kind["fingerprint"] for kind in kinds]
    samples, hours = _samples(letters, prints), _hours(letters, prints, now or timezone.now())
    return [
        LetterKind(**kind, sample=samples[kind["fingerprint"]], hours=hours[kind["fingerprint"]])
        for kind in kinds
        if kind["fingerprint"] in samples
    ]


def _samples(letters: QuerySet[DeadLetter], prints: list[str]) -> dict[str, DeadLetter]:
    """The newest of each kind: one query, which takes each from the index."""
    newest = [letters.filter(fingerprint=each).order_by("-id")[:1] for each in set(prints)]
    if not newest:
        return {}
    first, *others = newest
    return {letter.fingerprint: letter for letter in first.union(*others, all=True)}


def _hours(letters: QuerySet[DeadLetter], prints: list[str], now: datetime) -> dict[str, list[int]]:
    first = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)
    rows = (
        letters.filter(fingerprint__in=prints, created_at__gte=first)
        .values("fingerprint", hour=TruncHour("created_at", tzinfo=UTC))
        .annotate(count=Count("pk"))
    )
    hours: dict[str, list[int]] = {fingerprint: [0] * HOURS for fingerprint in prints}
    for row in rows:
        number = int((row["hour"] - first) / timedelta(hours=1))
        hours[row["fingerprint"]][min(number, HOURS - 1)] += row["count"]
    return hours


NEWEST = 20_000


def newest_open(letters: QuerySet[DeadLetter]) -> tuple[QuerySet[DeadLetter], bool]:
    """The newest of these letters that are open, and whether there are more of them."""
    rows = letters.filter(status=DeadLetter.Status.OPEN)
    oldest = rows.order_by("-id").values_list("id", flat=True)[NEWEST : NEWEST + 1].first()
    return (rows, False) if oldest is None else (rows.filter(id__gt=oldest), True)


LATELY = 5_000


def acts_lately(tenant_id: UUID | None, *, limit: int = 20) -> QuerySet[DeadLetterAct]:
    """Who did what about dead letters, the newest first, among the last acts of all."""
    acts = DeadLetterAct.objects.order_by("-id")
    oldest = acts.values_list("id", flat=True)[LATELY : LATELY + 1].first() or 0
    acts = acts.filter(id__gt=oldest).select_related("letter").defer("letter__stack", "letter__raw")
    theirs = acts if tenant_id is None else acts.filter(letter__tenant_id=tenant_id)
    return theirs[:limit]


LOOKED_AT = 1_000


@dataclass(frozen=True, slots=True)
class RecentKind:
    """A kind of letters, and how many of the newest are of it."""

    fingerprint: str
    group: str
    error_type: str
    count: int


def kinds_lately(letters: QuerySet[DeadLetter], *, limit: int = 30) -> list[RecentKind]:
    """The kinds among the newest open letters: a price that does not grow with their number."""
    newest = letters.filter(status=DeadLetter.Status.OPEN).order_by("-id")
    counted = Counter(newest.values_list("fingerprint", "group", "error_type")[:LOOKED_AT])
    return [RecentKind(*kind, count) for kind, count in counted.most_common(limit)]


@dataclass(frozen=True, slots=True)
class Progress:
    """What became of the letters that a redrive sent."""

    done: int = 0
    failed_again: int = 0
    waiting: int = 0


def progress_of(redrive: Redrive) -> Progress:
    with connection.cursor() as cursor:
        cursor.execute(_ENDS, [redrive.pk])
        ends: dict[str, int] = dict(cursor.fetchall())
    return Progress(ends.get("done", 0), ends.get("dead", 0), ends.get("waiting", 0))
