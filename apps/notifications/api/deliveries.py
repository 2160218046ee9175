"""What was sent, for programs: how it went, and once more."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.notifications import selectors, services
from apps.notifications.models import Delivery, DeliveryAttempt
from apps.watch.selectors import Channel
from axiom.api.views import Listed, Resource, Shown


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    class Meta:
        model = Delivery
        fields = (
            "id", "channel", "recipient_id", "endpoint_id", "alert_id", "level", "severity",
            "state", "reason", "attempts", "due_at", "created_at", "settled_at",
        )  # fmt: skip


class DeliveryAttemptSerializer(serializers.ModelSerializer[DeliveryAttempt]):
    class Meta:
        model = DeliveryAttempt
        fields = ("outcome", "said", "began_at", "seconds")


class DeliveryInFullSerializer(DeliverySerializer):
    """With every try, the first first."""

    tries = DeliveryAttemptSerializer(many=True)

    class Meta(DeliverySerializer.Meta):
        fields = (*DeliverySerializer.Meta.fields, "peer_id", "tries")  # type: ignore[assignment]


class DeliveryFilter(django_filters.FilterSet):  # type: ignore[misc]
    state = django_filters.MultipleChoiceFilter(choices=Delivery.State.choices)
    channel = django_filters.MultipleChoiceFilter(choices=Channel.choices)
    alert_id = django_filters.UUIDFilter()
    recipient_id = django_filters.UUIDFilter()


class DeliveriesResource(Listed, Shown, Resource):
    """What was sent to you, by which channel and how it went; to everybody, for admins."""

    http_method_names = ["get", "head", "post"]
    serializer_class = DeliveryInFullSerializer
    filterset_class = DeliveryFilter
    ordering = ("-created_at", "-id")
    lookup_value_regex = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

    def get_queryset(self) -> QuerySet[Delivery]:
        role = getattr(self.request.auth, "role", "")
        return selectors.deliveries_seen_by(user_id=self.request.user.pk, role=role)

    def get_serializer_class(self) -> Any:
        return DeliverySerializer if self.action == "list" else self.serializer_class

    @extend_schema(request=None, responses=DeliveryInFullSerializer)
    @action(detail=True, methods=["post"])
    def resend(self, request: Request, pk: str) -> Response:
        """Send what failed or was not sent once more, as if it were new."""
        return self.answer(services.resend(delivery=self.get_object()))
