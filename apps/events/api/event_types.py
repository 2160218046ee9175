"""What can happen, for programs: the catalog with schemas and examples."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.events import catalog, selectors
from apps.events.catalog import Event
from apps.events.errors import UnknownEventType
from apps.events.keys import Stream
from axiom.api.views import Resource, Shown

Kind = type[Event]  # Below, `type` is a field.
_STREAMS = [str(stream) for stream in Stream]


class EventTypeSerializer(serializers.Serializer[Any]):
    type = serializers.CharField()
    label = serializers.CharField(  # type: ignore[assignment]
        help_text="A few words, in your language."
    )
    description = serializers.CharField(
        source="happening", help_text="What happened, in one sentence of your language."
    )
    stream = serializers.ChoiceField(choices=_STREAMS)
    aggregate = serializers.CharField(help_text="What it happened to.")
    version = serializers.IntegerField(min_value=1)
    aliases = serializers.ListField(
        child=serializers.CharField(), help_text="Other names that are accepted for it."
    )
    consumers = serializers.SerializerMethodField(help_text="The groups that react to it.")

    def get_consumers(self, kind: Kind) -> list[str]:
        return [group.name for group in selectors.groups_that_read(kind)]


class EventTypeInFullSerializer(EventTypeSerializer):
    key = serializers.CharField(help_text="The field that names the aggregate.")
    envelope = serializers.SerializerMethodField(help_text="Fields that travel beside the payload.")
    versions = serializers.SerializerMethodField(
        help_text="Versions that may still be found in old events; readers get the newest."
    )
    schema = serializers.DictField(
        source="payload_schema", help_text="The JSON Schema of the payload."
    )
    example = serializers.DictField()

    def get_envelope(self, kind: Kind) -> list[str]:
        return sorted(kind.envelope_fields)

    def get_versions(self, kind: Kind) -> list[int]:
        return list(range(1, kind.version + 1))


class EventTypeQuery(serializers.Serializer[Any]):
    q = serializers.CharField(
        required=False, allow_blank=True, help_text="Part of a name, an alias or a label."
    )
    stream = serializers.ChoiceField(choices=_STREAMS, required=False)


@extend_schema_serializer(many=False)
class EventTypeList(serializers.Serializer[Any]):
    """As lists of rows are answered, but always in one page."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = EventTypeSerializer(many=True)


class EventTypesResource(Shown, Resource):
    """Every event type that is declared. An alias finds its type as well."""

    http_method_names = ["get", "head"]
    serializer_class = EventTypeInFullSerializer
    pagination_class = None
    filter_backends: list[Any] = []
    lookup_url_kwarg = "name"
    lookup_value_regex = "[^/]+"

    @extend_schema(parameters=[EventTypeQuery], responses=EventTypeList)
    def list(self, request: Request) -> Response:
        query = EventTypeQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        found = selectors.find_event_types(**query.validated_data)
        results = EventTypeSerializer(found, many=True).data
        return Response({"next": None, "previous": None, "results": results})

    def get_object(self) -> Kind:
        try:
            return catalog.event_class_of(self.kwargs["name"])
        except UnknownEventType:
            raise Http404 from None
