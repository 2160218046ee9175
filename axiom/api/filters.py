"""Filters of lists, which cost nothing where nobody filters."""

from typing import Any

from django.db.models import QuerySet
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.request import Request

_NO_FILTERS = {"cursor", "page_size", "ordering", "format"}


class Filters(DjangoFilterBackend):
    """Building and checking a form takes as long as reading the page: only where it says something."""

    def filter_queryset(
        self, request: Request, queryset: QuerySet[Any], view: Any
    ) -> QuerySet[Any]:
        if request.query_params.keys() <= _NO_FILTERS:
            return queryset
        found: QuerySet[Any] = super().filter_queryset(request, queryset, view)
        return found
