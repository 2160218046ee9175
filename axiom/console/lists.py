"""Lists that open as quickly with a million rows as with a hundred.

A page costs what an index costs: nothing is counted to the end, and where no index serves a filter,
a search or an order, they look through the newest rows only, and the page says so.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.views import ChangeList

MOST_COUNTED = 10_000
NEWEST = 20_000
FEW = 200
VALUES_FROM = 2_000
"""How many rows are asked for the values that a filter offers."""
MOST_VALUES = 50

# These ask for a page, not for other rows.
_NOT_NARROWING = {"p", "e", "all", "_popup", "_to_field", "_changelist_filters", "_facets"}


class BoundedPaginator(Paginator):
    """Counts no further than anybody turns pages; what lies beyond is found by filters."""

    template_name = "console/pages.html"
    most: ClassVar[int] = MOST_COUNTED

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by()[: self.most].count())

    @property
    def is_cut(self) -> bool:
        return self.count >= self.most


class BoundedChangeList(ChangeList):
    """Knows whether it shows what there is, or what was found among the newest."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        cut = getattr(request, "looked_through_newest", False)
        self.newest = self.model_admin.newest if cut else 0
        if not narrowing(request):
            # Nothing to be undone: all of it is shown.
            self.full_result_count = self.result_count

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """An order that no index serves is for lists that are short."""
        admin_: Any = self.model_admin
        if admin_.sorts_while_short and not narrowing(request) and self._is_long():
            return [f"-{admin_.newest_by}", "-pk"]
        return list(super().get_ordering(request, queryset))

    def _is_long(self) -> bool:
        rows = self.root_queryset.order_by().values_list("pk")
        return bool(rows[self.model_admin.newest :].exists())


class ValuesLately(admin.AllValuesFieldListFilter):
    """Offers the frequent values of the newest rows: to find all would read the whole table."""

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, model: Any, model_admin: Any,
        field_path: str,
    ) -> None:  # fmt: skip
        super().__init__(field, request, params, model, model_admin, field_path)
        rows = model_admin.get_queryset(request).order_by("-pk")
        seen = Counter(rows.values_list(field_path, flat=True)[:VALUES_FROM])
        offered = {value for value, _count in seen.most_common(MOST_VALUES)}
        self.lookup_choices: Any = sorted(offered | set(self.lookup_val or ()), key=str)


class BoundedLists:
    """Mixed into an admin: its list stays cheap."""

    paginator: Any = BoundedPaginator
    show_full_result_count = False
    list_per_page = 30
    newest_by: ClassVar[str] = "pk"
    """The indexed column that grows with time; ids made by uuid7 do."""
    newest: ClassVar[int] = NEWEST
    """How many rows are looked through where no index helps."""
    sorts_while_short: ClassVar[bool] = False
    """No index serves the list's own order: a long one shows the newest first."""
    served_filters: ClassVar[Iterable[str]] = ()
    """Parameters for which an index has the rows ready in the order of the list."""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return BoundedChangeList

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        filters = super().get_list_filter(request)  # type: ignore[misc]
        return [self._bounded_filter(each) for each in filters]

    def _bounded_filter(self, named: Any) -> Any:
        """A column of free text offers what was seen lately."""
        options = self.model._meta  # type: ignore[attr-defined]
        if not isinstance(named, str) or named not in {f.name for f in options.fields}:
            return named
        field = options.get_field(named)
        free = isinstance(field, models.CharField | models.TextField) and not field.choices
        return (named, ValuesLately) if free else named

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Called last, with all filters applied, whether somebody searches or not."""
        named = self._named(queryset, search_term)
        if named is not None:
            return named, False
        rows = queryset
        if search_term or narrowing(request) - set(self.served_filters):
            rows = self._newest(request, queryset)
        found, repeats = super().get_search_results(request, rows, search_term)  # type: ignore[misc]
        if search_term and rows is not queryset:
            return _read_once(queryset, found), repeats
        return found, repeats

    def _named(self, rows: QuerySet[Any], search_term: str) -> QuerySet[Any] | None:
        """The row whose id is searched for, however old it is."""
        try:
            key = UUID(search_term.strip())
        except ValueError:
            return None
        found = rows.filter(pk=key) if isinstance(rows.model._meta.pk, models.UUIDField) else None
        return found if found is not None and found.exists() else None

    def _newest(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        every = self.get_queryset(request).order_by(f"-{self.newest_by}")  # type: ignore[attr-defined]
        oldest = every.values_list(self.newest_by, flat=True)[self.newest : self.newest + 1].first()
        if oldest is None:
            return rows
        request.looked_through_newest = True  # type: ignore[attr-defined]
        return rows.filter(**{f"{self.newest_by}__gt": oldest})


def _read_once(rows: QuerySet[Any], found: QuerySet[Any]) -> QuerySet[Any]:
    """A list asks twice, for a count and for a page: few rows are named, so that it costs once."""
    keys = list(found.order_by().values_list("pk", flat=True)[: FEW + 1])
    return rows.filter(pk__in=keys) if len(keys) <= FEW else found


def narrowing(request: HttpRequest) -> set[str]:
    """The parameters by which a list is searched, filtered or sorted."""
    return {name for name, value in request.GET.items() if value} - _NOT_NARROWING
