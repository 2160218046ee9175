"""Who reacts to what: `@on(CaseCreated, group="watch_cep_group")` on a function.

Return = done; raise = again (after 5, 15 and 45 s); `raise GiveUp("why")` = never. A handler
takes one Message; declared with `batch=True` it takes the list of those in hand, and raising
then means that they are handed over one by one.

A handler writes to the database and publishes; what leaves the database otherwise belongs into
`transaction.on_commit`, which a dry run never reaches (or ask `context.current().rehearsing`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from .catalog import Event
from .groups import GROUPS
from .healing import Reader

EVERY = "*"
"""Stands for every event type of the group's streams."""


class GiveUp(Exception):
    """This event will never be handled: put it to the dead letters now."""


@dataclass(frozen=True)
class Handler:
    """A function that a group calls for some event types."""

    function: Callable[[Any], None]
    group: str
    event_types: tuple[str, ...]
    batch: bool
    timeout: float

    @property
    def name(self) -> str:
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"{self.function.__module__}.{name}"


_handlers: dict[str, dict[str, Handler]] = {}

Function = Callable[[Any], None]


def on(
    *events: type[Event] | str, group: str, batch: bool = False, timeout: float | None = None
) -> Callable[[Function], Function]:
    """Call the function for these events, once per group and event."""
    if group not in GROUPS:
        raise TypeError(f"{group!r} is not a group: declare it in apps/events/groups.py.")
    types = tuple(event if isinstance(event, str) else event.type for event in events)

    def register(function: Function) -> Function:
        limit = timeout or settings.EVENTS_HANDLER_TIMEOUT_SECONDS
        handler = Handler(function, group, types, batch, limit)
        for event_type in types:
            known = _handlers.setdefault(group, {}).setdefault(event_type, handler)
            if known.name != handler.name:
                raise TypeError(f"{group} already handles {event_type} with {known.name}.")
            _handlers[group][event_type] = handler
        return function

    return register


def forget(function: Function) -> None:
    """Take a registration back (tests register handlers of their own)."""
    for handlers in _handlers.values():
        for event_type in [t for t, h in handlers.items() if h.function is function]:
            del handlers[event_type]


def handler_of(group: str, event_type: str) -> Handler | None:
    handlers = _handlers.get(group, {})
    return handlers.get(event_type) or handlers.get(EVERY)


def active_groups() -> list[str]:
    """The groups that have something to do."""
    return [group for group, handlers in _handlers.items() if handlers]


def readers() -> list[Reader]:
    """Which group reads which event type from which stream."""
    return list(_readers())


def _readers() -> Iterator[Reader]:
    for name, handlers in _handlers.items():
        for stream in GROUPS[name].streams:
            for event_type in handlers:
                yield name, str(stream), event_type
