"""Makes matches of what rules found."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.watch import texts
from apps.watch.matches import Match
from apps.watch.rules.language import Absence, Sequence

from .compiled import Plain
from .index import Watcher
from .occurrences import Occurrence, as_uuid, storable
from .tallies import Crossing

_TITLES = ("title", "name", "message", "file_name")


def about(event: Occurrence) -> dict[str, Any]:
    """The few facts of an event that a later match needs."""
    return {
        "event_type": event.event_type,
        "aggregate_type": event.aggregate_type,
        "aggregate_id": event.aggregate_id,
        "case_id": str(event.case_id) if event.case_id else None,
        "title": title_of(event.payload),
    }


def title_of(payload: Mapping[str, Any]) -> str:
    found = (payload.get(name) for name in _TITLES)
    title = next((value for value in found if isinstance(value, str) and value), "")
    return storable(title[:200])


def of_event(watcher: Watcher, rule: Plain, event: Occurrence) -> Match:
    """One event matched by itself."""
    facts = {"rule": rule.rule.type, "values": rule.values(event), "title": title_of(event.payload)}
    return Match(
        watcher.tenant_id, watcher.id, watcher.severity, event.event_type, event.aggregate_type,
        event.aggregate_id, event.case_id, event.event_id, event.occurred_at,
        texts.message(event.event_type, facts, watcher.language), facts,
        event.envelope("trace_id", ""),
    )  # fmt: skip


def of_window(watcher: Watcher, group: str, crossing: Crossing) -> Match:
    """Several events matched together, and this one completed it."""
    entry, rule = crossing.entry, watcher.compiled.rule
    facts = {
        **rule_facts(rule),
        "value": crossing.value,
        "title": entry.about.get("title", ""),
        "group": group,
        "events": [str(event_id) for event_id in crossing.members],
    }
    return _of_group(watcher, group, entry.about, entry.event_id, entry.occurred_at, facts)


def of_silence(
    watcher: Watcher, group: str, about: dict[str, Any], event_id: UUID, due_at: datetime
) -> Match:
    """What should have followed an event did not."""
    facts = {**rule_facts(watcher.compiled.rule), "title": about.get("title", ""), "group": group,
             "events": [str(event_id)]}  # fmt: skip
    return _of_group(watcher, group, about, event_id, due_at, facts)


def rule_facts(rule: Any) -> dict[str, Any]:
    """The rule as facts: its own words, without its conditions."""
    facts = rule.model_dump(mode="json", exclude={"where": True, "type": True})
    for step in ("first", "then"):
        if step in facts:
            facts[step] = facts[step]["event_type"]
    return {"rule": rule.type, **facts}


def _of_group(
    watcher: Watcher, group: str, about: dict[str, Any], event_id: UUID, at: datetime,
    facts: dict[str, Any],
) -> Match:  # fmt: skip
    kind, name = subject(watcher, group, about)
    event_type = subject_type(watcher)
    return Match(
        watcher.tenant_id, watcher.id, watcher.severity, event_type, kind, name,
        as_uuid(about.get("case_id")), event_id, at,
        texts.message(event_type, facts, watcher.language), facts,
    )  # fmt: skip


def subject(watcher: Watcher, group: str, about: dict[str, Any]) -> tuple[str, str]:
    """What an alert of several events is about: the same whichever of them came last."""
    rule: Any = watcher.compiled.rule
    if isinstance(rule, Sequence | Absence) and not rule.group_by:
        return about["aggregate_type"], about["aggregate_id"]
    if rule.group_by:
        return rule.group_by.lstrip("@").removesuffix("_id"), group
    return "subscription", f"subscription:{watcher.id}"


def subject_type(watcher: Watcher) -> str:
    rule = watcher.compiled.rule
    if isinstance(rule, Sequence):
        return rule.then.event_type
    if isinstance(rule, Absence):
        return rule.first.event_type
    return watcher.event_types[0]
