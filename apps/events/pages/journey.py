"""What happened to one thing."""

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.events import selectors
from apps.events.whose import tenant_shown
from axiom.console.groups import Group
from axiom.console.navigation import Page, View

from .shown import indented, page


def journey(request: HttpRequest) -> HttpResponse:
    """What happened to the event, trace or aggregate of `?id=`."""
    name = request.GET.get("id", "").strip()
    told = selectors.journey_of(
        name, tenant_id=tenant_shown(request), after=_number(request.GET.get("after", ""))
    )
    context = {
        "title": _("Journey"),
        "name": name,
        "journey": told,
        "payload": indented(told.payload) if told and told.payload else "",
    }
    return page(request, "events/journey.html", context)


def _number(text: str) -> int:
    return int(text[:18]) if text[:18].isdecimal() else 0


JOURNEY = Page(
    group=Group.EVENTS,
    title=gettext_lazy("Journey"),
    url="admin:journey",
    icon="route",
    position=20,
    views=(View("journey/", journey, "journey"),),
)
