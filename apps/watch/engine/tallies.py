"""Which events of a window make a match. Knows nothing of databases: tables of cases test it.

A window of length W that ends at t holds what happened in (t - W, t]. An event makes a match when
with it the condition holds and just before it did not. Events are in the order of their time, then
of their ids.
"""

from bisect import bisect_left, insort
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Protocol
from uuid import UUID

from apps.watch.rules.comparing import COMPARE
from apps.watch.rules.language import Aggregate, Pattern

LARGEST = 1e18
"""Numbers beyond it are not added up: nobody means them, and sums of them overflow."""


class Entry(Protocol):
    """What a tally needs to know of an event."""

    @property
    def occurred_at(self) -> datetime: ...
    @property
    def event_id(self) -> UUID: ...
    @property
    def part(self) -> int: ...
    @property
    def amount(self) -> float | None: ...
    @property
    def label(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Crossing:
    """The event with which a condition began to hold."""

    entry: Any
    value: float
    members: tuple[UUID, ...]
    """The last of the events that made it, with itself."""


SHOWN_MEMBERS = 20


class Tally(Protocol):
    def add(self, entry: Entry) -> None: ...
    def drop(self, entry: Entry) -> None: ...
    def value(self) -> float | None: ...


class Count:
    def __init__(self) -> None:
        self.number = 0

    def add(self, entry: Entry) -> None:
        self.number += 1

    def drop(self, entry: Entry) -> None:
        self.number -= 1

    def value(self) -> float | None:
        return self.number


class Sum(Count):
    """Added up in decimal, so that what was added and taken away again leaves nothing behind."""

    def __init__(self) -> None:
        super().__init__()
        self.total = Decimal(0)

    def add(self, entry: Entry) -> None:
        super().add(entry)
        self.total += Decimal(repr(entry.amount))

    def drop(self, entry: Entry) -> None:
        super().drop(entry)
        self.total -= Decimal(repr(entry.amount))

    def value(self) -> float | None:
        return float(self.total) if self.number else None


class Average(Sum):
    def value(self) -> float | None:
        return float(self.total / self.number) if self.number else None


class Least:
    position = 0

    def __init__(self) -> None:
        self.amounts: list[float] = []

    def add(self, entry: Entry) -> None:
        insort(self.amounts, entry.amount or 0.0)

    def drop(self, entry: Entry) -> None:
        del self.amounts[bisect_left(self.amounts, entry.amount or 0.0)]

    def value(self) -> float | None:
        return self.amounts[self.position] if self.amounts else None


class Greatest(Least):
    position = -1


class Distinct:
    def __init__(self) -> None:
        self.labels: Counter[str] = Counter()

    def add(self, entry: Entry) -> None:
        self.labels[entry.label] += 1

    def drop(self, entry: Entry) -> None:
        self.labels[entry.label] -= 1
        if not self.labels[entry.label]:
            del self.labels[entry.label]

    def value(self) -> float | None:
        return len(self.labels) or None


_TALLIES: dict[str, type[Tally]] = {
    "sum": Sum,
    "avg": Average,
    "min": Least,
    "max": Greatest,
    "distinct": Distinct,
}


def crossings(
    rule: Pattern | Aggregate, span: timedelta, entries: Sequence[Entry]
) -> Iterator[Crossing]:
    """The entries, given in their order, with which the condition begins to hold."""
    window = _Window(rule, span)
    for entry in entries:
        held = window.before(entry)
        if window.with_(entry) and not held:
            yield Crossing(entry, window.value, window.last_members())


def _terms(rule: Pattern | Aggregate) -> tuple[Tally, Callable[[Any, Any], bool], float]:
    """What is added up, how it is compared, and with what."""
    if isinstance(rule, Pattern):
        return Count(), COMPARE[">="], rule.min_count
    return _TALLIES[rule.function](), COMPARE[rule.operator], rule.threshold


class _Window:
    """What lies in the window as it slides over the entries."""

    def __init__(self, rule: Pattern | Aggregate, span: timedelta) -> None:
        self.tally, self.compare, self.limit = _terms(rule)
        self.span = span
        self.entries: deque[Entry] = deque()

    @property
    def value(self) -> float:
        return self.tally.value() or 0.0

    def before(self, entry: Entry) -> bool:
        """Whether the condition held at the last moment before this entry."""
        edge = entry.occurred_at - self.span
        while self.entries and self.entries[0].occurred_at < edge:
            self.tally.drop(self.entries.popleft())
        return self._holds()

    def with_(self, entry: Entry) -> bool:
        edge = entry.occurred_at - self.span
        while self.entries and self.entries[0].occurred_at <= edge:
            self.tally.drop(self.entries.popleft())
        self.entries.append(entry)
        self.tally.add(entry)
        return self._holds()

    def _holds(self) -> bool:
        """Nothing holds for a window without events."""
        value = self.tally.value()
        return value is not None and self.compare(value, self.limit)

    def last_members(self) -> tuple[UUID, ...]:
        members = list(self.entries)[-SHOWN_MEMBERS:]
        return tuple(entry.event_id for entry in members)


def completions(span: timedelta, entries: Sequence[Entry], first: int) -> Iterator[Crossing]:
    """The entries that end a sequence: a `then` right after a `first`, not later than the span."""
    before: Entry | None = None
    for entry in entries:
        if before and _follows(entry, before, span, first):
            yield Crossing(entry, 1.0, (before.event_id, entry.event_id))
        before = entry


def _follows(entry: Entry, before: Entry, span: timedelta, first: int) -> bool:
    in_time = entry.occurred_at - before.occurred_at <= span
    return entry.part != first and before.part == first and in_time
