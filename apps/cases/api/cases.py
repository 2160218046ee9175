"""Cases: open, change, assign, move, close and reopen them."""

import math
from typing import Any

import django_filters
from django.db.models import Prefetch, Q, QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.cases import selectors, services
from apps.cases.api.people import ColleagueSerializer
from apps.cases.models import Case, CaseMember
from apps.cases.transitions import reachable_from
from axiom.api.views import Changed, Listed, Made, Resource, Shown

MOST_MEMBERS = 200


class CaseSerializer(serializers.ModelSerializer[Case]):
    """A case in a list."""

    manager = ColleagueSerializer(allow_null=True)

    class Meta:
        model = Case
        fields = (
            "id", "reference", "title", "kind", "status", "manager", "opened_at", "closed_at",
            "comment_count",
        )  # fmt: skip


class CaseInFullSerializer(serializers.ModelSerializer[Case]):
    """A case with all that is known about it.

    Without its count of comments, which is in the list and in the summary: the ETag would
    change with each comment, and who edits the case would be refused for nothing.
    """

    manager = ColleagueSerializer(allow_null=True)
    opened_by = ColleagueSerializer(allow_null=True)
    members = serializers.SerializerMethodField()
    next_statuses = serializers.SerializerMethodField(help_text="Where it may go from here.")

    class Meta:
        model = Case
        fields = (
            "id", "reference", "title", "kind", "description", "status", "next_statuses",
            "manager", "members", "issue_threshold", "opened_by", "opened_at", "closed_at",
        )  # fmt: skip

    @extend_schema_field(ColleagueSerializer(many=True))
    def get_members(self, case: Case) -> Any:
        people = sorted((member.user for member in case.memberships.all()), key=str)
        return ColleagueSerializer(people, many=True).data

    @extend_schema_field({"type": "array", "items": {"type": "string"}})
    def get_next_statuses(self, case: Case) -> list[str]:
        return sorted(reachable_from(case))


class CaseFactsSerializer(serializers.ModelSerializer[Case]):
    """What PATCH takes."""

    issue_threshold = serializers.FloatField(min_value=0, max_value=1, required=False)

    class Meta:
        model = Case
        fields = ("title", "reference", "kind", "description", "issue_threshold")

    def validate_issue_threshold(self, value: float) -> float:
        if not math.isfinite(value):
            raise serializers.ValidationError(_("Give a number from 0 to 1."), code="invalid")
        return value


class NewCaseSerializer(CaseFactsSerializer):
    """What POST takes."""

    manager_id = serializers.UUIDField(required=False, allow_null=True)
    member_ids = serializers.ListField(
        child=serializers.UUIDField(), required=False, max_length=MOST_MEMBERS
    )

    class Meta(CaseFactsSerializer.Meta):
        fields = (*CaseFactsSerializer.Meta.fields, "manager_id", "member_ids")  # type: ignore[assignment]


class AssignmentSerializer(serializers.Serializer[Any]):
    """What is left out stays as it is."""

    manager_id = serializers.UUIDField(required=False, allow_null=True)
    member_ids = serializers.ListField(
        child=serializers.UUIDField(), required=False, max_length=MOST_MEMBERS
    )


class CaseReasonSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2000)


class MoveSerializer(CaseReasonSerializer):
    status = serializers.ChoiceField(choices=Case.Status.choices)


class CashSummarySerializer(serializers.Serializer[Any]):
    balance = serializers.DecimalField(max_digits=15, decimal_places=2)
    threshold = serializers.DecimalField(max_digits=15, decimal_places=2)
    currency = serializers.CharField()
    is_low = serializers.BooleanField()


class SummarySerializer(serializers.Serializer[Any]):
    """How a case stands, in figures."""

    comment_count = serializers.IntegerField()
    pending_deadlines = serializers.IntegerField()
    next_deadline_at = serializers.DateTimeField(allow_null=True)
    pending_payments = serializers.IntegerField()
    next_payment_at = serializers.DateTimeField(allow_null=True)
    scheduled_reviews = serializers.IntegerField()
    next_review_at = serializers.DateTimeField(allow_null=True)
    pending_approvals = serializers.IntegerField()
    records_count = serializers.IntegerField()
    issues_count = serializers.IntegerField()
    issue_ratio = serializers.FloatField()
    cash = CashSummarySerializer(allow_null=True)


class CaseFilter(django_filters.FilterSet):
    status = django_filters.ChoiceFilter(choices=Case.Status.choices)
    kind = django_filters.ChoiceFilter(choices=Case.Kind.choices)
    manager = django_filters.UUIDFilter("manager_id")
    member = django_filters.UUIDFilter(method="of_member", help_text="Manager or member.")
    q = django_filters.CharFilter(method="search", help_text="Part of the title or reference.")
    opened_after = django_filters.IsoDateTimeFilter("opened_at", "gte")
    opened_before = django_filters.IsoDateTimeFilter("opened_at", "lt")

    class Meta:
        model = Case
        fields = ()

    def search(self, cases: QuerySet[Case], name: str, value: str) -> QuerySet[Case]:
        return cases.filter(Q(title__icontains=value) | Q(reference__icontains=value))

    def of_member(self, cases: QuerySet[Case], name: str, value: Any) -> QuerySet[Case]:
        joined = CaseMember.objects.filter(user_id=value).values("case_id")
        return cases.filter(Q(manager_id=value) | Q(pk__in=joined))


class CasesResource(Listed, Shown, Made, Changed, Resource):
    """Cases. They are closed, never deleted: history points to them."""

    http_method_names = ["get", "head", "post", "patch"]
    serializer_class = CaseInFullSerializer
    input_serializer_class = NewCaseSerializer
    change_serializer_class = CaseFactsSerializer
    filterset_class = CaseFilter
    ordering = ("-opened_at",)
    ordering_fields = ("opened_at", "title", "closed_at")
    lookup_value_converter = "uuid"

    def get_queryset(self) -> QuerySet[Case]:
        if self.action == "list":
            return selectors.cases_for_list()
        people = Prefetch("memberships", CaseMember.objects.select_related("user"))
        return selectors.cases().select_related("manager", "opened_by").prefetch_related(people)

    def get_serializer_class(self) -> Any:
        return CaseSerializer if self.action == "list" else super().get_serializer_class()

    def make(self, data: dict[str, Any]) -> Case:
        return services.open_case(opened_by=self.request.user, **data)  # type: ignore[arg-type]

    def change(self, row: Case, data: dict[str, Any]) -> Case:
        return services.revise_case(case=row, **data)

    @extend_schema(request=AssignmentSerializer, responses=CaseInFullSerializer)
    @action(detail=True, methods=["post"])
    def assign(self, request: Request, pk: str) -> Response:
        """Give it another manager, other members, or both."""
        case, given = self.get_object(), _validated(AssignmentSerializer, request)
        return self.answer(services.assign(case=case, **given))

    @extend_schema(request=MoveSerializer, responses=CaseInFullSerializer)
    @action(detail=True, methods=["post"])
    def status(self, request: Request, pk: str) -> Response:
        """Move it to another status; 409 tells which ones are possible."""
        case, given = self.get_object(), _validated(MoveSerializer, request)
        return self.answer(services.change_status(case=case, **given))

    @extend_schema(request=CaseReasonSerializer, responses=CaseInFullSerializer)
    @action(detail=True, methods=["post"])
    def close(self, request: Request, pk: str) -> Response:
        """Close it; what still falls due in it is no longer watched."""
        case, given = self.get_object(), _validated(CaseReasonSerializer, request)
        return self.answer(services.close_case(case=case, **given))

    @extend_schema(request=CaseReasonSerializer, responses=CaseInFullSerializer)
    @action(detail=True, methods=["post"])
    def reopen(self, request: Request, pk: str) -> Response:
        """Open it again, with all that it had."""
        case, given = self.get_object(), _validated(CaseReasonSerializer, request)
        return self.answer(services.reopen_case(case=case, **given))

    @extend_schema(responses=SummarySerializer)
    @action(detail=True)
    def summary(self, request: Request, pk: str) -> Response:
        """How it stands, in figures."""
        return Response(SummarySerializer(selectors.summary_of(self.get_object())).data)


def _validated(kind: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    serializer = kind(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
