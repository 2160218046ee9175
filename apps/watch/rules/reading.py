"""Finds the value a rule speaks of."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

from apps.watch.engine.occurrences import Occurrence

from .language import Field_, Threshold


class _Missing:
    """No such value; null is one."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
EACH = "*"

Payload = Mapping[str, Any]


class Read(Protocol):
    def __call__(self, payload: Any, event: Occurrence) -> Any: ...


def reader(path: str) -> Read:
    """A function that finds the value at this path, or MISSING."""
    if path.startswith("@"):
        return _of_envelope(path[1:])
    names = path.split(".")
    return _at_top(names[0]) if len(names) == 1 else _inside(names)


def limit_reader(condition: Threshold) -> Read:
    """What the value is compared with: fixed, or another one of the event."""
    limit = condition.threshold
    return reader(limit.field) if isinstance(limit, Field_) else lambda payload, event: limit


def _of_envelope(name: str) -> Read:
    return lambda payload, event: event.envelope(name, MISSING)


def _at_top(name: str) -> Read:
    return lambda payload, event: payload.get(name, MISSING)


def _inside(names: list[str]) -> Read:
    def read(payload: Any, event: Occurrence) -> Any:
        node = payload
        for name in names:
            node = step(node, name)
        return node

    return read


def step(node: Any, name: str) -> Any:
    """One step into an object, by name, or into a list, by position."""
    if type(node) is dict:
        return node.get(name, MISSING)
    if type(node) is list and name.isdecimal() and int(name) < len(node):
        return node[int(name)]
    return MISSING


def has_each(path: str) -> bool:
    return EACH in path.split(".")


def every_reader(path: str) -> Callable[[Any, Occurrence], list[Any]]:
    """A function that finds all values at a path with *."""
    names = path.split(".")

    def read(payload: Any, event: Occurrence) -> list[Any]:
        nodes = [payload]
        for name in names:
            nodes = [inner for node in nodes for inner in _steps(node, name)]
        return nodes

    return read


def _steps(node: Any, name: str) -> Iterator[Any]:
    if name == EACH:
        yield from node if type(node) is list else node.values() if type(node) is dict else ()
    elif (inner := step(node, name)) is not MISSING:
        yield inner
