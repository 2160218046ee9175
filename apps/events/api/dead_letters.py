"""Dead letters, for programs: find them, understand them, and do something about them."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_serializer
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.events import catalog, selectors, services
from apps.events.errors import UnknownEventType
from apps.events.keys import Stream
from apps.events.models import DeadLetter, DeadLetterAct
from axiom.api.views import Listed, Resource, Shown

from .scope import PlatformOrRole, name_of, scope_of

UUID_PATTERN = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
STREAMS = [(str(stream), str(stream)) for stream in Stream]


class DeadLetterSerializer(serializers.ModelSerializer[DeadLetter]):
    class Meta:
        model = DeadLetter
        fields = (
            "id", "group", "stream", "entry_id", "event_id", "event_type", "aggregate_type",
            "aggregate_id", "tenant_id", "trace_id", "error_type", "error", "attempts",
            "fingerprint", "status", "replaced_by", "created_at",
        )  # fmt: skip


class ActSerializer(serializers.ModelSerializer[DeadLetterAct]):
    class Meta:
        model = DeadLetterAct
        fields = ("kind", "actor", "reason", "diff", "facts", "redrive_id", "at")


class SameEventSerializer(serializers.ModelSerializer[DeadLetter]):
    class Meta:
        model = DeadLetter
        fields = ("id", "status", "error", "created_at")


class DeadLetterInFullSerializer(DeadLetterSerializer):
    """With all that is needed to understand and repair it."""

    payload = serializers.SerializerMethodField(help_text="As it was published; null: unreadable.")
    draft = serializers.SerializerMethodField(
        help_text="The payload in its current version: what an edit begins with."
    )
    raw = serializers.SerializerMethodField(help_text="The bytes of an unreadable entry.")
    outcome = serializers.SerializerMethodField(
        help_text="What became of it since: waiting, done, dead, replaced, discarded, or empty."
    )
    history = serializers.SerializerMethodField(
        help_text="Every time this group gave up on this event, the first first."
    )
    acts = serializers.SerializerMethodField(help_text="What was done about it, the first first.")

    class Meta(DeadLetterSerializer.Meta):
        fields = (
            *DeadLetterSerializer.Meta.fields, "fields", "stack", "payload", "draft", "raw",
            "outcome", "history", "acts",
        )  # type: ignore[assignment]  # fmt: skip

    @extend_schema_field({"type": "object", "nullable": True, "additionalProperties": True})
    def get_payload(self, letter: DeadLetter) -> dict[str, Any] | None:
        return services.payload_of(letter)

    @extend_schema_field({"type": "object", "additionalProperties": True})
    def get_draft(self, letter: DeadLetter) -> dict[str, Any]:
        return services.draft(letter)

    def get_raw(self, letter: DeadLetter) -> str:
        return services.raw_text(letter)

    def get_outcome(self, letter: DeadLetter) -> str:
        return selectors.what_became_of(letter)

    @extend_schema_field(SameEventSerializer(many=True))
    def get_history(self, letter: DeadLetter) -> Any:
        return SameEventSerializer(selectors.letters_of_same_event(letter), many=True).data

    @extend_schema_field(ActSerializer(many=True))
    def get_acts(self, letter: DeadLetter) -> Any:
        return ActSerializer(letter.acts.order_by("id"), many=True).data


class DeadLetterFilter(django_filters.FilterSet):  # type: ignore[misc]
    status = django_filters.ChoiceFilter(choices=DeadLetter.Status.choices)
    stream = django_filters.ChoiceFilter(choices=STREAMS)
    group = django_filters.CharFilter()
    fingerprint = django_filters.CharFilter()
    event_type = django_filters.CharFilter(method="of_type", help_text="Aliases are accepted.")
    event_id = django_filters.UUIDFilter()
    trace_id = django_filters.CharFilter()
    aggregate_id = django_filters.CharFilter()
    tenant_id = django_filters.UUIDFilter()
    since = django_filters.IsoDateTimeFilter("created_at", "gte")
    until = django_filters.IsoDateTimeFilter("created_at", "lt")

    class Meta:
        model = DeadLetter
        fields = ()

    def of_type(self, letters: QuerySet[DeadLetter], name: str, value: str) -> Any:
        return letters.filter(event_type=known_name(value))


def known_name(event_type: str) -> str:
    """The type's own name for an alias; letters may be of types that are no longer declared."""
    try:
        return catalog.canonical(event_type)
    except UnknownEventType:
        return event_type


class ReasonSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2000)


class NeededReasonSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2000)


class EditSerializer(NeededReasonSerializer):
    payload = serializers.DictField()
    event_type = serializers.CharField(
        required=False, default="", help_text="For an unreadable entry: what it shall be."
    )
    tenant_id = serializers.UUIDField(
        required=False, default=None, help_text="For an unreadable entry: whose it shall be."
    )


class TrialSerializer(serializers.Serializer[Any]):
    payload = serializers.DictField(
        required=False, default=None, allow_null=True, help_text="An edit to try, if any."
    )


class PublishedSerializer(serializers.Serializer[Any]):
    event_type = serializers.CharField()
    aggregate_type = serializers.CharField()
    aggregate_id = serializers.CharField()
    payload = serializers.CharField(help_text="JSON text.")


class RehearsalSerializer(serializers.Serializer[Any]):
    """What would happen; nothing of it did."""

    outcome = serializers.ChoiceField(choices=["ok", "failed", "gave_up", "timed_out"])
    error_type = serializers.CharField()
    error = serializers.CharField()
    stack = serializers.CharField()
    queries = serializers.IntegerField()
    seconds = serializers.FloatField()
    published = PublishedSerializer(many=True, help_text="Events that it would publish.")
    diff = serializers.CharField(help_text="What the edit changes, as a unified diff.")


class KindSerializer(serializers.Serializer[Any]):
    fingerprint = serializers.CharField()
    group = serializers.CharField()
    count = serializers.IntegerField()
    first_seen = serializers.DateTimeField()
    last_seen = serializers.DateTimeField()
    tenants = serializers.IntegerField(help_text="How many tenants are hit.")
    sample = DeadLetterSerializer(help_text="The newest one.")
    hours = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="How many came in each of the last 24 hours, the current one last.",
    )


@extend_schema_serializer(many=False)
class KindList(serializers.Serializer[Any]):
    """The most frequent ones, in one page."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = KindSerializer(many=True)


class DeadLettersResource(Listed, Shown, Resource):
    """Events that were given up. Viewers look; the others send again, edit, try and discard."""

    http_method_names = ["get", "head", "post"]
    permission_classes = [PlatformOrRole]
    serializer_class = DeadLetterInFullSerializer
    filterset_class = DeadLetterFilter
    ordering_fields = ("created_at",)
    lookup_value_regex = UUID_PATTERN

    def get_queryset(self) -> QuerySet[DeadLetter]:
        return selectors.letters_of(scope_of(self.request))

    def get_serializer_class(self) -> Any:
        return DeadLetterSerializer if self.action == "list" else self.serializer_class

    @extend_schema(responses=KindList)
    @action(detail=False, pagination_class=None)
    def groups(self, request: Request) -> Response:
        """By fingerprint, the most frequent first: open ones, unless a status is asked for."""
        letters = self.filter_queryset(self.get_queryset())
        if not request.query_params.get("status"):
            letters = letters.filter(status=DeadLetter.Status.OPEN)
        kinds = KindSerializer(selectors.kinds_of_letters(letters), many=True).data
        return Response({"next": None, "previous": None, "results": kinds})

    @extend_schema(request=ReasonSerializer, responses=DeadLetterInFullSerializer)
    @action(detail=True, methods=["post"])
    def redrive(self, request: Request, pk: str) -> Response:
        """Send the event to the group again."""
        given = _validated(ReasonSerializer, request)
        return self.answer(services.redrive(self.get_object(), by=name_of(request), **given))

    @extend_schema(request=EditSerializer, responses=DeadLetterInFullSerializer)
    @action(detail=True, methods=["post"])
    def edit(self, request: Request, pk: str) -> Response:
        """Send an edited copy, under an id of its own, in its place."""
        letter, given = self.get_object(), _validated(EditSerializer, request)
        return self.answer(services.edit_and_redrive(letter, by=name_of(request), **given))

    @extend_schema(request=TrialSerializer, responses=RehearsalSerializer)
    @action(detail=True, methods=["post"], url_path="dry-run")
    def dry_run(self, request: Request, pk: str) -> Response:
        """Try the handler, with an edited payload if one is given, and undo all of it."""
        letter, given = self.get_object(), _validated(TrialSerializer, request)
        rehearsal = services.dry_run(letter, by=name_of(request), **given)
        return Response(RehearsalSerializer(rehearsal).data)

    @extend_schema(request=NeededReasonSerializer, responses=DeadLetterInFullSerializer)
    @action(detail=True, methods=["post"])
    def discard(self, request: Request, pk: str) -> Response:
        """Close it without handling its event."""
        letter, given = self.get_object(), _validated(NeededReasonSerializer, request)
        return self.answer(services.discard(letter, by=name_of(request), **given))


def _validated(kind: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    serializer = kind(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
