"""Who is affected by a change of a table or a column."""

from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.metadata import selectors
from apps.metadata.models import ExtractionRun
from apps.metadata.selectors.impact import Affected
from axiom.api.views import ApiView


class AffectedSerializer(serializers.Serializer[Any]):
    """Something that depends on a table or a column."""

    kind = serializers.CharField()
    id = serializers.CharField()
    name = serializers.CharField()
    how = serializers.CharField()


class ImpactQuery(serializers.Serializer[Any]):
    """A table, a column of it, or what a held run would change."""

    datasource = serializers.CharField(required=False)
    schema = serializers.CharField(required=False)
    table = serializers.CharField(required=False)
    column = serializers.CharField(required=False, default=None, allow_null=True)
    run = serializers.UUIDField(
        required=False, default=None, help_text="A run that waits for approval; instead of a table."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        missing = [name for name in ("datasource", "schema", "table") if name not in attrs]
        if missing and attrs["run"] is None:
            said = _("Name a table, or a run that waits for approval.")
            raise serializers.ValidationError({name: [said] for name in missing})
        return attrs


class ImpactView(ApiView, APIView):
    """Who is affected when a table, or one column of it, changes or goes."""

    http_method_names = ["get", "head"]

    @extend_schema(parameters=[ImpactQuery], responses=AffectedSerializer(many=True))
    def get(self, request: Request) -> Response:
        query = ImpactQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        return Response(AffectedSerializer(_affected(**query.validated_data), many=True).data)


def _affected(
    run: UUID | None, column: str | None, datasource: str = "", schema: str = "", table: str = ""
) -> list[Affected]:
    if run is not None:
        found = ExtractionRun.objects.filter(pk=run).first()
        if found is None:
            raise serializers.ValidationError({"run": [_("There is no such run.")]})
        return selectors.affected_by_run(found)
    return selectors.impact.affected_by(datasource, [(schema, table, column)])
