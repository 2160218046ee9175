"""What happened to an event, for programs."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from apps.events import selectors
from apps.events.keys import Stream
from apps.events.models import OutboxStatus
from axiom.api.views import Resource

from .scope import PlatformOrRole, scope_of

FOUND_AS = ["event", "trace", "aggregate", ""]
LAST_NUMBER = 2**63 - 1


class EventToldSerializer(serializers.Serializer[Any]):
    """One of the events that the journey is about."""

    event_id = serializers.UUIDField()
    event_type = serializers.CharField()
    stream = serializers.CharField(help_text=f"Such as {Stream.EVENTS}.")
    aggregate_type = serializers.CharField()
    aggregate_id = serializers.CharField()
    tenant_id = serializers.UUIDField(allow_null=True)
    trace_id = serializers.CharField()
    status = serializers.ChoiceField(
        choices=[*OutboxStatus.values, ""],
        help_text="Of its row in the outbox; empty once that is gone.",
    )
    found_as = serializers.ChoiceField(
        choices=FOUND_AS, help_text="What the id is of this event; empty: one of these caused it."
    )
    actor = serializers.CharField()
    causation_id = serializers.UUIDField(allow_null=True, help_text="The event that caused it.")
    replaces_id = serializers.UUIDField(allow_null=True, help_text="The event it is a copy of.")


class StepSerializer(serializers.Serializer[Any]):
    """One thing that happened, or is awaited."""

    at = serializers.DateTimeField(
        allow_null=True, help_text="Null: nobody knows when. In the future: when it is due."
    )
    kind = serializers.ChoiceField(choices=selectors.Kind.values)
    event_id = serializers.UUIDField(allow_null=True)
    event_type = serializers.CharField()
    group = serializers.CharField(help_text="The consumer group, or relay.")
    text = serializers.CharField()
    by = serializers.CharField(help_text="The worker or the person.")
    attempt = serializers.IntegerField(allow_null=True)
    letter_id = serializers.UUIDField(
        allow_null=True, help_text="The dead letter, if there is one."
    )


class JourneySerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    cut = serializers.BooleanField(help_text="More happened than is told here.")
    next = serializers.URLField(
        allow_null=True, help_text="The next events of the trace or aggregate."
    )
    payload = serializers.CharField(
        allow_null=True, help_text="JSON text, when the id is that of an event."
    )
    events = EventToldSerializer(many=True)
    steps = StepSerializer(many=True, help_text="The first first; what is awaited stands last.")


class JourneyQuery(serializers.Serializer[Any]):
    after = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=LAST_NUMBER,
        help_text="Where the page begins: see `next`.",
    )  # fmt: skip


class JourneyResource(Resource):
    """Everything that happened to an event, in a trace, or to an aggregate, in order."""

    http_method_names = ["get", "head"]
    permission_classes = [PlatformOrRole]
    serializer_class = JourneySerializer
    pagination_class = None
    filter_backends: list[Any] = []
    lookup_url_kwarg = "id"
    lookup_value_regex = "[^/]+"

    @extend_schema(parameters=[JourneyQuery])
    def retrieve(self, request: Request, id: str) -> Response:
        query = JourneyQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        told = selectors.journey_of(id, tenant_id=scope_of(request), **query.validated_data)
        if told is None:
            raise Http404
        return Response(JourneySerializer(_page(told, request)).data)


def _page(told: selectors.Journey, request: Request) -> dict[str, Any]:
    url = request.build_absolute_uri()
    return {
        "id": told.id, "cut": told.cut, "payload": told.payload, "events": told.events,
        "steps": told.steps,
        "next": replace_query_param(url, "after", told.next_after) if told.next_after else None,
    }  # fmt: skip
