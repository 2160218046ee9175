"""A rule, ready to be held against events."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from apps.watch.models import WindowEntry
from apps.watch.rules import Check, compile_condition, parse
from apps.watch.rules.language import (
    Absence,
    Aggregate,
    AnyRule,
    Deadline,
    Pattern,
    Sequence,
    Step,
    Threshold,
    conditions_in,
)
from apps.watch.rules.reading import MISSING, Read, has_each, reader

from .occurrences import Occurrence, storable
from .tallies import LARGEST

FIRST, THEN = WindowEntry.Part.FIRST, WindowEntry.Part.THEN


@dataclass(frozen=True, slots=True)
class Contribution:
    """What an event adds to a window."""

    group: str
    part: int = FIRST
    amount: float | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Plain:
    """A rule that looks at one event."""

    rule: AnyRule
    check: Check
    fields: dict[str, Read]
    """What it looks at: shown with the match."""

    def values(self, event: Occurrence) -> dict[str, Any]:
        found = ((path, read(event.payload, event)) for path, read in self.fields.items())
        return {path: value for path, value in found if value is not MISSING}


@dataclass(frozen=True, slots=True)
class Counting:
    """A rule over the events within a time: pattern or aggregate."""

    rule: Pattern | Aggregate
    span: timedelta
    where: Check | None
    group_by: Read | None
    value: Read | None

    def contributions(self, event: Occurrence) -> Iterator[Contribution]:
        group = group_of(self.group_by, event)
        if group is None or (self.where and not self.where(event.payload, event)):
            return
        if self.value is None:
            yield Contribution(group)
        elif (made := self._valued(group, self.value(event.payload, event))) is not None:
            yield made

    def _valued(self, group: str, value: Any) -> Contribution | None:
        """None for what cannot be added up; any scalar can be told apart from others."""
        if getattr(self.rule, "function", "") == "distinct":
            label = text_of(value)
            return None if label is None else Contribution(group, label=label)
        # Not abs(value) > LARGEST: a NaN is on neither side of any limit.
        if type(value) not in (int, float) or not abs(value) <= LARGEST:
            return None
        return Contribution(group, amount=float(value))


@dataclass(frozen=True, slots=True)
class Stepping:
    """A rule of one event and then another, or not: sequence or absence."""

    rule: Sequence | Absence
    span: timedelta
    first: Check | None
    then: Check | None
    group_by: Read | None

    def contributions(self, event: Occurrence) -> Iterator[Contribution]:
        group = group_of(self.group_by, event) if self.group_by else event.aggregate_id
        if group is None:
            return
        if _is(self.rule.then, self.then, event):
            yield Contribution(group, THEN)
        if _is(self.rule.first, self.first, event):
            yield Contribution(group, FIRST)


Compiled = Plain | Counting | Stepping
Windowed = Counting | Stepping


def _is(step: Step, where: Check | None, event: Occurrence) -> bool:
    return step.takes(event.event_type) and (where is None or where(event.payload, event))


def group_of(group_by: Read | None, event: Occurrence) -> str | None:
    """Which window the event belongs to; None when it has no value to be grouped by."""
    return "" if group_by is None else text_of(group_by(event.payload, event))


def text_of(value: Any) -> str | None:
    if isinstance(value, str):
        # PostgreSQL indexes what is grouped by: not too long.
        return storable(value)[:500] or None
    return str(value) if isinstance(value, int | float) else None


@lru_cache(maxsize=10_000)
def compile_text(text: str, zone: str) -> Compiled:
    """The compiled rule of this JSON text; many subscriptions share the same."""
    import json

    return compile_rule(parse(json.loads(text)), ZoneInfo(zone))


def compile_rule(rule: AnyRule, zone: ZoneInfo) -> Compiled:
    if isinstance(rule, Pattern | Aggregate):
        return _counting(rule, zone)
    if isinstance(rule, Sequence | Absence):
        return _stepping(rule, zone)
    return Plain(rule, compile_condition(rule, zone), _fields_of(rule))


def _counting(rule: Pattern | Aggregate, zone: ZoneInfo) -> Counting:
    value = reader(rule.field) if isinstance(rule, Aggregate) else None
    span = timedelta(hours=rule.window_hours)
    return Counting(rule, span, _optional(rule.where, zone), _group_reader(rule), value)


def _stepping(rule: Sequence | Absence, zone: ZoneInfo) -> Stepping:
    first, then = (_optional(step.where, zone) for step in (rule.first, rule.then))
    return Stepping(rule, timedelta(hours=rule.within_hours), first, then, _group_reader(rule))


def _optional(condition: Any, zone: ZoneInfo) -> Check | None:
    return None if condition is None else compile_condition(condition, zone)


def _group_reader(rule: Any) -> Read | None:
    return reader(rule.group_by) if rule.group_by else None


def _fields_of(rule: AnyRule) -> dict[str, Read]:
    parts = [part for part in conditions_in(rule) if isinstance(part, Threshold | Deadline)]
    return {part.field: reader(part.field) for part in parts if not has_each(part.field)}
