"""Tables and columns: found by name, described and tagged."""

import math
from typing import Any

import django_filters
from django.db.models import Prefetch, Q, QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.metadata import services
from apps.metadata.models import CatalogChange, CatalogColumn, CatalogTable
from axiom.api.views import Listed, Resource, Shown

_WORDS = ("description", "description_source", "comment", "tags")


class ColumnSerializer(serializers.ModelSerializer[CatalogColumn]):
    """A column of a table."""

    class Meta:
        model = CatalogColumn
        fields = ("id", "name", "position", "dtype", "nullable", "default", *_WORDS)


class ColumnInListSerializer(ColumnSerializer):
    """A column and where it is."""

    datasource = serializers.CharField(source="table.datasource.name")
    schema = serializers.CharField(source="table.schema")
    table = serializers.CharField(source="table.name")
    table_id = serializers.UUIDField()

    class Meta(ColumnSerializer.Meta):
        fields = ("datasource", "schema", "table", "table_id", *ColumnSerializer.Meta.fields)  # type: ignore[assignment]


class TableSerializer(serializers.ModelSerializer[CatalogTable]):
    """A table in a list."""

    datasource = serializers.CharField(source="datasource.name")

    class Meta:
        model = CatalogTable
        fields = (
            "id", "datasource", "schema", "name", "kind", "columns_count", "row_count",
            "partitions_count", *_WORDS,
        )  # fmt: skip


class ForeignKeySerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    columns = serializers.ListField(child=serializers.CharField())
    schema = serializers.CharField()
    table = serializers.CharField()
    referred = serializers.ListField(child=serializers.CharField())
    on_update = serializers.CharField(allow_blank=True)
    on_delete = serializers.CharField(allow_blank=True)


class IndexSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    columns = serializers.ListField(child=serializers.CharField())
    unique = serializers.BooleanField()
    method = serializers.CharField(allow_blank=True)
    where = serializers.CharField(allow_blank=True)


class TableInFullSerializer(TableSerializer):
    """A table with its columns, keys and indexes."""

    columns = ColumnSerializer(many=True)
    primary_key = serializers.ListField(child=serializers.CharField())
    foreign_keys = ForeignKeySerializer(many=True)
    indexes = IndexSerializer(many=True)

    class Meta(TableSerializer.Meta):
        fields = (
            *TableSerializer.Meta.fields, "primary_key", "foreign_keys", "indexes", "definition",
            "columns",
        )  # type: ignore[assignment]  # fmt: skip


class DescriptionSerializer(serializers.Serializer[Any]):
    description = serializers.CharField(allow_blank=True, max_length=10_000)


class TagNameSerializer(serializers.Serializer[Any]):
    name = serializers.RegexField(r"^[\w.:-]+\Z", max_length=100)


_PLAIN = [{"type": "boolean"}, {"type": "number"}, {"type": "string", "maxLength": 500}]


@extend_schema_field({"oneOf": _PLAIN})
class TagValueField(serializers.JSONField):
    """A text, a number, or yes or no."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, str) and len(data) <= 500 and "\0" not in data:
            return data
        if isinstance(data, bool | int | float) and math.isfinite(data):
            return data
        raise serializers.ValidationError(_("Give a text, a number, or true or false."))


class TagSerializer(TagNameSerializer):
    value = TagValueField(default=lambda: True)  # type: ignore[arg-type,return-value]


class TableFilter(django_filters.FilterSet):
    datasource = django_filters.CharFilter("datasource__name")
    schema = django_filters.CharFilter()
    kind = django_filters.CharFilter()
    q = django_filters.CharFilter(method="search", help_text="Part of the name or description.")
    tag = django_filters.CharFilter("tags", lookup_expr="has_key")

    class Meta:
        model = CatalogTable
        fields = ()

    def search(self, tables: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        return tables.filter(
            Q(name__icontains=value) | Q(description__icontains=value) | Q(comment__icontains=value)
        )


class ColumnFilter(TableFilter):
    datasource = django_filters.CharFilter("table__datasource__name")
    schema = django_filters.CharFilter("table__schema")
    kind = None
    table = django_filters.CharFilter("table__name")

    class Meta:
        model = CatalogColumn
        fields = ()


class Enriched(Resource):
    """What tables and columns have in common: words about them."""

    http_method_names = ["get", "head", "post"]
    lookup_value_converter = "uuid"

    @extend_schema(request=DescriptionSerializer)
    @action(detail=True, methods=["post"])
    def describe(self, request: Request, pk: str) -> Response:
        """Say what it is; an empty text takes the description away."""
        target, given = self.get_object(), _validated(DescriptionSerializer, request)
        services.describe(target=target, **given)
        return self.answer(self.get_object())

    @extend_schema(request=TagSerializer)
    @action(detail=True, methods=["post"])
    def tag(self, request: Request, pk: str) -> Response:
        """Put a tag on it, or give the tag another value."""
        target, given = self.get_object(), _validated(TagSerializer, request)
        services.tag(target=target, **given)
        return self.answer(self.get_object())

    @extend_schema(request=TagNameSerializer)
    @action(detail=True, methods=["post"])
    def untag(self, request: Request, pk: str) -> Response:
        """Take a tag off."""
        target, given = self.get_object(), _validated(TagNameSerializer, request)
        services.untag(target=target, **given)
        return self.answer(self.get_object())


class TablesResource(Listed, Shown, Enriched):
    """Tables and views of all data sources."""

    serializer_class = TableInFullSerializer
    filterset_class = TableFilter
    ordering = ("schema", "name")
    ordering_fields = ("schema", "name", "columns_count")

    def get_queryset(self) -> QuerySet[CatalogTable]:
        tables = CatalogTable.objects.select_related("datasource")
        if self.action == "list":
            return tables.defer("foreign_keys", "indexes", "definition")
        columns = CatalogColumn.objects.order_by("position")
        return tables.prefetch_related(Prefetch("columns", columns))

    def get_serializer_class(self) -> Any:
        return TableSerializer if self.action == "list" else super().get_serializer_class()

    @extend_schema(request=None, responses={202: None})
    @action(detail=True, methods=["post"])
    def generate(self, request: Request, pk: str) -> Response:
        """Have it described by the generator, where nobody did so by hand."""
        services.request_descriptions(table=self.get_object())
        return Response(status=202)


class ColumnsResource(Listed, Shown, Enriched):
    """Columns of all tables."""

    serializer_class = ColumnInListSerializer
    filterset_class = ColumnFilter
    ordering = ("name",)
    ordering_fields = ("name", "position")

    def get_queryset(self) -> QuerySet[CatalogColumn]:
        return CatalogColumn.objects.select_related("table__datasource")


class ChangeSerializer(serializers.ModelSerializer[CatalogChange]):
    """One thing that changed, who did it, and whether it breaks something."""

    datasource = serializers.CharField(source="datasource.name")
    run_id = serializers.UUIDField(allow_null=True)

    class Meta:
        model = CatalogChange
        fields = (
            "id", "datasource", "run_id", "kind", "schema", "table", "name", "before", "after",
            "breaking", "reason", "actor", "version", "created_at",
        )  # fmt: skip


class ChangeFilter(django_filters.FilterSet):
    datasource = django_filters.CharFilter("datasource__name")
    run = django_filters.UUIDFilter("run_id")
    kind = django_filters.MultipleChoiceFilter(choices=CatalogChange.Kind.choices)
    schema = django_filters.CharFilter()
    table = django_filters.CharFilter()
    breaking = django_filters.BooleanFilter()
    since = django_filters.IsoDateTimeFilter("created_at", "gte")

    class Meta:
        model = CatalogChange
        fields = ()


class ChangesResource(Listed, Resource):
    """The history of the catalog, newest first."""

    http_method_names = ["get", "head"]
    serializer_class = ChangeSerializer
    filterset_class = ChangeFilter
    ordering = ("-created_at",)

    def get_queryset(self) -> QuerySet[CatalogChange]:
        return CatalogChange.objects.select_related("datasource")


def _validated(kind: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    serializer = kind(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
