"""The sidebar, made of what is registered and what the person may see."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NamedTuple

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from axiom.console.admin import RoleAdmin
from axiom.console.groups import Group
from axiom.permissions import may
from axiom.roles import EVERYONE, Roles


class View(NamedTuple):
    """What answers below /admin/, at this route and under this name."""

    route: str
    answer: Callable[..., HttpResponseBase]
    name: str


class Page(NamedTuple):
    """A place in the console that is not the list of a model.

    Its `views` become part of the console: for its roles only, under its policy. `url` names the
    one that the sidebar leads to.
    """

    group: Group
    title: Any
    url: str
    icon: str
    position: int = 50
    roles: Roles = EVERYONE
    views: tuple[View, ...] = ()


class Entry(NamedTuple):
    position: int
    title: str
    link: str
    icon: str


_pages: list[Page] = []


def add_page(page: Page) -> None:
    """Put a page of your own into the sidebar; called from an AppConfig.ready()."""
    _pages.append(page)


def page_urls(site: admin.AdminSite) -> list[URLPattern]:
    """The URLs of the pages that were added."""
    return [
        path(view.route, site.admin_view(_for_roles(page.roles, view.answer)), name=view.name)
        for page in _pages
        for view in page.views
    ]


def _for_roles(
    roles: Roles, answer: Callable[..., HttpResponseBase]
) -> Callable[..., HttpResponseBase]:
    @wraps(answer)
    def answer_them(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not may(request, roles):
            raise PermissionDenied
        return answer(request, *args, **kwargs)

    return answer_them


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """For unfold: the groups that have something in them for this person."""
    groups = [(group, entries(request, group)) for group in Group]
    return [_home(), *(_section(group, found) for group, found in groups if found)]


def entries(request: HttpRequest, group: Group) -> list[Entry]:
    """What this person finds in a group, in order."""
    return sorted([*_models(request, group), *_own_pages(request, group)])


def visible_admins(request: HttpRequest) -> Iterator[RoleAdmin]:
    for model_admin in admin.site._registry.values():
        if isinstance(model_admin, RoleAdmin) and model_admin.has_view_permission(request):
            yield model_admin


def _models(request: HttpRequest, group: Group) -> Iterator[Entry]:
    for model_admin in visible_admins(request):
        if model_admin.group is group:
            opts = model_admin.opts
            link = reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")
            title = capfirst(str(opts.verbose_name_plural))
            yield Entry(model_admin.position, title, link, model_admin.icon)


def _own_pages(request: HttpRequest, group: Group) -> Iterator[Entry]:
    for page in _pages:
        if page.group is group and may(request, page.roles):
            yield Entry(page.position, str(page.title), reverse(page.url), page.icon)


def _home() -> dict[str, Any]:
    link = reverse("admin:index")
    return {"items": [{"title": _("Overview"), "icon": "dashboard", "link": link}]}


def _section(group: Group, found: list[Entry]) -> dict[str, Any]:
    items = [{"title": each.title, "icon": each.icon, "link": each.link} for each in found]
    return {"title": group.title, "separator": True, "items": items}
