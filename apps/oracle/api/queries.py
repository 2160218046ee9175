"""Questions with the SQL that answers them, for programs."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from apps.oracle import selectors, services
from apps.oracle.models import CachedQuery
from axiom.api.checked import CHECKED_FIELDS, CheckedSerializer
from axiom.api.views import FullResource
from axiom.references import Status


class CachedQuerySerializer(CheckedSerializer):
    class Meta:
        model = CachedQuery
        fields = (
            "id", "datasource_name", "question", "sql", "engine", "default_schema",
            *CHECKED_FIELDS, "created_by", "created_at",
        )  # fmt: skip
        read_only_fields = ("created_by", "created_at")


class QueryFilter(django_filters.FilterSet):
    datasource_name = django_filters.CharFilter()
    status = django_filters.ChoiceFilter(choices=Status.choices)
    q = django_filters.CharFilter(
        field_name="question", lookup_expr="icontains", label=_("Part of the question")
    )

    class Meta:
        model = CachedQuery
        fields = ()


class QueriesResource(FullResource):
    """Cached queries. One that uses a column which went or changed its kind is invalid."""

    serializer_class = CachedQuerySerializer
    filterset_class = QueryFilter
    ordering = ("-created_at",)
    ordering_fields = ("created_at", "question")

    def get_queryset(self) -> QuerySet[CachedQuery]:
        return selectors.queries()

    def make(self, data: dict[str, Any]) -> CachedQuery:
        return services.cache_query(**data)

    def change(self, row: CachedQuery, data: dict[str, Any]) -> CachedQuery:
        return services.change_query(row, **data)

    def remove(self, row: CachedQuery) -> None:
        services.remove_query(row)
