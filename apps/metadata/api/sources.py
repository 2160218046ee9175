"""Data sources and the runs that read them."""

import math
from typing import Any
from uuid import UUID

import django_filters
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.cases import selectors as cases
from apps.metadata import selectors, services
from apps.metadata.api.impact import AffectedSerializer
from apps.metadata.keepers import KEEPERS
from apps.metadata.models import DataSource, Engine, ExtractionRun
from axiom.api.views import FullResource, Listed, Resource, Shown


class DataSourceSerializer(serializers.ModelSerializer[DataSource]):
    """A data source; whether it has a password is told, which one is not."""

    has_password = serializers.BooleanField()
    case_id = serializers.UUIDField(allow_null=True)

    class Meta:
        model = DataSource
        fields = (
            "id", "name", "title", "engine", "host", "port", "database", "username",
            "has_password", "ssl_mode", "schemas", "case_id", "tolerated_removals",
            "every_minutes", "next_run_at", "is_active", "tables_count", "columns_count",
            "last_extracted_at", "created_by", "created_at",
        )  # fmt: skip


class DataSourceFactsSerializer(serializers.ModelSerializer[DataSource]):
    """What PATCH takes: a name stays, because events and readers know the source by it."""

    password = serializers.CharField(
        write_only=True, required=False, allow_blank=True, max_length=1000, trim_whitespace=False
    )
    case_id = serializers.UUIDField(required=False, allow_null=True)
    tolerated_removals = serializers.FloatField(min_value=0, max_value=1, required=False)

    def validate_case_id(self, value: UUID | None) -> UUID | None:
        if value is not None and cases.find_case(value) is None:
            raise serializers.ValidationError(_("There is no such case."), code="invalid")
        return value

    def validate_tolerated_removals(self, value: float) -> float:
        if not math.isfinite(value):
            raise serializers.ValidationError(_("Give a number from 0 to 1."), code="invalid")
        return value

    class Meta:
        model = DataSource
        fields = (
            "title", "engine", "host", "port", "database", "username", "password", "ssl_mode",
            "schemas", "case_id", "tolerated_removals", "every_minutes", "is_active",
        )  # fmt: skip


class NewDataSourceSerializer(DataSourceFactsSerializer):
    """What POST takes."""

    class Meta(DataSourceFactsSerializer.Meta):
        fields = ("name", *DataSourceFactsSerializer.Meta.fields)  # type: ignore[assignment]


class RunSerializer(serializers.ModelSerializer[ExtractionRun]):
    """A reading of a data source, and how far it is."""

    datasource = serializers.CharField(source="datasource.name")

    class Meta:
        model = ExtractionRun
        fields = (
            "id", "datasource", "state", "step", "trigger", "done", "total", "tables_count",
            "columns_count", "added_count", "removed_count", "changed_count", "breaking_count",
            "error_code", "error", "held_because", "requested_by", "decided_by", "decided_at",
            "note", "created_at", "started_at", "finished_at",
        )  # fmt: skip


class PendingSerializer(serializers.Serializer[Any]):
    """A change that waits for approval."""

    kind = serializers.CharField()
    schema = serializers.CharField()
    table = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)
    breaking = serializers.BooleanField()
    reason = serializers.CharField()


class RunInFullSerializer(RunSerializer):
    """The same, with what would change if it is held."""

    pending = PendingSerializer(many=True)
    removals = serializers.ListField(child=serializers.CharField())

    class Meta(RunSerializer.Meta):
        fields = (*RunSerializer.Meta.fields, "pending", "removals")  # type: ignore[assignment]


class ConnectionSerializer(serializers.Serializer[Any]):
    server = serializers.CharField(help_text="What the database says it is.")


class DecisionSerializer(serializers.Serializer[Any]):
    note = serializers.CharField(required=False, allow_blank=True, default="", max_length=500)


class DataSourceFilter(django_filters.FilterSet):
    engine = django_filters.ChoiceFilter(choices=Engine.choices)
    is_active = django_filters.BooleanFilter()
    name = django_filters.CharFilter()

    class Meta:
        model = DataSource
        fields = ()


class DataSourcesResource(FullResource):
    """Databases whose structure is kept. Passwords go in and never come out."""

    http_method_names = ["get", "head", "post", "patch", "delete"]
    may_write = KEEPERS
    serializer_class = DataSourceSerializer
    input_serializer_class = NewDataSourceSerializer
    change_serializer_class = DataSourceFactsSerializer
    filterset_class = DataSourceFilter
    ordering = ("name",)
    ordering_fields = ("name", "created_at")
    lookup_value_converter = "uuid"

    def get_queryset(self) -> QuerySet[DataSource]:
        return DataSource.objects.all()

    def make(self, data: dict[str, Any]) -> DataSource:
        return services.add_datasource(**data)

    def change(self, row: DataSource, data: dict[str, Any]) -> DataSource:
        return services.change_datasource(datasource=row, **data)

    def remove(self, row: DataSource) -> None:
        services.remove_datasource(datasource=row)

    @extend_schema(request=None, responses=ConnectionSerializer)
    @action(detail=True, methods=["post"])
    def test(self, request: Request, pk: str) -> Response:
        """Try to connect, and say what the database says it is."""
        server = services.try_connection(datasource=self.get_object())
        return Response(ConnectionSerializer({"server": server}).data)

    @extend_schema(request=None, responses={202: RunSerializer})
    @action(detail=True, methods=["post"])
    def extract(self, request: Request, pk: str) -> Response:
        """Read it as soon as a worker is free; the answer is the run to follow."""
        run = services.request_extraction(datasource=self.get_object())
        return Response(RunSerializer(run).data, status=202)


class RunFilter(django_filters.FilterSet):
    datasource = django_filters.CharFilter("datasource__name")
    state = django_filters.ChoiceFilter(choices=ExtractionRun.State.choices)

    class Meta:
        model = ExtractionRun
        fields = ()


class RunsResource(Listed, Shown, Resource):
    """Readings of data sources: their progress, and what waits for approval."""

    http_method_names = ["get", "head", "post"]
    may_write = KEEPERS
    versioned = False
    serializer_class = RunInFullSerializer
    filterset_class = RunFilter
    ordering = ("-created_at",)
    ordering_fields = ("created_at",)
    lookup_value_converter = "uuid"

    def get_queryset(self) -> QuerySet[ExtractionRun]:
        runs = ExtractionRun.objects.select_related("datasource")
        return runs.defer("pending", "removals") if self.action == "list" else runs

    def get_serializer_class(self) -> Any:
        return RunSerializer if self.action == "list" else super().get_serializer_class()

    @extend_schema(request=DecisionSerializer, responses={202: RunSerializer})
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: str) -> Response:
        """Let the tables go that it found gone; the answer is the run that does it."""
        run, given = self.get_object(), _validated(request)
        return Response(RunSerializer(services.approve(run=run, **given)).data, status=202)

    @extend_schema(request=DecisionSerializer, responses=RunInFullSerializer)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: str) -> Response:
        """Keep the catalog as it is."""
        run, given = self.get_object(), _validated(request)
        return self.answer(services.reject(run=run, **given))

    @extend_schema(request=None, responses=RunInFullSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Stop it at its next step."""
        return self.answer(services.cancel(run=self.get_object()))

    @extend_schema(responses=AffectedSerializer(many=True))
    @action(detail=True, pagination_class=None, filterset_class=None)
    def impact(self, request: Request, pk: str) -> Response:
        """Who would be affected by what it would change."""
        found = selectors.affected_by_run(self.get_object())
        return Response(AffectedSerializer(found, many=True).data)


def _validated(request: Request) -> dict[str, Any]:
    serializer = DecisionSerializer(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
