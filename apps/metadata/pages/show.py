"""What every page of the catalog has."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext

from apps.events.context import current
from apps.metadata.keepers import KEEPERS
from apps.metadata.selectors import impact
from apps.metadata.selectors.impact import Affected
from axiom.errors import AxiomError
from axiom.permissions import may

SHOWN = 100
"""Of things of one kind that are affected."""


def page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """The page; where nobody chose a tenant there is nothing to show, and it says so."""
    shared = {**admin.site.each_context(request), "acts": acts(), "may_keep": may_keep(request)}
    return TemplateResponse(request, template, {**shared, **context})


def acts() -> bool:
    """Whether somebody acts for a tenant: a catalog is always somebody's."""
    return current().tenant_id is not None


def may_keep(request: HttpRequest) -> bool:
    return acts() and may(request, KEEPERS)


def link(name: str, **given: str) -> str:
    """A page of the catalog with these in its address, as far as there is something."""
    query = urlencode({key: value for key, value in given.items() if value})
    return reverse(f"admin:{name}") + (f"?{query}" if query else "")


def asked(request: HttpRequest, *names: str) -> list[str]:
    """What the address says; PostgreSQL knows no text with a null in it."""
    return [request.GET.get(name, "").replace("\0", "") for name in names]


def refuse(request: HttpRequest, refusal: AxiomError) -> None:
    messages.error(request, gettext(refusal.message))


def grouped(found: Iterable[Affected]) -> list[dict[str, Any]]:
    """By kind, each thing once: it may use several of the tables."""
    kinds: dict[str, dict[str, Affected]] = {}
    for each in found:
        kinds.setdefault(each.kind, {}).setdefault(f"{each.id} {each.name}", each)
    return [_group(kind, list(members.values())) for kind, members in kinds.items()]


def _group(kind: str, members: list[Affected]) -> dict[str, Any]:
    label, place = impact.shown(kind)
    told = [
        {"name": each.name, "how": each.how, "link": _admin_of(place, each.id)}
        for each in members[:SHOWN]
    ]
    return {"label": label, "count": len(members), "members": told}


def _admin_of(place: str, key: str) -> str:
    return reverse(f"admin:{place}_change", args=[key]) if place else ""
