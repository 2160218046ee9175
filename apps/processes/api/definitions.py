"""Kinds of processes and their versions, for programs."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.processes import selectors, services
from apps.processes.api.fields import WHO_DEFINES
from apps.processes.api.sizes import TakesDiagrams
from apps.processes.models import ProcessDefinition, ProcessVersion, WorkItem
from axiom.api.views import Changed, FullResource, Listed, Made, Resource, Shown

BPMN = {"help_text": "BPMN 2.0 XML, at most 1 MB.", "trim_whitespace": False}


class DefinitionSerializer(serializers.ModelSerializer[ProcessDefinition]):
    published_version = serializers.IntegerField(
        allow_null=True, help_text="On which processes begin; none yet when null."
    )
    newest_version = serializers.IntegerField(help_text="Published or not.")

    class Meta:
        model = ProcessDefinition
        fields = (
            "id", "key", "name", "is_active", "published_version", "newest_version",
            "created_by", "created_at",
        )  # fmt: skip


class UploadSerializer(serializers.Serializer[Any]):
    bpmn = serializers.CharField(**BPMN)  # type: ignore[arg-type]
    name = serializers.CharField(
        max_length=200, required=False, allow_blank=True, default="",
        help_text="Otherwise the name in the diagram.",
    )  # fmt: skip
    note = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")


class DefinitionChangeSerializer(serializers.ModelSerializer[ProcessDefinition]):
    class Meta:
        model = ProcessDefinition
        fields = ("name", "is_active")


class DefinitionsResource(TakesDiagrams, Listed, Shown, Made, Changed, Resource):
    """Kinds of processes. The diagram of a new one becomes its first version, a draft."""

    http_method_names = ["get", "head", "post", "patch"]
    may_write = WHO_DEFINES
    serializer_class = DefinitionSerializer
    input_serializer_class = UploadSerializer
    change_serializer_class = DefinitionChangeSerializer
    filterset_fields = ("key", "is_active")
    ordering_fields = ("name", "created_at")

    def get_queryset(self) -> QuerySet[ProcessDefinition]:
        return selectors.definitions()

    def make(self, data: dict[str, Any]) -> ProcessDefinition:
        made = services.upload_definition(
            text=data["bpmn"], name=data["name"], note=data["note"], by=self.request.user
        )
        return self.get_queryset().get(pk=made.pk)

    def change(self, row: ProcessDefinition, data: dict[str, Any]) -> ProcessDefinition:
        kept = {"name": row.name, "is_active": row.is_active}
        return services.revise_definition(definition=row, **{**kept, **data})


class VersionSerializer(serializers.ModelSerializer[ProcessVersion]):
    definition_id = serializers.UUIDField()
    is_published = serializers.BooleanField()

    class Meta:
        model = ProcessVersion
        fields = (
            "id", "definition_id", "number", "note", "sha256", "is_published", "created_by",
            "created_at", "published_by", "published_at",
        )  # fmt: skip


class ActivitySerializer(serializers.Serializer[Any]):
    """A task of the diagram, and who does it."""

    id = serializers.CharField()
    name = serializers.CharField()
    performer = serializers.ChoiceField(choices=WorkItem.Performer.choices)
    assignee = serializers.CharField()
    role = serializers.CharField()
    agent = serializers.CharField()
    service = serializers.CharField()
    due = serializers.CharField()
    confidence = serializers.FloatField(allow_null=True)
    approval = serializers.CharField()
    approver = serializers.CharField()


class VersionInFullSerializer(VersionSerializer):
    activities = serializers.DictField(child=ActivitySerializer())

    class Meta(VersionSerializer.Meta):
        fields = (*VersionSerializer.Meta.fields, "activities", "bpmn")  # type: ignore[assignment]


class NewVersionSerializer(serializers.Serializer[Any]):
    definition: Any = serializers.PrimaryKeyRelatedField(queryset=ProcessDefinition.objects)
    bpmn = serializers.CharField(**BPMN)  # type: ignore[arg-type]
    note = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")


class DraftSerializer(serializers.Serializer[Any]):
    bpmn = serializers.CharField(**BPMN, required=False)  # type: ignore[arg-type]
    note = serializers.CharField(max_length=500, required=False, allow_blank=True)


class VersionsResource(TakesDiagrams, FullResource):
    """Diagrams of a kind of process. A draft may be changed; a published one never is."""

    http_method_names = ["get", "head", "post", "patch", "delete"]
    may_write = WHO_DEFINES
    serializer_class = VersionInFullSerializer
    input_serializer_class = NewVersionSerializer
    change_serializer_class = DraftSerializer
    filterset_fields = ("definition",)
    ordering_fields = ("created_at", "number")

    def get_queryset(self) -> QuerySet[ProcessVersion]:
        rows = ProcessVersion.objects.all()
        return rows.defer("bpmn", "activities") if self.action == "list" else rows

    def get_serializer_class(self) -> Any:
        return VersionSerializer if self.action == "list" else super().get_serializer_class()

    def make(self, data: dict[str, Any]) -> ProcessVersion:
        return services.add_version(
            definition=data["definition"],
            text=data["bpmn"],
            note=data["note"],
            by=self.request.user,
        )

    def change(self, row: ProcessVersion, data: dict[str, Any]) -> ProcessVersion:
        text, note = data.get("bpmn", row.bpmn), data.get("note", row.note)
        return services.revise_draft(version=row, text=text, note=note)

    def remove(self, row: ProcessVersion) -> None:
        services.discard_draft(version=row)

    @extend_schema(request=None, responses=VersionInFullSerializer)
    @action(detail=True, methods=["post"])
    def publish(self, request: Request, pk: str) -> Response:
        """Let processes begin on this version; those that run keep theirs."""
        return self.answer(services.publish_version(version=self.get_object(), by=request.user))
