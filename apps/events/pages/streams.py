"""Streams: how far their groups are, and what is in them."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.events import selectors
from apps.events.bus import BusUnavailable
from apps.events.keys import Stream
from apps.events.selectors.streams import (
    LOOKED_AT,
    EntryTold,
    PageOfStream,
    Place,
    entries_of,
    entry_of,
    entry_of_event,
    first_id_at,
    moment_of,
    readings_of,
    streams_told,
)
from apps.events.selectors.streams import (
    STREAMS as NAMES,
)
from apps.events.whose import tenant_shown
from axiom.console.groups import Group
from axiom.console.navigation import Page, View
from axiom.permissions import may, runs_the_platform
from axiom.roles import ADMINS

from .shown import indented, page

SHORT = 2_000
"""Characters of a payload in a list; the entry's own page shows all."""


def streams(request: HttpRequest) -> HttpResponse:
    """Every stream with its groups. Who reads for them is for the platform: it names machines."""
    context: dict[str, Any] = {"title": _("Streams"), "sees_readers": runs_the_platform(request)}
    try:
        context["streams"] = streams_told()
    except BusUnavailable:
        context["away"] = True
    return page(request, "events/streams.html", context)


class WantedForm(forms.Form):
    """Which entries: of a type, at a moment, or the one of an id."""

    type = forms.CharField(required=False, max_length=200, empty_value="")
    at = forms.DateTimeField(required=False, input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"])
    id = forms.CharField(required=False, max_length=64, empty_value="")
    below = forms.RegexField(r"^\d{1,15}-\d{1,15}$", required=False, empty_value="")
    above = forms.RegexField(r"^\d{1,15}-\d{1,15}$", required=False, empty_value="")

    def place(self) -> Place:
        """Where the page begins: a step from another page, or a moment, or the newest entry."""
        wanted, moment = self.cleaned_data, self.cleaned_data["at"]
        if wanted["above"] or wanted["below"]:
            return Place(wanted["below"], wanted["above"])
        # The whole minute is meant.
        return Place(below=first_id_at(moment + timedelta(minutes=1))) if moment else Place()


def stream(request: HttpRequest, name: str) -> HttpResponse:
    """The entries of a stream, the newest first."""
    tenant_id = _tenant_of_entries(request, name)
    form = WantedForm(request.GET)
    context: dict[str, Any] = {
        "title": _("Stream %(name)s") % {"name": name}, "name": name, "form": form, "types": _types_of(name),
        "looked_at_most": LOOKED_AT, "across_tenants": tenant_id is None,
    }  # fmt: skip
    if not form.is_valid():
        return page(request, "events/stream.html", context)
    try:
        return _found(request, name, tenant_id, form, context)
    except BusUnavailable:
        return page(request, "events/stream.html", context | {"away": True})


def _found(
    request: HttpRequest, name: str, tenant_id: UUID | None, form: WantedForm,
    context: dict[str, Any],
) -> HttpResponse:  # fmt: skip
    wanted = form.cleaned_data
    if wanted["id"]:
        if entry := _named(name, wanted["id"].strip(), tenant_id):
            return redirect("admin:stream-entry", name, entry.entry_id)
        return page(request, "events/stream.html", context | {"nothing_named": wanted["id"]})
    found = entries_of(name, tenant_id=tenant_id, event_type=wanted["type"], place=form.place())
    return page(request, "events/stream.html", context | _told(request, found))


def _named(name: str, text: str, tenant_id: UUID | None) -> EntryTold | None:
    """An entry by its own id or by its event's."""
    try:
        return entry_of_event(name, UUID(text), tenant_id=tenant_id)
    except ValueError:
        head, _dash, tail = text.partition("-")
    if not (head.isdecimal() and tail.isdecimal() and len(text) < 32):
        return None
    return entry_of(name, text, tenant_id=tenant_id)


def _told(request: HttpRequest, found: PageOfStream) -> dict[str, Any]:
    return {
        "found": found,
        "entries": [(entry, indented(entry.payload)[:SHORT]) for entry in found.entries],
        "reached_at": moment_of(found.older) if found.older else None,
        "older": _link(request, below=found.older) if found.older else "",
        "newer": _link(request, above=found.newer) if found.newer else "",
    }


def _link(request: HttpRequest, **place: str) -> str:
    query = request.GET.copy()
    for name in ("below", "above", "at"):
        query.pop(name, None)
    query.update(place)
    return f"?{query.urlencode()}"


def _types_of(name: str) -> list[str]:
    """The types of this stream; what was given up keeps the type it had."""
    own = name.removesuffix("_dlq")
    return sorted(kind.type for kind in selectors.find_event_types(stream=own))


def _tenant_of_entries(request: HttpRequest, name: str) -> UUID | None:
    """Whose entries are shown: one's own tenant's; all of them only to who runs the platform."""
    if name not in NAMES:
        raise Http404
    if name.removesuffix("_dlq") == Stream.CHAT and not may(request, ADMINS):
        # What people say to each other is for its rooms; the console shows it to admins.
        raise PermissionDenied
    return tenant_shown(request)


def stream_entry(request: HttpRequest, name: str, entry_id: str) -> HttpResponse:
    """One entry: its envelope, its payload, and how each group stands to it."""
    tenant_id = _tenant_of_entries(request, name)
    context: dict[str, Any] = {
        "title": entry_id, "name": name, "entry_id": entry_id,
        "sees_readers": runs_the_platform(request),
        "back": reverse("admin:stream", args=[name]),
    }  # fmt: skip
    try:
        context |= _entry(name, entry_id, tenant_id)
    except BusUnavailable:
        context["away"] = True
    return page(request, "events/stream_entry.html", context)


def _entry(name: str, entry_id: str, tenant_id: UUID | None) -> dict[str, Any]:
    entry = _named(name, entry_id, tenant_id)
    if entry is None:
        raise Http404
    beside = {key: text for key, text in entry.fields.items() if key != "payload"}
    return {
        "entry": entry,
        "fields": sorted(beside.items()),
        "payload": indented(entry.payload),
        "readings": readings_of(entry),
    }


STREAMS = Page(
    group=Group.EVENTS,
    title=gettext_lazy("Streams"),
    url="admin:streams",
    icon="stream",
    position=25,
    views=(
        View("streams/", streams, "streams"),
        View("streams/<str:name>/", stream, "stream"),
        View("streams/<str:name>/<str:entry_id>/", stream_entry, "stream-entry"),
    ),
)
