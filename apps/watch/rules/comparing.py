"""Compares what can be compared: numbers with numbers, text with text."""

import operator
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
EQUALITY = {"==", "!="}

NUMBER, TEXT, FLAG, NOTHING, OTHER = "number", "text", "flag", "nothing", "other"
_KINDS: dict[type, str] = {int: NUMBER, float: NUMBER, str: TEXT, bool: FLAG, type(None): NOTHING}


def kind_of(value: Any) -> str:
    return _KINDS.get(type(value), OTHER)


def types_like(value: Any) -> tuple[type, ...]:
    """The Python types of values that this one can be compared with."""
    return tuple(kind for kind, name in _KINDS.items() if name == kind_of(value))


def can_compare(left: Any, comparison: str, right: Any) -> bool:
    """True and null are equal or not, but never more or less."""
    kind = kind_of(left)
    if kind == OTHER or kind != kind_of(right):
        return False
    return comparison in EQUALITY or kind in (NUMBER, TEXT)


def compared(left: Any, comparison: str, right: Any) -> bool | None:
    """Whether the comparison holds; None when the two cannot be compared."""
    return COMPARE[comparison](left, right) if can_compare(left, comparison, right) else None


def either(results: list[bool | None]) -> bool | None:
    """True if one is; False if all can be told and none is; None otherwise."""
    if True in results:
        return True
    return None if None in results or not results else False


def days_left(deadline: Any, moment: datetime, zone: ZoneInfo) -> int | None:
    """Calendar days in this zone from a moment to a deadline; None when it is no date."""
    due = _moment(deadline, zone)
    try:
        return (due.astimezone(zone).date() - moment.astimezone(zone).date()).days if due else None
    except OverflowError:  # At the end of all time not every zone has a date.
        return None


def _moment(text: Any, zone: ZoneInfo) -> datetime | None:
    """A date is that day in the zone; a time without an offset is a time in the zone."""
    if not isinstance(text, str):
        return None
    try:
        if len(text) == len("2026-01-01"):
            return datetime.combine(date.fromisoformat(text), time(), zone)
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)
