"""Holds a batch of events against the rules in force."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from uuid import UUID

from apps.events.deadline import HandlerTimeout
from apps.events.message import Message
from apps.watch.matches import Match

from . import telling, windows
from .counters import late_events
from .index import RuleIndex, Watcher, Watching
from .occurrences import Occurrence, of_message
from .quarantine import quarantine
from .windows import Counted

ALERT = "ALERT_"


def evaluate(messages: Sequence[Message], index: RuleIndex, *, now: datetime) -> list[Match]:
    """What the tenants' rules find in these events, in the transaction that is open."""
    index.refresh(message.tenant_id for message in messages)
    batch = _Batch(index)
    for message in messages:
        batch.look_at(message)
    matches = batch.matches + windows.count(batch.counted, batch.broken)
    return matches + quarantine(batch.broken | dict(index.take_broken()), now=now)


class _Batch:
    """What was found so far. A rule that raised is not asked again."""

    def __init__(self, index: RuleIndex) -> None:
        self.index = index
        self.matches: list[Match] = []
        self.counted: list[Counted] = []
        self.broken: dict[UUID, Exception] = {}

    def look_at(self, message: Message) -> None:
        watching = self.index.watching(message.tenant_id, message.event_type)
        if not (watching.plain or watching.windowed):
            return
        event = of_message(message)
        if not is_alert_about_alert(event):
            self._hold(event, watching)

    def _hold(self, event: Occurrence, watching: Watching) -> None:
        payload, occurred_at = event.payload, event.occurred_at
        for since, check, watcher in watching.plain:
            try:
                if check(payload, event) and occurred_at >= since:
                    self._matched(watcher, event)
            except HandlerTimeout:
                raise
            except Exception as error:  # noqa: BLE001  (whatever it is, the others go on)
                self.broken[watcher.id] = error
        for watcher in watching.windowed:
            self._count(watcher, event)

    def _matched(self, watcher: Watcher, event: Occurrence) -> None:
        if watcher.id not in self.broken:
            self.matches.append(telling.of_event(watcher, watcher.compiled, event))  # type: ignore[arg-type]

    def _count(self, watcher: Watcher, event: Occurrence) -> None:
        try:
            self.counted.extend(counted(watcher, event))
        except HandlerTimeout:
            raise
        except Exception as error:  # noqa: BLE001
            self.broken[watcher.id] = error


def counted(watcher: Watcher, event: Occurrence) -> Iterator[Counted]:
    """How the event counts in this watcher's windows."""
    for made in watcher.compiled.contributions(event):  # type: ignore[union-attr]
        if event.too_late:
            late_events.inc()
        else:
            yield Counted(watcher, event, made)


def is_alert_about_alert(event: Occurrence) -> bool:
    """Alerts may be watched; alerts about alerts may not, or one would follow the other."""
    cause = event.payload.get("event_type")
    return event.event_type.startswith(ALERT) and str(cause or "").startswith(ALERT)
