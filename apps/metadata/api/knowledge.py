"""The glossary, and snapshots of the catalog."""

from typing import Any

import django_filters
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from apps.metadata import services
from apps.metadata.api.sources import PendingSerializer
from apps.metadata.diff import Change
from apps.metadata.keepers import KEEPERS
from apps.metadata.models import DataSource, GlossaryTerm, Snapshot
from apps.metadata.services.store import plain
from axiom.api.views import FullResource, Listed, Made, Resource, Shown


def datasource_called(name: str) -> DataSource:
    """The tenant's data source of this name, which a body speaks of."""
    found: DataSource | None = DataSource.objects.filter(name=name).first()
    if found is None:
        raise serializers.ValidationError({"datasource": [_("No data source is called that.")]})
    return found


class TermSerializer(serializers.ModelSerializer[GlossaryTerm]):
    """A term and what it means."""

    datasource = serializers.CharField(source="datasource.name")

    class Meta:
        model = GlossaryTerm
        fields = (
            "id", "datasource", "term", "definition", "synonyms", "related_columns", "updated_at",
        )  # fmt: skip


class TermFactsSerializer(serializers.Serializer[Any]):
    """What PATCH takes."""

    definition = serializers.CharField(max_length=10_000)
    synonyms = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, max_length=100
    )
    related_columns = serializers.ListField(
        child=serializers.CharField(max_length=600), required=False, max_length=500
    )


class NewTermSerializer(TermFactsSerializer):
    """What POST takes; a term that is defined already is redefined."""

    datasource = serializers.CharField()
    term = serializers.CharField(max_length=200)


class TermFilter(django_filters.FilterSet):
    datasource = django_filters.CharFilter("datasource__name")
    q = django_filters.CharFilter(method="search", help_text="Part of a term or its definition.")

    class Meta:
        model = GlossaryTerm
        fields = ()

    def search(self, terms: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        return terms.filter(
            Q(term__icontains=value) | Q(definition__icontains=value) | Q(synonyms__icontains=value)
        )


class GlossaryResource(FullResource):
    """The words of the business."""

    http_method_names = ["get", "head", "post", "patch", "delete"]
    serializer_class = TermSerializer
    input_serializer_class = NewTermSerializer
    change_serializer_class = TermFactsSerializer
    filterset_class = TermFilter
    ordering = ("term",)
    ordering_fields = ("term", "updated_at")
    lookup_value_converter = "uuid"

    def get_queryset(self) -> QuerySet[GlossaryTerm]:
        return GlossaryTerm.objects.select_related("datasource")

    def make(self, data: dict[str, Any]) -> GlossaryTerm:
        datasource = datasource_called(data.pop("datasource"))
        return services.define_term(datasource=datasource, **data)

    def change(self, row: GlossaryTerm, data: dict[str, Any]) -> GlossaryTerm:
        known = {
            "definition": row.definition,
            "synonyms": row.synonyms,
            "related_columns": row.related_columns,
        }
        return services.define_term(datasource=row.datasource, term=row.term, **(known | data))

    def remove(self, row: GlossaryTerm) -> None:
        services.delete_term(term=row)


class SnapshotSerializer(serializers.ModelSerializer[Snapshot]):
    """A state of the catalog that was kept."""

    datasource = serializers.CharField(source="datasource.name")

    class Meta:
        model = Snapshot
        fields = (
            "id", "datasource", "label", "version", "tables_count", "columns_count", "created_by",
            "created_at",
        )  # fmt: skip


class NewSnapshotSerializer(serializers.Serializer[Any]):
    datasource = serializers.CharField()
    label = serializers.CharField(  # type: ignore[assignment]
        required=False, allow_blank=True, default="", max_length=200
    )


class CompareQuery(serializers.Serializer[Any]):
    to = serializers.UUIDField(
        required=False, default=None, help_text="Another snapshot; the state of now, if none."
    )


class SnapshotFilter(django_filters.FilterSet):
    datasource = django_filters.CharFilter("datasource__name")

    class Meta:
        model = Snapshot
        fields = ()


class SnapshotsResource(Listed, Shown, Made, Resource):
    """States of the catalog: kept, compared and restored."""

    http_method_names = ["get", "head", "post"]
    may = {"restore": KEEPERS}
    serializer_class = SnapshotSerializer
    input_serializer_class = NewSnapshotSerializer
    filterset_class = SnapshotFilter
    ordering = ("-created_at",)
    ordering_fields = ("created_at",)
    lookup_value_converter = "uuid"

    def get_queryset(self) -> QuerySet[Snapshot]:
        return Snapshot.objects.select_related("datasource")

    def make(self, data: dict[str, Any]) -> Snapshot:
        datasource = datasource_called(data.pop("datasource"))
        return services.create_snapshot(datasource=datasource, **data)

    @extend_schema(parameters=[CompareQuery], responses=PendingSerializer(many=True))
    @action(detail=True, pagination_class=None, filterset_class=None)
    def compare(self, request: Request, pk: str) -> Response:
        """What changed from it to another snapshot, or until now."""
        query = CompareQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        return _told(self._changes(self.get_object(), query.validated_data["to"]))

    def _changes(self, snapshot: Snapshot, to: Any) -> list[Change]:
        if to is None:
            return services.compare_with_now(snapshot=snapshot)
        other = get_object_or_404(Snapshot.objects.all(), pk=to)
        return services.compare_snapshots(old=snapshot, new=other)

    @extend_schema(request=None, responses=PendingSerializer(many=True))
    @action(detail=True, methods=["post"], pagination_class=None, filterset_class=None)
    def restore(self, request: Request, pk: str) -> Response:
        """Make the catalog what it was then; the answer is what that changed."""
        return _told(services.restore_snapshot(snapshot=self.get_object()))


def _told(changes: list[Change]) -> Response:
    rows = [
        {"kind": each.kind, "schema": each.schema, "table": each.table, "name": each.name,
         "before": plain(each.before), "after": plain(each.after), "breaking": each.breaking,
         "reason": each.reason}
        for each in changes
    ]  # fmt: skip
    return Response(PendingSerializer(rows, many=True).data)
