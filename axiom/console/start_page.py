"""The first page of the console: where you are, what there is, where to go."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from axiom.console.admin import Figure
from axiom.console.groups import Group
from axiom.console.navigation import entries, visible_admins
from axiom.console.panels import shown_panels
from axiom.console.tenants import current_tenant, has_a_choice
from axiom.permissions import role_of


def contents(request: HttpRequest) -> dict[str, Any]:
    role = role_of(request)
    return {
        "tenant": current_tenant(),
        "role": role.label if role else "",
        "may_switch": has_a_choice(request),
        "panels": shown_panels(request),
        "figures": figures(request),
        "groups": [
            {"title": group.title, "entries": found}
            for group in Group
            if (found := entries(request, group))
        ],
    }


def now(request: HttpRequest) -> HttpResponse:
    """The panels alone, for a page that renews itself."""
    return render(request, "console/now.html", {"panels": shown_panels(request)})


def figures(request: HttpRequest) -> list[Figure]:
    """The numbers this person may see."""
    told = (each.figure(request) for each in visible_admins(request))
    return [figure for figure in told if figure]
