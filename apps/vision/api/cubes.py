"""Cubes, for programs."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.vision import mondrian, selectors, services
from apps.vision.models import Cube
from axiom.api.checked import (
    CHECKED_FIELDS,
    CheckedSerializer,
    CheckReportSerializer,
    SourceInput,
    shown,
)
from axiom.api.views import FullResource
from axiom.references import Status
from axiom.roles import ADMINS, Role

MAY_MODEL = ADMINS | {Role.MANAGER, Role.ANALYST, Role.ENGINEER}


@extend_schema_field({"type": "object", "additionalProperties": True})
class DefinitionField(serializers.JSONField):
    """The fact table, dimensions with their levels, and measures; see docs/api.md."""


class CubeSerializer(CheckedSerializer):
    definition = DefinitionField()

    class Meta:
        model = Cube
        fields = (
            "id", "datasource_name", "name", "caption", "description", "definition",
            *CHECKED_FIELDS, "created_by", "created_at",
        )  # fmt: skip
        read_only_fields = ("created_by", "created_at")


class MondrianInput(serializers.Serializer[Any]):
    datasource_name = serializers.CharField(max_length=200)
    xml = serializers.CharField(
        max_length=mondrian.LARGEST, trim_whitespace=False, help_text="A Mondrian 3 schema."
    )
    default_schema = serializers.CharField(
        max_length=200, default="public", help_text="Of tables that name no schema."
    )


class ImportedSerializer(serializers.Serializer[Any]):
    cubes = CubeSerializer(many=True)


class CubeFilter(django_filters.FilterSet):
    datasource_name = django_filters.CharFilter()
    status = django_filters.ChoiceFilter(choices=Status.choices)
    name = django_filters.CharFilter()

    class Meta:
        model = Cube
        fields = ()


class CubesResource(FullResource):
    """Cubes and whether the tables and columns they use are there."""

    may_write = MAY_MODEL
    serializer_class = CubeSerializer
    filterset_class = CubeFilter
    ordering = ("name",)
    ordering_fields = ("name", "created_at")

    def get_queryset(self) -> QuerySet[Cube]:
        return selectors.cubes()

    def make(self, data: dict[str, Any]) -> Cube:
        return services.define_cube(**data)

    def change(self, row: Cube, data: dict[str, Any]) -> Cube:
        return services.change_cube(row, **data)

    def remove(self, row: Cube) -> None:
        services.remove_cube(row)

    @extend_schema(request=SourceInput, responses=CheckReportSerializer)
    @action(detail=False, methods=["post"], filterset_class=None, pagination_class=None)
    def validate(self, request: Request) -> Response:
        """Hold all cubes against the catalog as it is, whatever was missed."""
        wanted = SourceInput(data=request.data)
        wanted.is_valid(raise_exception=True)
        name = wanted.validated_data["datasource_name"]
        return Response(shown(services.validate_cubes(name) if name else services.validate_all()))

    @extend_schema(request=MondrianInput, responses={201: ImportedSerializer})
    @action(detail=False, methods=["post"], url_path="import", filterset_class=None,
            pagination_class=None)  # fmt: skip
    def take_in(self, request: Request) -> Response:
        """Define every cube of a Mondrian schema, or none; those of the same name are replaced."""
        given = MondrianInput(data=request.data)
        given.is_valid(raise_exception=True)
        cubes = services.import_mondrian(**given.validated_data)
        return Response({"cubes": CubeSerializer(cubes, many=True).data}, status=201)
