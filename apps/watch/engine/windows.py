"""Windows in PostgreSQL: written in the transaction of the inbox row, so an event counts once."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID
from zlib import crc32

from django.db import connection

from apps.events.deadline import HandlerTimeout
from apps.watch.matches import Match
from apps.watch.rules.language import Absence, Pattern

from . import expecting, telling
from .compiled import FIRST, THEN, Contribution, Counting, Stepping
from .index import Watcher
from .occurrences import Occurrence
from .tallies import Crossing, completions, crossings

Broken = dict[UUID, Exception]
"""Subscriptions whose rules raised, and what."""


class Counted(NamedTuple):
    """An event that counts in a window of a watcher."""

    watcher: Watcher
    event: Occurrence
    made: Contribution

    @property
    def window(self) -> "Window":
        return Window(self.watcher.id, self.made.group)


class Window(NamedTuple):
    subscription_id: UUID
    group: str


@dataclass(frozen=True, slots=True)
class Stored:
    """An entry as the table holds it."""

    id: int
    occurred_at: datetime
    event_id: UUID
    part: int
    amount: float | None
    label: str
    told: bool
    about: dict[str, Any]


KEPT_BEYOND = timedelta(days=1)
"""So much longer than its window an entry stays: what comes late, or again, finds its neighbours."""

LANES = 1024
_LOCK_CLASS = 7007

# One after the other, in the order of the lanes: two workers wait for each other, and never both.
_LOCK = "SELECT pg_advisory_xact_lock(%s, lane) FROM unnest(%s::int[]) AS lane"
_INSERT = """
INSERT INTO watch_windowentry (subscription_id, revision, group_value, occurred_at, event_id, part,
                               amount, label, told, about)
SELECT s, r, g, o, e, p, a, l, t, b::jsonb
FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::timestamptz[], %s::uuid[], %s::smallint[],
            %s::float8[], %s::text[], %s::bool[], %s::text[]) AS x(s, r, g, o, e, p, a, l, t, b)
ON CONFLICT DO NOTHING
"""
# Before the first new entry as many as its rule needs; from there on all that may be affected.
_NEIGHBOURS = """
SELECT x.number, e.* FROM unnest(%s::int[], %s::uuid[], %s::int[], %s::text[], %s::timestamptz[],
                                 %s::timestamptz[], %s::timestamptz[], %s::int[])
  AS x(number, s, r, g, oldest, first, last, before),
LATERAL (
  (SELECT id, occurred_at, event_id, part, amount, label, told, about FROM watch_windowentry
   WHERE subscription_id = x.s AND revision = x.r AND group_value = x.g
     AND occurred_at >= x.oldest AND occurred_at < x.first
   ORDER BY occurred_at DESC, event_id DESC, part DESC LIMIT x.before)
  UNION ALL
  (SELECT id, occurred_at, event_id, part, amount, label, told, about FROM watch_windowentry
   WHERE subscription_id = x.s AND revision = x.r AND group_value = x.g
     AND occurred_at >= x.first AND occurred_at <= x.last)
) AS e
ORDER BY x.number, e.occurred_at, e.event_id, e.part
"""
_TELL = "UPDATE watch_windowentry SET told = true WHERE id = ANY(%s)"


def count(counted: Sequence[Counted], broken: Broken) -> list[Match]:
    """Add these events to their windows; returns what they, or later ones, complete.

    A rule that raises is noted in `broken`; the others go on.
    """
    if not counted:
        return []
    lock(entry.window for entry in counted)
    _insert(entry for entry in counted if not _opens_expectation(entry))
    expecting.expect([entry for entry in counted if _opens_expectation(entry)])
    expecting.answer([entry for entry in counted if _answers(entry)])
    return _judge([entry for entry in counted if not _is_absence(entry.watcher)], broken)


def _is_absence(watcher: Watcher) -> bool:
    return isinstance(watcher.compiled.rule, Absence)


def _opens_expectation(entry: Counted) -> bool:
    return _is_absence(entry.watcher) and entry.made.part == FIRST


def _answers(entry: Counted) -> bool:
    return _is_absence(entry.watcher) and entry.made.part == THEN


def lock(windows: Iterable[Window]) -> None:
    """Nobody else looks into these windows until this transaction ends.

    Windows share a fixed number of lanes: the table of locks in PostgreSQL is small.
    """
    lanes = sorted({crc32(f"{w.subscription_id}{w.group}".encode()) % LANES for w in windows})
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [_LOCK_CLASS, lanes])


def _insert(entries: Iterable[Counted], *, told: bool = False) -> None:
    rows = [
        (
            watcher.id, watcher.revision, made.group, event.occurred_at, event.event_id,
            int(made.part), made.amount, made.label, told or event.occurred_at < watcher.since,
            json.dumps(telling.about(event)),
        )
        for watcher, event, made in entries
    ]  # fmt: skip
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(_INSERT, [list(column) for column in zip(*rows, strict=True)])


@dataclass(slots=True)
class _Look:
    """Which part of a window has to be judged again."""

    watcher: Watcher
    group: str
    first: datetime
    last: datetime

    @property
    def span(self) -> timedelta:
        compiled = self.watcher.compiled
        assert isinstance(compiled, Counting | Stepping)
        return compiled.span

    @property
    def before(self) -> int | None:
        """How many entries before the first one decide; None: all within the span."""
        rule = self.watcher.compiled.rule
        if isinstance(rule, Pattern):
            return rule.min_count
        return 1 if isinstance(self.watcher.compiled, Stepping) else None


def _judge(counted: Sequence[Counted], broken: Broken) -> list[Match]:
    looks = list(_looks(counted))
    found = _neighbours(looks)
    fresh = [told for n, look in enumerate(looks) for told in _told(look, found[n], broken)]
    with connection.cursor() as cursor:
        if fresh:
            cursor.execute(_TELL, [[entry_id for entry_id, _match in fresh]])
    return [match for _entry_id, match in fresh]


def _told(look: _Look, entries: Sequence[Stored], broken: Broken) -> list[tuple[int, Match]]:
    """What is new in a window: the entry that completes it, and what is said of it."""
    try:
        return [
            (crossing.entry.id, telling.of_window(look.watcher, look.group, crossing))
            for crossing in _untold(look, entries)
        ]
    except HandlerTimeout:
        raise
    except Exception as error:  # noqa: BLE001  (whatever it is, the others go on)
        broken[look.watcher.id] = error
        return []


def _looks(counted: Sequence[Counted]) -> Iterator[_Look]:
    by_window: dict[Window, list[Counted]] = defaultdict(list)
    for entry in counted:
        by_window[entry.window].append(entry)
    for entries in by_window.values():
        moments = [entry.event.occurred_at for entry in entries]
        yield _Look(entries[0].watcher, entries[0].made.group, min(moments), max(moments))


def _neighbours(looks: Sequence[_Look]) -> dict[int, list[Stored]]:
    found: dict[int, list[Stored]] = defaultdict(list)
    if not looks:
        return found
    rows = [
        (n, k.watcher.id, k.watcher.revision, k.group, k.first - k.span, k.first, k.last + k.span,
         k.before)
        for n, k in enumerate(looks)
    ]  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_NEIGHBOURS, [list(column) for column in zip(*rows, strict=True)])
        for number, *entry in cursor.fetchall():
            found[number].append(_stored(*entry))
    return found


def _stored(*columns: Any) -> Stored:
    entry: list[Any] = [*columns[:-1], json.loads(columns[-1])]
    return Stored(*entry)


def _untold(look: _Look, entries: Sequence[Stored]) -> Iterator[Crossing]:
    """What completes a match and was not told. Of what lies before, we know only a part."""
    for crossing in _crossings(look, entries):
        if not crossing.entry.told and crossing.entry.occurred_at >= look.first:
            yield crossing


def _crossings(look: _Look, entries: Sequence[Stored]) -> Iterator[Crossing]:
    compiled = look.watcher.compiled
    if isinstance(compiled, Counting):
        return crossings(compiled.rule, compiled.span, entries)
    return completions(look.span, entries, FIRST)
