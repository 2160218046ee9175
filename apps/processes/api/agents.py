"""What people tell agents, for programs: the agents read it here."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from apps.processes import services
from apps.processes.api.fields import WHO_DEFINES
from apps.processes.models import AgentFeedback, AgentKnowledge, WorkItem
from axiom.api.views import Listed, Made, Resource, Shown


class FeedbackSerializer(serializers.ModelSerializer[AgentFeedback]):
    work_item_id = serializers.UUIDField()

    class Meta:
        model = AgentFeedback
        fields = ("id", "work_item_id", "agent", "verdict", "text", "given_by", "created_at")


class NewFeedbackSerializer(serializers.Serializer[Any]):
    work_item: Any = serializers.PrimaryKeyRelatedField(queryset=WorkItem.objects)
    verdict = serializers.ChoiceField(choices=AgentFeedback.Verdict.choices)
    text = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")
    lesson = serializers.CharField(
        max_length=2000, required=False, allow_blank=True, default="",
        help_text="What the agent shall know from now on.",
    )  # fmt: skip


class FeedbackResource(Listed, Shown, Made, Resource):
    """What people think of agents' results. Approving and rejecting adds to it by itself."""

    http_method_names = ["get", "head", "post"]
    serializer_class = FeedbackSerializer
    input_serializer_class = NewFeedbackSerializer
    filterset_fields = ("agent", "verdict", "work_item")
    ordering_fields = ("created_at",)

    def get_queryset(self) -> QuerySet[AgentFeedback]:
        return AgentFeedback.objects.all()

    def make(self, data: dict[str, Any]) -> AgentFeedback:
        return services.give_feedback(item=data.pop("work_item"), by=self.request.user, **data)


class KnowledgeSerializer(serializers.ModelSerializer[AgentKnowledge]):
    feedback_id = serializers.UUIDField(allow_null=True)

    class Meta:
        model = AgentKnowledge
        fields = ("id", "agent", "summary", "source", "feedback_id", "added_by", "created_at")


class LessonSerializer(serializers.Serializer[Any]):
    agent = serializers.CharField(max_length=100)
    summary = serializers.CharField(max_length=2000)


class KnowledgeResource(Listed, Shown, Made, Resource):
    """What agents shall know, from feedback and by hand."""

    http_method_names = ["get", "head", "post"]
    may_write = WHO_DEFINES
    serializer_class = KnowledgeSerializer
    input_serializer_class = LessonSerializer
    filterset_fields = ("agent", "source")
    ordering_fields = ("created_at",)

    def get_queryset(self) -> QuerySet[AgentKnowledge]:
        return AgentKnowledge.objects.all()

    def make(self, data: dict[str, Any]) -> AgentKnowledge:
        return services.teach(**data, by=self.request.user)
