"""The first page of the console: where you are, what there is, where to go."""

from typing import Any

from django.http import HttpRequest

from axiom.console.admin import Figure
from axiom.console.groups import Group
from axiom.console.navigation import entries, visible_admins
from axiom.console.tenants import current_tenant, has_a_choice
from axiom.permissions import role_of


def contents(request: HttpRequest) -> dict[str, Any]:
    role = role_of(request)
    return {
        "tenant": current_tenant(),
        "role": role.label if role else "",
        "may_switch": has_a_choice(request),
        "figures": figures(request),
        "groups": [
            {"title": group.title, "entries": found}
            for group in Group
            if (found := entries(request, group))
        ],
    }


def figures(request: HttpRequest) -> list[Figure]:
    """The numbers this person may see."""
    told = (each.figure(request) for each in visible_admins(request))
    return [figure for figure in told if figure]
