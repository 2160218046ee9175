"""The base classes of every admin here. They ask for roles, and show one tenant's rows."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext
from unfold.admin import ModelAdmin, StackedInline, TabularInline

from apps.events.context import current
from axiom.console.groups import Group
from axiom.console.lists import BoundedLists
from axiom.errors import AxiomError
from axiom.permissions import may, runs_the_platform
from axiom.roles import ADMINS, EVERYONE, OPERATORS, Roles

NOBODY: Roles = frozenset()


class Figure(NamedTuple):
    """A number on the start page."""

    title: str
    value: int
    icon: str
    link: str = ""
    is_cut: bool = False
    """There are more: nobody counted further."""


class ByRole:
    """Permissions by role instead of per person: viewers see, operators act, admins configure."""

    may_view: ClassVar[Roles] = EVERYONE
    may_add: ClassVar[Roles] = OPERATORS
    may_change: ClassVar[Roles] = OPERATORS
    may_delete: ClassVar[Roles] = ADMINS

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may(request, self.may_view)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may(request, self.may_add)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may(request, self.may_change)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may(request, self.may_delete)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)


class RoleAdmin(ByRole, BoundedLists, ModelAdmin):
    """An admin that asks for roles and has its place in the sidebar.

    `group` and `icon` are all it takes to appear there; `position` sorts within the group.
    """

    group: ClassVar[Group | None] = None
    icon: ClassVar[str] = "circle"
    position: ClassVar[int] = 50
    counts_on_start_page: ClassVar[bool] = False

    list_filter_submit = True
    warn_unsaved_form = True

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return _telling_refusals(super().changeform_view, request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return _telling_refusals(super().delete_view, request, *args, **kwargs)

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return _telling_refusals(super().changelist_view, request, *args, **kwargs)

    def response_action(
        self, request: HttpRequest, queryset: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """All that a list counts is the most that one act may be for: that number was confirmed."""
        if request.POST.get("select_across", "0") != "0":
            chosen = queryset.values_list("pk", flat=True)[: self.paginator.most]
            queryset = queryset.filter(pk__in=list(chosen))
        return super().response_action(request, queryset, *args, **kwargs)

    def figure(self, request: HttpRequest) -> Figure | None:
        """The number this admin contributes to the start page."""
        if not self.counts_on_start_page:
            return None
        opts = self.opts
        link = reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")
        most = self.paginator.most
        count = self.get_queryset(request).order_by()[:most].count()
        title = capfirst(str(opts.verbose_name_plural))
        return Figure(title, count, self.icon, link, is_cut=count >= most)


def _telling_refusals(
    view: Callable[..., HttpResponse], request: HttpRequest, *args: Any, **kwargs: Any
) -> HttpResponse:
    """A service that refuses says why, on the page one came from; nothing was changed."""
    try:
        return view(request, *args, **kwargs)
    except AxiomError as error:
        messages.error(request, gettext(error.message))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    # A page that cannot even be shown must not lead to itself.
    back = request.get_full_path() if request.method == "POST" else reverse("admin:index")
    return HttpResponseRedirect(back)


class ReadOnly:
    """Mixed in before an admin whose rows are history: nobody writes it by hand."""

    may_add: ClassVar[Roles] = NOBODY
    may_change: ClassVar[Roles] = NOBODY
    may_delete: ClassVar[Roles] = NOBODY


class OfOneTenant:
    """Shows the rows of the tenant one acts for.

    Who runs the platform may look at all tenants at once. Then nothing can be changed: one acts
    only within a tenant.
    """

    model: type[Model]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        if current().tenant_id is not None:
            rows = self.model.objects.get_queryset()  # type: ignore[attr-defined]
        elif runs_the_platform(request):
            rows = self.model.across_tenants.get_queryset()  # type: ignore[attr-defined]
        else:
            rows = self.model.across_tenants.none()  # type: ignore[attr-defined]
        ordering = self.get_ordering(request)
        return rows.order_by(*ordering) if ordering else rows

    def get_ordering(self, request: HttpRequest) -> Any:
        """Within a tenant as the list says; across all, the newest first: indexes are a tenant's."""
        return super().get_ordering(request) if _acts(request) else ("-pk",)  # type: ignore[misc]

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _acts(request) and super().has_add_permission(request, obj)  # type: ignore[misc]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _acts(request) and super().has_change_permission(request, obj)  # type: ignore[misc]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _acts(request) and super().has_delete_permission(request, obj)  # type: ignore[misc]


def _acts(request: HttpRequest) -> bool:
    return current().tenant_id is not None


class TenantAdmin(OfOneTenant, RoleAdmin):
    """The admin of rows that belong to a tenant (axiom.tenancy.TenantOwned)."""

    exclude: tuple[str, ...] = ("tenant",)

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Across tenants, say whose row it is."""
        columns = list(super().get_list_display(request))
        return columns if _acts(request) else [*columns, "tenant"]


class RoleTabularInline(ByRole, TabularInline):
    extra = 0


class RoleStackedInline(ByRole, StackedInline):
    extra = 0


class TenantTabularInline(OfOneTenant, RoleTabularInline):
    exclude: tuple[str, ...] = ("tenant",)
