"""Sending many dead letters again, for programs."""

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.events import selectors, services
from apps.events.models import Redrive
from apps.events.selectors.letters import MOST_SELECTED, LetterFilter
from axiom.api.views import Listed, Made, Resource, Shown

from .dead_letters import STREAMS, UUID_PATTERN, known_name
from .scope import PlatformOrRole, name_of, scope_of

FASTEST = 1_000


class ProgressSerializer(serializers.Serializer[Any]):
    """What became of the letters that were sent."""

    done = serializers.IntegerField()
    failed_again = serializers.IntegerField()
    waiting = serializers.IntegerField()


class RedriveSerializer(serializers.ModelSerializer[Redrive]):
    class Meta:
        model = Redrive
        fields = (
            "id", "tenant_id", "filters", "rate", "reason", "actor", "status", "total", "sent",
            "skipped", "stopped_by", "error", "created_at", "finished_at",
        )  # fmt: skip


class RedriveInFullSerializer(RedriveSerializer):
    progress = serializers.SerializerMethodField()

    class Meta(RedriveSerializer.Meta):
        fields = (*RedriveSerializer.Meta.fields, "progress")  # type: ignore[assignment]

    @extend_schema_field(ProgressSerializer)
    def get_progress(self, redrive: Redrive) -> Any:
        return ProgressSerializer(selectors.progress_of(redrive)).data


class StartSerializer(serializers.Serializer[Any]):
    """Which open letters, how fast, and why."""

    ids = serializers.ListField(
        child=serializers.UUIDField(), required=False, max_length=MOST_SELECTED
    )
    group = serializers.CharField(required=False)
    stream = serializers.ChoiceField(choices=STREAMS, required=False)
    fingerprint = serializers.CharField(required=False)
    event_type = serializers.CharField(required=False)
    tenant_id = serializers.UUIDField(required=False)
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False)
    everything = serializers.BooleanField(
        default=False, help_text="Without any of the above: yes, all that are open."
    )
    rate = serializers.IntegerField(default=50, min_value=1, max_value=FASTEST)
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2000)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        rate, reason = given.pop("rate"), given.pop("reason")
        everything = given.pop("everything")
        if "event_type" in given:
            given["event_type"] = known_name(given["event_type"])
        which = LetterFilter(**{**given, "ids": tuple(given.get("ids", ()))})
        if not which.as_json() and not everything:
            raise serializers.ValidationError(_("Say which letters, or `everything`."))
        return {"which": which, "rate": rate, "reason": reason}


class RedrivesResource(Listed, Shown, Made, Resource):
    """Redrives: letters sent again a few per second, until done or stopped."""

    http_method_names = ["get", "head", "post"]
    permission_classes = [PlatformOrRole]
    serializer_class = RedriveInFullSerializer
    input_serializer_class = StartSerializer
    filterset_fields = ("status",)
    lookup_value_regex = UUID_PATTERN

    def get_queryset(self) -> QuerySet[Redrive]:
        return selectors.redrives_of(scope_of(self.request))

    def get_serializer_class(self) -> Any:
        return RedriveSerializer if self.action == "list" else super().get_serializer_class()

    def make(self, data: dict[str, Any]) -> Redrive:
        scope = scope_of(self.request)
        return services.start_redrive(tenant_id=scope, by=name_of(self.request), **data)

    @extend_schema(request=None, responses=RedriveInFullSerializer)
    @action(detail=True, methods=["post"])
    def stop(self, request: Request, pk: str) -> Response:
        """Leave the letters that were not reached yet as they are."""
        return self.answer(services.stop_redrive(self.get_object(), by=name_of(request)))
