"""The index of the catalog, for programs: search it, and bring it back to the truth."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.oracle import selectors, services
from axiom.api.checked import CheckReportSerializer, SourceInput, shown
from axiom.api.views import ApiView
from axiom.roles import ADMINS, Role

_KINDS = {"table": False, "column": True}


class SearchInput(serializers.Serializer[Any]):
    q = serializers.CharField(max_length=selectors.LONGEST_QUESTION)
    datasource_name = serializers.CharField(max_length=200, required=False)
    kind = serializers.ChoiceField(choices=list(_KINDS), required=False)
    limit = serializers.IntegerField(min_value=1, max_value=100, default=20)


class FoundSerializer(serializers.Serializer[Any]):
    datasource_name = serializers.CharField()
    schema_name = serializers.CharField()
    table_name = serializers.CharField()
    column_name = serializers.CharField(allow_blank=True, help_text="Empty for a table.")
    dtype = serializers.CharField(allow_blank=True)
    description = serializers.CharField(allow_blank=True)
    score = serializers.FloatField(help_text="The nearer, the higher.")


class FoundListSerializer(serializers.Serializer[Any]):
    results = FoundSerializer(many=True)


class SearchView(ApiView):
    """Tables and columns nearest to a question, in Korean or English, nearest first."""

    @extend_schema(parameters=[SearchInput], responses=FoundListSerializer)
    def get(self, request: Request) -> Response:
        asked = SearchInput(data=request.query_params)
        asked.is_valid(raise_exception=True)
        wanted = asked.validated_data
        found = selectors.search(
            wanted["q"],
            datasource_name=wanted.get("datasource_name"),
            columns=_KINDS.get(wanted.get("kind", "")),
            limit=wanted["limit"],
        )
        return Response(FoundListSerializer({"results": found}).data)


class ReindexInput(SourceInput):
    anew = serializers.BooleanField(
        default=False, help_text="Make every entry anew, also those that look right."
    )


class ReindexReportSerializer(serializers.Serializer[Any]):
    entries = serializers.IntegerField(help_text="How many tables and columns there are.")
    added = serializers.IntegerField()
    changed = serializers.IntegerField()
    removed = serializers.IntegerField()
    queries = CheckReportSerializer()


class ReindexView(ApiView):
    """Compares the index and the cached queries with the catalog, and mends what differs."""

    may_write = ADMINS | {Role.ENGINEER, Role.ANALYST, Role.MANAGER}

    @extend_schema(request=ReindexInput, responses=ReindexReportSerializer)
    def post(self, request: Request) -> Response:
        wanted = ReindexInput(data=request.data)
        wanted.is_valid(raise_exception=True)
        name = wanted.validated_data["datasource_name"] or None
        report = services.reindex(name, anew=wanted.validated_data["anew"])
        queries = shown(services.check_all_queries(name))
        return Response({**vars(report), "queries": queries})
