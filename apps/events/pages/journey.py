"""What happened to one thing: a line of time, across groups and all that it caused."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.events import selectors
from apps.events.selectors import EventTold, Journey, Kind, Step
from apps.events.whose import tenant_shown
from axiom.console.groups import Group
from axiom.console.navigation import Page, View

from .shown import indented, page

DEEPEST = 6
"""How far caused events are set in; what they caused in turn stands below them."""
_ICONS = {
    Kind.REQUESTED: "call_made", Kind.WRITTEN: "edit_note", Kind.FAILED: "error",
    Kind.PUBLISHED: "send", Kind.HANDLED: "check_circle", Kind.GIVEN_UP: "dangerous",
    Kind.ACTED: "person", Kind.WAITING: "hourglass_empty",
}  # fmt: skip
_TONES = {
    Kind.FAILED: "bad", Kind.GIVEN_UP: "bad", Kind.HANDLED: "good", Kind.ACTED: "act",
    Kind.WAITING: "wait",
}  # fmt: skip


def journey(request: HttpRequest) -> HttpResponse:
    """What happened to the event, trace or aggregate of `?id=`."""
    name = request.GET.get("id", "").strip()
    told = selectors.journey_of(
        name, tenant_id=tenant_shown(request), after=_number(request.GET.get("after", ""))
    )
    context: dict[str, Any] = {"title": _("Journey"), "name": name, "journey": told}
    if told:
        context |= {
            "steps": list(_line(told)),
            "summary": summary(told),
            "payload": indented(told.payload) if told.payload else "",
        }
    return page(request, "events/journey.html", context)


def _number(text: str) -> int:
    return int(text[:18]) if text[:18].isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Shown:
    """A step on the line: how long after the one before, how deep, and how it looks."""

    step: Step
    after: str
    depth: int
    icon: str
    tone: str
    begins_day: bool


def _line(told: Journey) -> Iterator[Shown]:
    depths = depths_of(told.events)
    before: datetime | None = None
    for step in told.steps:
        depth = min(depths.get(step.event_id, 0), DEEPEST) if step.event_id else 0
        yield Shown(
            step, _after(before, step.at), depth, _ICONS[step.kind], _TONES.get(step.kind, ""),
            begins_day=step.at is not None and (before is None or before.date() != step.at.date()),
        )  # fmt: skip
        before = step.at or before


def depths_of(events: Iterable[EventTold]) -> dict[UUID, int]:
    """How many causes away from the first each event is; a copy stands beside what it replaces."""
    causes = {event.event_id: event.causation_id for event in events}
    copies = {event.event_id: event.replaces_id for event in events if event.replaces_id}
    return {event_id: _depth(event_id, causes, copies) for event_id in causes}


def _depth(event_id: UUID, causes: Mapping[UUID, UUID | None], copies: Mapping[UUID, UUID]) -> int:
    depth, seen, at = 0, {event_id}, event_id
    while True:
        above = copies.get(at) or causes.get(at)
        if above is None or above not in causes or above in seen:
            return depth
        depth += 0 if at in copies else 1
        at = above
        seen.add(at)


def _after(before: datetime | None, at: datetime | None) -> str:
    """ "+0.31 s" since the step before; what is still awaited has no time."""
    if before is None or at is None:
        return ""
    seconds = max(0.0, (at - before).total_seconds())
    return f"+{span(seconds)}"


def span(seconds: float) -> str:
    """A length of time as short as it can be read."""
    if seconds < 1:
        return _("%(milliseconds)d ms") % {"milliseconds": round(seconds * 1000)}
    if seconds < 120:
        return _("%(seconds)s s") % {"seconds": number_format(round(seconds, 1))}
    minutes = round(seconds / 60)
    if minutes < 120:
        return _("%(minutes)d min") % {"minutes": minutes}
    return _("%(hours)d h") % {"hours": round(minutes / 60)}


def summary(told: Journey) -> dict[str, Any]:
    """How many events and steps, how long it took, and how it stands."""
    moments = [step.at for step in told.steps if step.at and step.kind is not Kind.WAITING]
    counted = Counter(step.kind for step in told.steps)
    return {
        "events": len(told.events),
        "steps": len(told.steps),
        "took": span((max(moments) - min(moments)).total_seconds()) if moments else "",
        "handled": counted[Kind.HANDLED],
        "failed": counted[Kind.FAILED],
        "given_up": counted[Kind.GIVEN_UP],
        "waiting": counted[Kind.WAITING],
    }


JOURNEY = Page(
    group=Group.EVENTS,
    title=gettext_lazy("Journey"),
    url="admin:journey",
    icon="route",
    position=20,
    views=(View("journey/", journey, "journey"),),
)
