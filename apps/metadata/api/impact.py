"""Who is affected by a change of a table or a column."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.metadata import selectors
from axiom.api.views import ApiView


class AffectedSerializer(serializers.Serializer[Any]):
    """Something that depends on a table or a column."""

    kind = serializers.CharField()
    id = serializers.CharField()
    name = serializers.CharField()
    how = serializers.CharField()


class ImpactQuery(serializers.Serializer[Any]):
    datasource = serializers.CharField()
    schema = serializers.CharField()
    table = serializers.CharField()
    column = serializers.CharField(required=False, default=None, allow_null=True)


class ImpactView(ApiView, APIView):
    """Who is affected when a table, or one column of it, changes or goes."""

    http_method_names = ["get", "head"]

    @extend_schema(parameters=[ImpactQuery], responses=AffectedSerializer(many=True))
    def get(self, request: Request) -> Response:
        query = ImpactQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        given = query.validated_data
        target = given["schema"], given["table"], given["column"]
        found = selectors.impact.affected_by(given["datasource"], [target])
        return Response(AffectedSerializer(found, many=True).data)
