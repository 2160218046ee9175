"""Which tenant one acts for in the console, and how to choose another."""

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.accounts import selectors, services
from apps.events.context import acting, current
from axiom.permissions import runs_the_platform

CONSOLE = "/admin/"
CHOSEN = "console_tenant"
ALL_TENANTS = "all"


class ChosenTenantMiddleware:
    """Lets those who run the platform act for the tenant they chose, in the console only."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with _acting_for_chosen(request):
            return self.get_response(request)


def _acting_for_chosen(request: HttpRequest) -> AbstractContextManager[Any]:
    if not request.path.startswith(CONSOLE) or not runs_the_platform(request):
        return nullcontext()
    chosen = request.session.get(CHOSEN)
    if chosen is None:
        return nullcontext()
    return acting(tenant_id=None if chosen == ALL_TENANTS else uuid.UUID(chosen))


def current_tenant() -> Any:
    """The tenant one acts for; None when looking at all of them."""
    tenant_id = current().tenant_id
    return selectors.tenant_by_id(tenant_id) if tenant_id else None


def choose_tenant(request: HttpRequest) -> HttpResponse:
    """GET shows the tenants one may act for; POST acts for one of them from now on."""
    if request.method == "POST":
        _act_for(request, request.POST.get("tenant", ""))
        return HttpResponseRedirect(reverse("admin:index"))
    context = {
        **admin.site.each_context(request),
        "title": _("Choose a tenant"),
        "choices": _choices(request),
        "current": str(current().tenant_id or ALL_TENANTS),
    }
    return TemplateResponse(request, "console/choose_tenant.html", context)


def _choices(request: HttpRequest) -> list[tuple[str, str, str]]:
    """Key, name and role of every tenant this person may act for."""
    if runs_the_platform(request):
        every = [(str(tenant.pk), tenant.name, "") for tenant in selectors.active_tenants()]
        return [*every, (ALL_TENANTS, _("All tenants"), _("look only"))]
    memberships = selectors.memberships_of(request.user)  # type: ignore[arg-type]
    return [
        (str(each.tenant_id), each.tenant.name, each.get_role_display()) for each in memberships
    ]


def has_a_choice(request: HttpRequest) -> bool:
    return len(_choices(request)) > 1


def _act_for(request: HttpRequest, tenant: str) -> None:
    if tenant not in {key for key, _name, _role in _choices(request)}:
        raise PermissionDenied
    if runs_the_platform(request):
        request.session[CHOSEN] = tenant
    else:
        login = services.switch_tenant(
            login=request.login,  # type: ignore[attr-defined]
            tenant=tenant,
            request=request,
        )
        request.session[selectors.LOGIN_IN_SESSION] = str(login.pk)


def subheader(request: HttpRequest) -> str:
    """Below the name of the console: for whom one acts."""
    tenant = current_tenant()
    return tenant.name if tenant else _("All tenants")
