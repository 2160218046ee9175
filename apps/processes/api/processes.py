"""Processes that run or ran, for programs."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.cases import selectors as cases
from apps.processes import selectors, services
from apps.processes.api.fields import WHO_DEFINES, WHO_LEADS, validated
from apps.processes.models import ProcessDefinition, ProcessInstance
from axiom.api.views import Listed, Made, Resource, Shown


class ProcessSerializer(serializers.ModelSerializer[ProcessInstance]):
    definition_id = serializers.UUIDField(source="version.definition_id")
    definition_key = serializers.CharField(source="version.definition.key")
    version = serializers.IntegerField(source="version.number")
    case_id = serializers.UUIDField(allow_null=True)
    stands_at = serializers.ListField(
        child=serializers.CharField(), help_text="The elements of the diagram where it is."
    )

    class Meta:
        model = ProcessInstance
        fields = (
            "id", "definition_id", "definition_key", "version", "case_id", "title", "status",
            "stands_at", "problem", "reason", "end_event", "started_by", "started_at", "ended_at",
        )  # fmt: skip


class ProcessInFullSerializer(ProcessSerializer):
    variables = serializers.DictField()
    been_at = serializers.ListField(
        child=serializers.CharField(), help_text="The elements of the diagram that were passed."
    )

    class Meta(ProcessSerializer.Meta):
        fields = (*ProcessSerializer.Meta.fields, "variables", "been_at")  # type: ignore[assignment]


class ProcessStartSerializer(serializers.Serializer[Any]):
    definition: Any = serializers.PrimaryKeyRelatedField(queryset=ProcessDefinition.objects)
    case_id = serializers.UUIDField(required=False, allow_null=True, default=None)
    title = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    variables = serializers.DictField(required=False, default=dict)

    def validate_case_id(self, value: Any) -> Any:
        if value is not None and cases.find_case(value) is None:
            raise serializers.ValidationError(_("There is no such case."))
        return value


class TerminationSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2000)


class ResumeSerializer(serializers.Serializer[Any]):
    variables = serializers.DictField(
        required=False, default=dict, help_text="Values that were missing or wrong."
    )


class StandingSerializer(serializers.Serializer[Any]):
    """A diagram, and where a process stands in it."""

    bpmn = serializers.CharField()
    stands_at = serializers.ListField(child=serializers.CharField())
    been_at = serializers.ListField(child=serializers.CharField())


class ProcessFilter(django_filters.FilterSet):
    status = django_filters.ChoiceFilter(choices=ProcessInstance.Status.choices)
    case = django_filters.UUIDFilter("case_id")
    definition = django_filters.UUIDFilter("version__definition_id")

    class Meta:
        model = ProcessInstance
        fields = ()


class ProcessesResource(Listed, Shown, Made, Resource):
    """Processes: started on the newest published version, moved by work that is done."""

    http_method_names = ["get", "head", "post"]
    may = {"terminate": WHO_LEADS, "resume": WHO_DEFINES}
    serializer_class = ProcessInFullSerializer
    input_serializer_class = ProcessStartSerializer
    filterset_class = ProcessFilter
    ordering_fields = ("started_at", "title")

    def get_queryset(self) -> QuerySet[ProcessInstance]:
        return selectors.processes()

    def get_serializer_class(self) -> Any:
        return ProcessSerializer if self.action == "list" else super().get_serializer_class()

    def make(self, data: dict[str, Any]) -> ProcessInstance:
        return services.start_process(**data, by=self.request.user)

    @extend_schema(request=TerminationSerializer, responses=ProcessInFullSerializer)
    @action(detail=True, methods=["post"])
    def terminate(self, request: Request, pk: str) -> Response:
        """Stop it before its end; open work is cancelled."""
        instance, given = self.get_object(), validated(TerminationSerializer, request)
        return self.answer(services.terminate_process(instance=instance, **given))

    @extend_schema(request=ResumeSerializer, responses=ProcessInFullSerializer)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Let a stuck one try again, with the values it was missing."""
        instance, given = self.get_object(), validated(ResumeSerializer, request)
        return self.answer(services.resume_process(instance=instance, **given))

    @extend_schema(responses=StandingSerializer)
    @action(detail=True)
    def diagram(self, request: Request, pk: str) -> Response:
        """The diagram of its version, and where it stands in it."""
        return Response(StandingSerializer(selectors.standing_of(self.get_object())).data)
