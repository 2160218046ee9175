"""Says of one event and one rule why it fires, or why not, with the values it saw."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from apps.events import selectors
from apps.watch.rules.explaining import Told, explain
from apps.watch.rules.language import Absence

from .compiled import FIRST, Counting, Plain, Stepping, group_of
from .evaluating import counted, is_alert_about_alert
from .index import Watcher
from .occurrences import Occurrence, of_stored
from .trying import Remembered, answer_to, found_in, remembered


@dataclass(frozen=True)
class Explained:
    """Whether a rule fires with an event, and the tree of reasons."""

    fires: bool
    tree: Told


def explain_event(watcher: Watcher, event: Occurrence, zone: ZoneInfo) -> Explained:
    refusal = _not_looked_at(watcher, event)
    if refusal:
        return Explained(False, Told("event", False, refusal))
    compiled = watcher.compiled
    if isinstance(compiled, Plain):
        tree = explain(compiled.rule, event, zone)
        return Explained(tree.matched is True, tree)
    return _explain_window(watcher, compiled, event, zone)


def _not_looked_at(watcher: Watcher, event: Occurrence) -> str:
    if event.event_type not in watcher.event_types:
        return _("The subscription is not about events of the type %s.") % event.event_type
    if is_alert_about_alert(event):
        return _("Alerts about alerts are not watched: one would follow the other without end.")
    if event.too_late and not isinstance(watcher.compiled, Plain):
        return _("It was told more than an hour after it happened: no window counts it.")
    return ""


def _explain_window(
    watcher: Watcher, compiled: Counting | Stepping, event: Occurrence, zone: ZoneInfo
) -> Explained:
    conditions = tuple(_conditions(compiled, event, zone))
    own = list(counted(watcher, event))
    kind = compiled.rule.type
    if not own:
        why = _("The event does not count: it does not fit, or has no value to be grouped by.")
        return Explained(False, Told(kind, False, why, _grouping(compiled, event), conditions))
    entries = list(_neighbours(watcher, compiled, event, own[0].made.group))
    fires, why, values = _verdict(compiled, event, entries)
    values |= _grouping(compiled, event)
    return Explained(fires, Told(kind, fires, why, values, conditions))


def _conditions(compiled: Any, event: Occurrence, zone: ZoneInfo) -> Iterator[Told]:
    rule = compiled.rule
    if isinstance(compiled, Counting):
        parts = [rule.where]
    else:
        parts = [s.where for s in (rule.first, rule.then) if s.takes(event.event_type)]
    return (explain(where, event, zone) for where in parts if where is not None)


def _grouping(compiled: Any, event: Occurrence) -> dict[str, Any]:
    path = compiled.rule.group_by
    return {"group_by": path, "group": group_of(compiled.group_by, event)} if path else {}


def _neighbours(
    watcher: Watcher, compiled: Counting | Stepping, event: Occurrence, group: str
) -> Iterable[Remembered]:
    """What is stored of this group around the event, in its order."""
    stored = selectors.history(
        tenant_id=watcher.tenant_id,
        event_types=watcher.event_types,
        since=event.occurred_at - 2 * compiled.span,
        until=event.occurred_at + compiled.span,
    )
    entries = [
        remembered(entry)
        for happened in stored
        for entry in counted(watcher, of_stored(happened))
        if entry.made.group == group
    ]
    return sorted(entries, key=lambda entry: entry.place)


def _verdict(
    compiled: Any, event: Occurrence, entries: list[Any]
) -> tuple[bool, str, dict[str, Any]]:
    if isinstance(compiled.rule, Absence):
        return _absence(compiled, event, entries)
    mine = [c for c in found_in(compiled, entries) if c.entry.event_id == event.event_id]
    earlier = [e for e in entries if e.place[:2] <= event.place]
    values: dict[str, Any] = {"events_so_far": _within(compiled, event, earlier)}
    if mine:
        values |= {"value": mine[0].value, "events": [str(e) for e in mine[0].members]}
        return True, _("With this event it begins to hold."), values
    return False, _("With this event it does not hold, or it held before it."), values


def _within(compiled: Any, event: Occurrence, earlier: list[Any]) -> int:
    edge = event.occurred_at - compiled.span
    return sum(1 for entry in earlier if entry.occurred_at > edge)


def _absence(
    compiled: Any, event: Occurrence, entries: list[Any]
) -> tuple[bool, str, dict[str, Any]]:
    own = [e for e in entries if e.event_id == event.event_id and e.part == FIRST]
    if not own:
        return False, _("It is what is waited for, not what it is waited after."), {}
    due = event.occurred_at + compiled.span
    values: dict[str, Any] = {"due_at": due.isoformat()}
    came = answer_to(own[0], entries, compiled.span)
    if came:
        values["answered_by"] = str(came.event_id)
        return False, _("What should follow it came in time."), values
    return True, _("Nothing that should follow it came in time."), values
