"""What can happen: every declared type, and one of them with its schema and an example."""

import json

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.events import catalog, groups, selectors
from apps.events.catalog import Event
from apps.events.errors import UnknownEventType
from apps.events.keys import Stream
from apps.events.outline import Row, outline
from axiom.console.groups import Group
from axiom.console.navigation import Page, View

from .shown import page


def event_types(request: HttpRequest) -> HttpResponse:
    """Every declared type, by stream; `?q=` searches."""
    q = request.GET.get("q", "")
    found = selectors.find_event_types(q=q)
    context = {
        "title": _("Event types"),
        "q": q,
        "count": len(found),
        "streams": [(stream, rows) for stream in Stream if (rows := _rows_of(stream, found))],
    }
    return page(request, "events/event_types.html", context)


def _rows_of(
    stream: Stream, kinds: list[type[Event]]
) -> list[tuple[type[Event], list[groups.Group]]]:
    return [(kind, selectors.groups_that_read(kind)) for kind in kinds if kind.stream is stream]


def event_type(request: HttpRequest, name: str) -> HttpResponse:
    """One type: who reads it, its fields, an example."""
    kind = _kind_or_404(name)
    context = {
        "title": str(kind.label),
        "kind": kind,
        "groups": selectors.groups_that_read(kind),
        "envelope": sorted(kind.envelope_fields),
        "fields": [_translated(row) for row in outline(kind.payload_schema())],
        "example": json.dumps(kind.example, ensure_ascii=False, indent=2),
    }
    return page(request, "events/event_type.html", context)


def _kind_or_404(name: str) -> type[Event]:
    try:
        return catalog.event_class_of(name)
    except UnknownEventType:
        raise Http404 from None


def _translated(row: Row) -> Row:
    return row._replace(description=_(row.description)) if row.description else row


EVENT_TYPES = Page(
    group=Group.EVENTS,
    title=gettext_lazy("Event types"),
    url="admin:event-types",
    icon="menu_book",
    position=90,
    views=(
        View("event-types/", event_types, "event-types"),
        View("event-types/<str:name>/", event_type, "event-type"),
    ),
)
