"""What there is to do, for programs and the people behind them."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.processes import selectors, services
from apps.processes.api.fields import AssigneeSerializer, doer_of, validated
from apps.processes.models import WorkItem, WorkItemStep
from axiom.api.views import Listed, Resource, Shown
from axiom.roles import Role


class WorkItemSerializer(serializers.ModelSerializer[WorkItem]):
    process_id = serializers.UUIDField(source="instance_id")
    process_title = serializers.CharField(source="instance.title")
    case_id = serializers.UUIDField(source="instance.case_id", allow_null=True)
    assignee = AssigneeSerializer(allow_null=True)

    class Meta:
        model = WorkItem
        fields = (
            "id", "process_id", "process_title", "case_id", "activity_id", "activity_name",
            "performer", "assignee", "role", "agent", "service", "status", "attempt", "due_at",
            "confidence", "threshold", "submitted_by", "created_at", "started_at",
            "submitted_at", "ended_at",
        )  # fmt: skip


class WorkItemStepSerializer(serializers.ModelSerializer[WorkItemStep]):
    class Meta:
        model = WorkItemStep
        fields = ("kind", "actor", "note", "at")


class WorkItemInFullSerializer(WorkItemSerializer):
    result = serializers.DictField()
    steps = WorkItemStepSerializer(many=True, help_text="What was done with it, the first first.")

    class Meta(WorkItemSerializer.Meta):
        fields = (  # type: ignore[assignment]
            *WorkItemSerializer.Meta.fields, "always_approved", "approver_role", "result", "steps",
        )  # fmt: skip


class WorkItemResultSerializer(serializers.Serializer[Any]):
    result = serializers.DictField(
        required=False, default=dict, help_text="Becomes part of the process's variables."
    )
    confidence = serializers.FloatField(
        required=False, allow_null=True, default=None, min_value=0, max_value=1,
        help_text="How sure a machine is.",
    )  # fmt: skip


class WorkItemApprovalSerializer(serializers.Serializer[Any]):
    result = serializers.DictField(
        required=False, allow_null=True, default=None, help_text="The corrected result, if it is."
    )
    comment = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")
    lesson = serializers.CharField(
        max_length=2000, required=False, allow_blank=True, default="",
        help_text="What the agent shall know from now on.",
    )  # fmt: skip


class WorkItemRejectionSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2000)
    lesson = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")
    do_it_myself = serializers.BooleanField(
        required=False, default=False, help_text="Otherwise who did it does it again."
    )


class WorkItemDelegationSerializer(serializers.Serializer[Any]):
    to = serializers.UUIDField(help_text="A member of this tenant who is no viewer.")
    note = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")


class WorkItemFilter(django_filters.FilterSet):
    status = django_filters.MultipleChoiceFilter(choices=WorkItem.Status.choices)
    mine = django_filters.BooleanFilter(
        method="for_me", help_text="What you can do or approve now: assigned, or of your role."
    )
    overdue = django_filters.BooleanFilter(method="past_due")
    assignee = django_filters.UUIDFilter("assignee_id")
    performer = django_filters.ChoiceFilter(choices=WorkItem.Performer.choices)
    role = django_filters.ChoiceFilter(choices=Role.choices)
    agent = django_filters.CharFilter()
    process = django_filters.UUIDFilter("instance_id")
    case = django_filters.UUIDFilter("instance__case_id")
    due_before = django_filters.IsoDateTimeFilter("due_at", "lt")

    class Meta:
        model = WorkItem
        fields = ()

    def for_me(self, items: QuerySet[WorkItem], name: str, value: bool) -> QuerySet[WorkItem]:
        return items.filter(selectors.is_for(doer_of(self.request))) if value else items

    def past_due(self, items: QuerySet[WorkItem], name: str, value: bool) -> QuerySet[WorkItem]:
        late = selectors.is_overdue(timezone.now())
        return items.filter(late) if value else items.exclude(late)


class WorkItemsResource(Listed, Shown, Resource):
    """Work for people and machines. Done twice is 409, done by the wrong person 403."""

    http_method_names = ["get", "head", "post"]
    serializer_class = WorkItemInFullSerializer
    filterset_class = WorkItemFilter
    ordering_fields = ("created_at", "due_at")

    def get_queryset(self) -> QuerySet[WorkItem]:
        rows = selectors.work_items()
        return rows.defer("result") if self.action == "list" else rows

    def get_serializer_class(self) -> Any:
        return WorkItemSerializer if self.action == "list" else super().get_serializer_class()

    def _act(self, service: Any, kind: type[serializers.Serializer[Any]] | None = None) -> Response:
        item = self.get_object()
        given = validated(kind, self.request) if kind else {}
        return self.answer(service(item=item, by=doer_of(self.request), **given))

    @extend_schema(request=None, responses=WorkItemInFullSerializer)
    @action(detail=True, methods=["post"])
    def start(self, request: Request, pk: str) -> Response:
        """Take it into one's own hands."""
        return self._act(services.start_work)

    @extend_schema(request=WorkItemResultSerializer, responses=WorkItemInFullSerializer)
    @action(detail=True, methods=["post"])
    def submit(self, request: Request, pk: str) -> Response:
        """Hand in a result. Unless it needs approval, the work is done."""
        return self._act(services.submit_work, WorkItemResultSerializer)

    @extend_schema(request=WorkItemResultSerializer, responses=WorkItemInFullSerializer)
    @action(detail=True, methods=["post"])
    def complete(self, request: Request, pk: str) -> Response:
        """Finish work whose result needs no approval."""
        return self._act(services.complete_work, WorkItemResultSerializer)

    @extend_schema(request=WorkItemApprovalSerializer, responses=WorkItemInFullSerializer)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: str) -> Response:
        """Let a submitted result count, as it is or corrected."""
        return self._act(services.approve_work, WorkItemApprovalSerializer)

    @extend_schema(request=WorkItemRejectionSerializer, responses=WorkItemInFullSerializer)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: str) -> Response:
        """Refuse a submitted result; a new work item asks for it again."""
        return self._act(services.reject_work, WorkItemRejectionSerializer)

    @extend_schema(request=WorkItemDelegationSerializer, responses=WorkItemInFullSerializer)
    @action(detail=True, methods=["post"])
    def delegate(self, request: Request, pk: str) -> Response:
        """Give it, or its approval, to somebody else."""
        return self._act(services.delegate_work, WorkItemDelegationSerializer)
