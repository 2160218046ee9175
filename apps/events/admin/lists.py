"""Lists of tables that have no upper size: what a page costs does not depend on it."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import HttpRequest

from apps.events.whose import tenant_shown
from axiom.console.admin import ReadOnly, RoleAdmin
from axiom.console.groups import Group
from axiom.console.lists import NEWEST
from axiom.permissions import may, runs_the_platform
from axiom.roles import OPERATORS


class EventsAdmin(ReadOnly, RoleAdmin):
    """Rows that nobody writes by hand. Viewers see them, operators may act on some."""

    group = Group.EVENTS
    list_disable_select_all = True
    sortable_by = ()
    warn_unsaved_form = False

    def has_act_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may(request, OPERATORS)

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Across tenants, say whose row it is."""
        columns = list(super().get_list_display(request))
        has_tenant = hasattr(self.model, "tenant_id")
        return [*columns, "tenant_id"] if has_tenant and tenant_shown(request) is None else columns


class NewestOnly(EventsAdmin):
    """Filters look through the newest rows only, because no index serves them; ids find any row."""

    newest_by: ClassVar[str]
    """The indexed column that grows with time."""
    found_by: ClassVar[tuple[str, ...]]
    """The indexed columns that a search compares with."""
    left_out: ClassVar[tuple[str, ...]] = ()
    """Large columns that a list does not show."""
    list_before_template = "events/newest_only.html"

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        return (f"-{self.newest_by}",)

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        return self.found_by

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        rows = queryset.defer(*self.left_out)
        if search_term:
            return self.search(rows, search_term.strip()), False
        return rows.filter(**{f"{self.newest_by}__gte": self._horizon()}), False

    def search(self, rows: QuerySet[Any], name: str) -> QuerySet[Any]:
        """The rows that this id names; each list says how."""
        raise NotImplementedError

    def _horizon(self) -> Any:
        """The value of the oldest row that is still looked at."""
        values = self.model._default_manager.order_by(f"-{self.newest_by}")
        values = values.values_list(self.newest_by, flat=True)
        return values[NEWEST : NEWEST + 1].first() or 0


class ForThePlatform(NewestOnly):
    """Rows that know no tenant: their place in an event's journey is what tenants see of them."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return runs_the_platform(request) and super().has_view_permission(request, obj)
