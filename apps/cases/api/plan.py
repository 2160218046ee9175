"""What falls due in a case: deadlines, payments, reviews and approvals."""

from typing import Any

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.cases import services
from apps.cases.api.of_case import DueFilter, OfCaseResource, by_status
from apps.cases.api.people import ColleagueSerializer
from apps.cases.models import Approval, Deadline, Payment, Review
from apps.cases.transitions import TRANSITIONS
from axiom.api.views import Changed, Listed, Made, Shown


def _ends(model: Any) -> list[tuple[str, Any]]:
    """The statuses that settle it."""
    final = set().union(*TRANSITIONS[model].values())
    return [choice for choice in model.Status.choices if choice[0] in final]


DEADLINE_ENDS, PAYMENT_ENDS, REVIEW_ENDS = _ends(Deadline), _ends(Payment), _ends(Review)


class DeadlineSerializer(serializers.ModelSerializer[Deadline]):
    class Meta:
        model = Deadline
        fields = ("id", "title", "due_at", "status", "settled_at", "created_at")


class NewDeadlineSerializer(serializers.ModelSerializer[Deadline]):
    class Meta:
        model = Deadline
        fields = ("title", "due_at")


class DeadlineEndSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=DEADLINE_ENDS)


class PaymentSerializer(serializers.ModelSerializer[Payment]):
    class Meta:
        model = Payment
        fields = (
            "id", "title", "payee", "amount", "currency", "due_at", "status", "settled_at",
            "created_at",
        )  # fmt: skip


class NewPaymentSerializer(serializers.ModelSerializer[Payment]):
    class Meta:
        model = Payment
        fields = ("title", "payee", "amount", "currency", "due_at")


class PaymentEndSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=PAYMENT_ENDS)


class ReviewSerializer(serializers.ModelSerializer[Review]):
    class Meta:
        model = Review
        fields = (
            "id", "title", "stakeholder", "scheduled_at", "status", "outcome", "settled_at",
            "created_at",
        )  # fmt: skip


class NewReviewSerializer(serializers.ModelSerializer[Review]):
    class Meta:
        model = Review
        fields = ("title", "stakeholder", "scheduled_at")


class ReviewEndSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=REVIEW_ENDS)
    outcome = serializers.CharField(required=False, allow_blank=True, default="", max_length=10_000)


class CaseApprovalSerializer(serializers.ModelSerializer[Approval]):
    approver = ColleagueSerializer(allow_null=True)
    settled_by = ColleagueSerializer(allow_null=True)

    class Meta:
        model = Approval
        fields = (
            "id", "title", "due_at", "approver", "status", "settled_at", "settled_by", "note",
            "created_at",
        )  # fmt: skip


class NewApprovalSerializer(serializers.ModelSerializer[Approval]):
    approver_id = serializers.UUIDField(required=False, allow_null=True)

    class Meta:
        model = Approval
        fields = ("title", "due_at", "approver_id")


class SettlementNoteSerializer(serializers.Serializer[Any]):
    note = serializers.CharField(required=False, allow_blank=True, default="", max_length=10_000)


class DeadlineFilter(DueFilter):
    status = by_status(Deadline)


class PaymentFilter(DueFilter):
    status = by_status(Payment)
    currency = django_filters.CharFilter()


class ReviewFilter(django_filters.FilterSet):
    status = by_status(Review)
    scheduled_after = django_filters.IsoDateTimeFilter("scheduled_at", "gte")
    scheduled_before = django_filters.IsoDateTimeFilter("scheduled_at", "lt")


class ApprovalFilter(DueFilter):
    status = by_status(Approval)
    approver = django_filters.UUIDFilter("approver_id")


class PlannedResource(Listed, Shown, Made, Changed, OfCaseResource):
    """What is planned can be changed until it is settled, and is never deleted."""

    http_method_names = ["get", "head", "post", "patch"]
    ordering = ("due_at",)
    ordering_fields: Any = ("due_at", "created_at")

    def change(self, row: Any, data: dict[str, Any]) -> Any:
        return services.revise(item=row, **data)

    def settled(self, kind: type[serializers.Serializer[Any]], request: Request) -> Response:
        item, serializer = self.get_object(), kind(data=request.data)
        serializer.is_valid(raise_exception=True)
        return self.answer(services.settle(item=item, **serializer.validated_data))


class DeadlinesResource(PlannedResource):
    """Deadlines of a case."""

    model = Deadline
    serializer_class = DeadlineSerializer
    input_serializer_class = NewDeadlineSerializer
    filterset_class = DeadlineFilter

    def make(self, data: dict[str, Any]) -> Deadline:
        return services.add_deadline(case=self.case, **data)

    @extend_schema(request=DeadlineEndSerializer, responses=DeadlineSerializer)
    @action(detail=True, methods=["post"])
    def settle(self, request: Request, case_id: str, pk: str) -> Response:
        """Say that it was met, or cancel it."""
        return self.settled(DeadlineEndSerializer, request)


class PaymentsResource(PlannedResource):
    """Payments that a case has to make."""

    model = Payment
    serializer_class = PaymentSerializer
    input_serializer_class = NewPaymentSerializer
    filterset_class = PaymentFilter

    def make(self, data: dict[str, Any]) -> Payment:
        return services.add_payment(case=self.case, **data)

    @extend_schema(request=PaymentEndSerializer, responses=PaymentSerializer)
    @action(detail=True, methods=["post"])
    def settle(self, request: Request, case_id: str, pk: str) -> Response:
        """Say that it was paid, or cancel it."""
        return self.settled(PaymentEndSerializer, request)


class ReviewsResource(PlannedResource):
    """Reviews of a case by stakeholders."""

    model = Review
    serializer_class = ReviewSerializer
    input_serializer_class = NewReviewSerializer
    filterset_class = ReviewFilter
    ordering = ("scheduled_at",)
    ordering_fields = ("scheduled_at", "created_at")

    def make(self, data: dict[str, Any]) -> Review:
        return services.schedule_review(case=self.case, **data)

    @extend_schema(request=ReviewEndSerializer, responses=ReviewSerializer)
    @action(detail=True, methods=["post"])
    def settle(self, request: Request, case_id: str, pk: str) -> Response:
        """Say that it was held and what came of it, or cancel it."""
        return self.settled(ReviewEndSerializer, request)


class ApprovalsResource(PlannedResource):
    """Approvals that a case waits for."""

    model = Approval
    related = ("approver", "settled_by")
    serializer_class = CaseApprovalSerializer
    input_serializer_class = NewApprovalSerializer
    filterset_class = ApprovalFilter

    def make(self, data: dict[str, Any]) -> Approval:
        return services.request_approval(case=self.case, **data)

    @extend_schema(request=SettlementNoteSerializer, responses=CaseApprovalSerializer)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, case_id: str, pk: str) -> Response:
        """Say yes."""
        return self._decided(services.approve, request)

    @extend_schema(request=SettlementNoteSerializer, responses=CaseApprovalSerializer)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, case_id: str, pk: str) -> Response:
        """Say no."""
        return self._decided(services.reject, request)

    @extend_schema(request=SettlementNoteSerializer, responses=CaseApprovalSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, case_id: str, pk: str) -> Response:
        """It is no longer needed."""
        return self._decided(services.cancel_approval, request)

    def _decided(self, decide: Any, request: Request) -> Response:
        approval, serializer = self.get_object(), SettlementNoteSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        return self.answer(decide(approval=approval, by=request.user, **serializer.validated_data))
