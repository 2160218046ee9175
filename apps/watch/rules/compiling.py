"""Makes one function of a condition, once, so that each event costs next to nothing.

A condition holds, does not hold, or cannot be told: a value is missing, or of another kind. What
cannot be told stays so under `not`; a rule on a misspelt field never matches everything. So each
condition has two expressions, that it surely holds and that it surely does not, and `not` takes
one for the other. Nothing of what people wrote gets into the source: it holds names of constants.
"""

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from apps.watch.engine.occurrences import Occurrence

from .comparing import (
    EQUALITY,
    NUMBER,
    TEXT,
    compared,
    days_left,
    either,
    kind_of,
    types_like,
)
from .language import All, Always, Any_, Deadline, Field_, Not, Threshold
from .reading import MISSING, every_reader, has_each, limit_reader, reader, step

Check = Callable[[Any, Occurrence], bool]


def compile_condition(condition: Any, zone: ZoneInfo) -> Check:
    """A function of payload and event: whether the condition surely holds."""
    source = _Source(zone)
    text = f"lambda payload, event: {source.expression(condition, True)}"
    check: Check = eval(text, source.constants)
    return check


class _Source:
    """The expression of a condition, and the constants it names."""

    def __init__(self, zone: ZoneInfo) -> None:
        self.zone = zone
        self.constants: dict[str, Any] = {"MISSING": MISSING, "step": step}

    def expression(self, condition: Any, holds: bool) -> str:
        """Python that is true when the condition surely holds, or surely does not."""
        return f"({_WRITERS[type(condition)](self, condition, holds)})"

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def ask(self, tell: Callable[[Any, Occurrence], bool | None], holds: bool) -> str:
        """For what is too long for an expression: call a function."""
        return f"{self.constant(tell)}(payload, event) is {holds}"

    def value(self, path: str) -> str:
        """The value at a path, taken step by step without a call where it is in objects."""
        if path.startswith("@"):
            return f"{self.constant(reader(path))}(payload, event)"
        first, *others = map(self.constant, path.split("."))
        text = f"payload.get({first}, MISSING)"
        for name in others:
            text = f"(n.get({name}, MISSING) if type(n := {text}) is dict else step(n, {name}))"
        return text


def _always(source: _Source, condition: Always, holds: bool) -> str:
    return str(holds)


def _threshold(source: _Source, condition: Threshold, holds: bool) -> str:
    if has_each(condition.field):
        return source.ask(any_element(condition), holds)
    if isinstance(condition.threshold, Field_):
        return source.ask(two_fields(condition), holds)
    return _fixed(source, condition, condition.threshold, holds)


def _fixed(source: _Source, condition: Threshold, limit: Any, holds: bool) -> str:
    if condition.operator not in EQUALITY and kind_of(limit) not in (NUMBER, TEXT):
        return "False"
    kinds, limit = source.constant(types_like(limit)), source.constant(limit)
    known = f"type(v := {source.value(condition.field)}) in {kinds}"
    comparison = f"v {condition.operator} {limit}"
    return f"{known} and {comparison}" if holds else f"{known} and not {comparison}"


def two_fields(condition: Threshold) -> Callable[[Any, Occurrence], bool | None]:
    left, right = reader(condition.field), limit_reader(condition)

    def tell(payload: Any, event: Occurrence) -> bool | None:
        return compared(left(payload, event), condition.operator, right(payload, event))

    return tell


def any_element(condition: Threshold) -> Callable[[Any, Occurrence], bool | None]:
    read, limit = every_reader(condition.field), limit_reader(condition)

    def tell(payload: Any, event: Occurrence) -> bool | None:
        against = limit(payload, event)
        values = read(payload, event)
        return either([compared(value, condition.operator, against) for value in values])

    return tell


def _deadline(source: _Source, condition: Deadline, holds: bool) -> str:
    read, zone = reader(condition.field), source.zone

    def tell(payload: Any, event: Occurrence) -> bool | None:
        left = days_left(read(payload, event), event.occurred_at, zone)
        return None if left is None else left <= condition.days_before

    return source.ask(tell, holds)


def _all(source: _Source, condition: All, holds: bool) -> str:
    parts = (source.expression(inner, holds) for inner in condition.conditions)
    return (" and " if holds else " or ").join(parts)


def _any(source: _Source, condition: Any_, holds: bool) -> str:
    parts = (source.expression(inner, holds) for inner in condition.conditions)
    return (" or " if holds else " and ").join(parts)


def _not(source: _Source, condition: Not, holds: bool) -> str:
    return source.expression(condition.condition, not holds)


_WRITERS: dict[type, Callable[[_Source, Any, bool], str]] = {
    Always: _always,
    Threshold: _threshold,
    Deadline: _deadline,
    All: _all,
    Any_: _any,
    Not: _not,
}
