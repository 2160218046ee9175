"""Runs a rule over stored events without leaving a trace."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from apps.watch.matches import Match
from apps.watch.rules.language import Absence

from . import telling
from .compiled import FIRST, Counting, Plain, Stepping
from .evaluating import counted, is_alert_about_alert
from .index import Watcher
from .occurrences import Occurrence
from .tallies import completions, crossings
from .windows import Counted

FOLD = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Remembered:
    """An entry of a window, in memory."""

    occurred_at: datetime
    event_id: UUID
    part: int
    amount: float | None
    label: str
    about: dict[str, Any]

    @property
    def place(self) -> tuple[datetime, UUID, int]:
        return self.occurred_at, self.event_id, self.part


@dataclass
class Trial:
    """A rule on trial: events go in, matches come out."""

    watcher: Watcher
    until: datetime
    looked_at: int = 0
    matches: list[Match] = field(default_factory=list)
    groups: dict[str, list[Remembered]] = field(default_factory=lambda: defaultdict(list))

    def look_at(self, event: Occurrence) -> None:
        self.looked_at += 1
        compiled = self.watcher.compiled
        if is_alert_about_alert(event):
            return
        if not isinstance(compiled, Plain):
            for entry in counted(self.watcher, event):
                self.groups[entry.made.group].append(remembered(entry))
        elif event.occurred_at >= self.watcher.since and compiled.check(event.payload, event):
            self.matches.append(telling.of_event(self.watcher, compiled, event))

    def end(self) -> list[Match]:
        """Everything that matched, by event time."""
        for group, entries in self.groups.items():
            entries.sort(key=lambda entry: entry.place)
            self.matches += self._in_group(group, entries)
        self.groups.clear()
        return sorted(self.matches, key=lambda match: match.occurred_at)

    def _in_group(self, group: str, entries: list[Remembered]) -> Iterator[Match]:
        compiled = self.watcher.compiled
        if isinstance(compiled.rule, Absence):
            yield from self._silences(group, entries)
            return
        for crossing in found_in(compiled, entries):
            if crossing.entry.occurred_at >= self.watcher.since:
                yield telling.of_window(self.watcher, group, crossing)

    def _silences(self, group: str, entries: list[Remembered]) -> Iterator[Match]:
        assert isinstance(self.watcher.compiled, Stepping)
        span = self.watcher.compiled.span
        for entry in entries:
            due = entry.occurred_at + span
            asks = entry.part == FIRST and self.watcher.since <= entry.occurred_at
            if asks and due <= self.until and not answer_to(entry, entries, span):
                yield telling.of_silence(self.watcher, group, entry.about, entry.event_id, due)


def remembered(entry: Counted) -> Remembered:
    event, made = entry.event, entry.made
    return Remembered(
        event.occurred_at, event.event_id, int(made.part), made.amount, made.label,
        telling.about(event),
    )  # fmt: skip


def found_in(compiled: Any, entries: list[Remembered]) -> Iterator[Any]:
    if isinstance(compiled, Counting):
        return crossings(compiled.rule, compiled.span, entries)
    return completions(compiled.span, entries, FIRST)


def answer_to(
    first: Remembered, entries: Iterable[Remembered], span: timedelta
) -> Remembered | None:
    """What came in time after this entry."""
    for entry in entries:
        in_time = first.occurred_at <= entry.occurred_at <= first.occurred_at + span
        if entry.part != FIRST and in_time and entry.event_id != first.event_id:
            return entry
    return None


def folded(matches: Iterable[Match]) -> list[Match]:
    """The matches that would open an alert; those of the next 24 hours go into the same."""
    opened: dict[tuple[str, str], datetime] = {}
    openers = []
    for match in sorted(matches, key=lambda match: match.occurred_at):
        about = (match.event_type, match.aggregate_id)
        if about not in opened or match.occurred_at - opened[about] >= FOLD:
            opened[about] = match.occurred_at
            openers.append(match)
    return openers
