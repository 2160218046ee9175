"""Event types, as people look for them."""

from collections.abc import Iterator

from .. import catalog
from ..catalog import Event
from ..groups import GROUPS, Group
from ..handlers import handler_of


def find_event_types(*, q: str = "", stream: str = "") -> list[type[Event]]:
    """The declared types whose name, alias, label or sentence contains this text."""
    wanted = q.strip().casefold()
    return [
        kind
        for kind in catalog.event_types()
        if stream in ("", kind.stream) and any(wanted in said.casefold() for said in _said_of(kind))
    ]


def _said_of(kind: type[Event]) -> Iterator[str]:
    yield from (kind.type, *kind.aliases, str(kind.label), kind.happening())


def groups_that_read(kind: type[Event]) -> list[Group]:
    """The consumer groups that react to this type."""
    return [
        group
        for group in GROUPS.values()
        if kind.stream in group.streams and handler_of(group.name, kind.type)
    ]
