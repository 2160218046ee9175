"""A tenant's own escalation, for programs."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from apps.watch.models import EscalationStep
from apps.watch.models.subscriptions import Channel
from apps.watch.services.change_policy import remove_step, save_step
from axiom.api.views import FullResource
from axiom.roles import ADMINS


class EscalationStepSerializer(serializers.ModelSerializer[EscalationStep]):
    level = serializers.IntegerField(min_value=1, max_value=9)
    after_minutes = serializers.IntegerField(
        min_value=1, max_value=60 * 24 * 30,
        help_text="Counted from the alert, or from the level before this one.",
    )  # fmt: skip
    channels = serializers.ListField(
        child=serializers.ChoiceField(choices=Channel.choices), min_length=1
    )

    class Meta:
        model = EscalationStep
        fields = (
            "id", "severity", "level", "after_minutes", "audience", "channels", "is_active",
        )  # fmt: skip
        read_only_fields = ("id",)


class EscalationStepsResource(FullResource):
    """Steps of escalation that take the place of the installation's, by severity."""

    serializer_class = EscalationStepSerializer
    filterset_fields = ("severity",)
    ordering_fields = ("level",)
    may_write = ADMINS

    def get_queryset(self) -> QuerySet[EscalationStep]:
        steps: QuerySet[EscalationStep] = EscalationStep.objects.order_by("severity", "level")
        return steps

    def make(self, data: dict[str, Any]) -> EscalationStep:
        return save_step(**data)

    def change(self, row: EscalationStep, data: dict[str, Any]) -> EscalationStep:
        return save_step(step=row, **data)

    def remove(self, row: EscalationStep) -> None:
        remove_step(step=row)
