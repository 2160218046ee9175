"""Views of a list: those it comes with, and those that people made of the filters they use."""

from typing import Any, ClassVar, NamedTuple
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from axiom.console.admin import RoleAdmin
from axiom.models import SavedView

MOST = 30
LONGEST_NAME = 60
# Which page one was on, and what Django says about a filter it does not know, are no view.
_PASSING = {"p", "e", "all", "_changelist_filters", "_popup"}


class BuiltIn(NamedTuple):
    """A view that everybody has."""

    title: Any
    query: str


class Shown(NamedTuple):
    """A view as the page shows it."""

    title: str
    link: str
    is_current: bool
    forget: str = ""


class WithSavedViews(RoleAdmin):
    """An admin whose list has views. Derive from it together with the admin's own base."""

    built_in_views: ClassVar[tuple[BuiltIn, ...]] = ()
    list_before_template = "console/saved_views.html"

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        ask = self.admin_site.admin_view
        return [
            path("views/", ask(require_POST(self.save_view)), name=f"{name}_save_view"),
            path(
                "views/<int:pk>/forget/", ask(require_POST(self.forget_view)),
                name=f"{name}_forget_view",
            ),
            *super().get_urls(),
        ]  # fmt: skip

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        views = {"saved_views": self._shown(request), "view_query": _normal(request)}
        views["save_view"] = reverse(self._name("save_view"))
        return super().changelist_view(request, extra_context=(extra_context or {}) | views)

    def save_view(self, request: HttpRequest) -> HttpResponse:
        """Keep these filters under this name; under a name one has already, instead of it."""
        name = request.POST.get("name", "").strip()[:LONGEST_NAME]
        query = _cleaned(request.POST.get("query", ""))
        mine = self._mine(request)
        if not name:
            messages.error(request, _("Give the view a name."))
        elif mine.exclude(name=name).count() >= MOST:
            messages.error(request, _("You have %d views: forget one first.") % MOST)
        else:
            SavedView.objects.update_or_create(
                user_id=_me(request), page=self.opts.label_lower, name=name,
                defaults={"query": query},
            )  # fmt: skip
        return HttpResponseRedirect(self._link(query))

    def forget_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        get_object_or_404(self._mine(request), pk=pk).delete()
        return HttpResponseRedirect(self._link(""))

    def _shown(self, request: HttpRequest) -> list[Shown]:
        now = _normal(request)
        built_in = [
            Shown(str(view.title), self._link(view.query), _cleaned(view.query) == now)
            for view in self.built_in_views
        ]
        return built_in + [
            Shown(view.name, self._link(view.query), view.query == now,
                  reverse(self._name("forget_view"), args=[view.pk]))
            for view in self._mine(request).order_by("name")
        ]  # fmt: skip

    def _mine(self, request: HttpRequest) -> QuerySet[SavedView]:
        return SavedView.objects.filter(user_id=_me(request), page=self.opts.label_lower)

    def _name(self, what: str) -> str:
        return f"admin:{self.opts.app_label}_{self.opts.model_name}_{what}"

    def _link(self, query: str) -> str:
        return reverse(self._name("changelist")) + (f"?{query}" if query else "")


def _me(request: HttpRequest) -> Any:
    return request.user.pk


def _normal(request: HttpRequest) -> str:
    return _cleaned(request.GET.urlencode())


def _cleaned(query: str) -> str:
    """The filters alone, in an order of their own, so that two views can be compared."""
    pairs = parse_qsl(query[:2000], keep_blank_values=False)
    return urlencode(sorted(pair for pair in pairs if pair[0] not in _PASSING))
