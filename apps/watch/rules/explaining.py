"""Says of one event and one condition why it matches, or why not, with the values it saw."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.watch.engine.occurrences import Occurrence

from .comparing import FLAG, NOTHING, NUMBER, TEXT, compared, days_left, either, kind_of
from .language import All, Always, Any_, Deadline, Not, Threshold
from .reading import MISSING, every_reader, has_each, limit_reader, reader


@dataclass(frozen=True, slots=True)
class Told:
    """One part of a rule, evaluated. `matched` is None when it cannot be told."""

    type: str
    matched: bool | None
    why: str
    values: dict[str, Any] = field(default_factory=dict)
    parts: tuple["Told", ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def explain(condition: Any, event: Occurrence, zone: ZoneInfo) -> Told:
    """The condition as a tree, each part with its result, its reason and the actual values."""
    return _TELLERS[type(condition)](condition, event, zone)


def _always(condition: Always, event: Occurrence, zone: ZoneInfo) -> Told:
    return Told("always", True, _("Every event matches."))


def _threshold(condition: Threshold, event: Occurrence, zone: ZoneInfo) -> Told:
    limit = limit_reader(condition)(event.payload, event)
    found = _found(condition.field, event)
    results = [compared(value, condition.operator, limit) for value in found]
    matched = either(results) if found else None
    why = _why(condition, found, results, limit)
    return Told("threshold", matched, why, _values(condition, found, limit))


def _found(path: str, event: Occurrence) -> list[Any]:
    if has_each(path):
        return every_reader(path)(event.payload, event)
    value = reader(path)(event.payload, event)
    return [] if value is MISSING else [value]


def _why(condition: Threshold, found: list[Any], results: list[Any], limit: Any) -> str:
    names = {"field": condition.field, "operator": condition.operator, "limit": shown(limit)}
    if not found:
        return _("%(field)s: the event has no such value.") % names
    if limit is MISSING:
        return _("%(field)s: the event has no value to compare it with.") % names
    if None in results and True not in results:
        value = found[results.index(None)]
        return _not_comparable(value, limit, names)
    value = found[results.index(True)] if True in results else found[0]
    names["value"] = shown(value)
    if True in results:
        return _("%(field)s is %(value)s, and that is %(operator)s %(limit)s.") % names
    return _("%(field)s is %(value)s, and that is not %(operator)s %(limit)s.") % names


def _not_comparable(value: Any, limit: Any, names: dict[str, str]) -> str:
    kinds = {"value": shown(value), "kind": _kind(value), "other": _kind(limit)}
    return _(
        "%(field)s is %(value)s: %(kind)s cannot be compared by %(operator)s with %(other)s."
    ) % (names | kinds)


def _kind(value: Any) -> str:
    names = {NUMBER: _("a number"), TEXT: _("text"), FLAG: _("true or false"), NOTHING: "null"}
    return names.get(kind_of(value), _("an object or a list"))


def _values(condition: Threshold, found: list[Any], limit: Any) -> dict[str, Any]:
    value = found if has_each(condition.field) else found[0] if found else None
    against = None if limit is MISSING else limit
    return {"field": condition.field, "value": value, "operator": condition.operator,
            "threshold": against}  # fmt: skip


def shown(value: Any) -> str:
    text = f"“{value}”" if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _deadline(condition: Deadline, event: Occurrence, zone: ZoneInfo) -> Told:
    value = reader(condition.field)(event.payload, event)
    left = days_left(value, event.occurred_at, zone)
    values = {"field": condition.field, "value": None if value is MISSING else value,
              "days_left": left, "days_before": condition.days_before, "zone": zone.key}  # fmt: skip
    if left is None:
        return Told(
            "deadline", None, _("%s: the event has no date there.") % condition.field, values
        )
    return Told("deadline", left <= condition.days_before, days_told(left), values)


def days_told(left: int) -> str:
    if left < 0:
        return ngettext("It was due %d day ago.", "It was due %d days ago.", -left) % -left
    if left == 0:
        return _("It is due today.")
    return ngettext("It is due in %d day.", "It is due in %d days.", left) % left


def _all(condition: All, event: Occurrence, zone: ZoneInfo) -> Told:
    parts = tuple(explain(inner, event, zone) for inner in condition.conditions)
    results = [part.matched for part in parts]
    matched = False if False in results else None if None in results else True
    why = _("Every condition holds.") if matched else _("Not every condition holds.")
    return Told("all", matched, why, parts=parts)


def _any(condition: Any_, event: Occurrence, zone: ZoneInfo) -> Told:
    parts = tuple(explain(inner, event, zone) for inner in condition.conditions)
    matched = either([part.matched for part in parts])
    why = _("At least one condition holds.") if matched else _("No condition holds.")
    return Told("any", matched, why, parts=parts)


def _not(condition: Not, event: Occurrence, zone: ZoneInfo) -> Told:
    inner = explain(condition.condition, event, zone)
    if inner.matched is None:
        return Told("not", None, _("The condition cannot be told."), parts=(inner,))
    why = _("The condition holds.") if inner.matched else _("The condition does not hold.")
    return Told("not", not inner.matched, why, parts=(inner,))


_TELLERS: dict[type, Callable[[Any, Occurrence, ZoneInfo], Told]] = {
    Always: _always,
    Threshold: _threshold,
    Deadline: _deadline,
    All: _all,
    Any_: _any,
    Not: _not,
}
