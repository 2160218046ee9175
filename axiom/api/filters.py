"""Filters of lists, which cost nothing where nobody filters."""

from collections.abc import Collection
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.request import Request

_NO_FILTERS = {"cursor", "page_size", "ordering", "format"}


class Filters(DjangoFilterBackend):
    """Building and checking a form takes as long as reading the page: only what is asked for."""

    def filter_queryset(
        self, request: Request, queryset: QuerySet[Any], view: Any
    ) -> QuerySet[Any]:
        if request.query_params.keys() <= _NO_FILTERS:
            return queryset
        found: QuerySet[Any] = super().filter_queryset(request, queryset, view)
        return found

    def get_filterset_class(self, view: Any, queryset: Any = None) -> Any:
        whole = super().get_filterset_class(view, queryset)
        request = getattr(view, "request", None)
        return _asked(whole, request.query_params) if whole and request else whole


def _asked(whole: Any, parameters: Collection[str]) -> Any:
    """The filters that are asked for; a range has `name_after` beside `name`."""
    names = frozenset(
        name
        for name in whole.base_filters
        if any(parameter.startswith(name) for parameter in parameters)
    )
    return _part(whole, names) if names else whole


@lru_cache(maxsize=512)
def _part(whole: Any, names: frozenset[str]) -> Any:
    part: Any = type(whole.__name__, (whole,), {})
    part.base_filters = {name: f for name, f in whole.base_filters.items() if name in names}
    return part
