"""Where Slack messages and webhooks go, for programs."""

from typing import Any
from urllib.parse import urlsplit

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.notifications import services
from apps.notifications.models import Endpoint
from axiom.api.views import FullResource
from axiom.roles import ADMINS


class EndpointSerializer(serializers.ModelSerializer[Endpoint]):
    host = serializers.SerializerMethodField(help_text="The address itself is not shown again.")

    class Meta:
        model = Endpoint
        fields = (
            "id", "name", "kind", "user_id", "host", "is_active", "paused_until",
            "old_secret_until", "created_at",
        )  # fmt: skip

    def get_host(self, endpoint: Endpoint) -> str:
        return urlsplit(endpoint.url).hostname or ""


class NewEndpointSerializer(serializers.ModelSerializer[Endpoint]):
    url = serializers.URLField(max_length=1000)
    user_id = serializers.UUIDField(
        allow_null=True, required=False,
        help_text="Whose it is; null: everybody's who has none of their own.",
    )  # fmt: skip

    class Meta:
        model = Endpoint
        fields = ("name", "kind", "user_id", "url", "is_active")


class ChangedEndpointSerializer(NewEndpointSerializer):
    url = serializers.URLField(max_length=1000, required=False)

    class Meta(NewEndpointSerializer.Meta):
        fields = ("name", "url", "is_active")  # type: ignore[assignment]
        extra_kwargs = {"name": {"required": False}}


class MadeEndpointSerializer(EndpointSerializer):
    secret = serializers.CharField(help_text="Of a webhook. It is shown this once.")

    class Meta(EndpointSerializer.Meta):
        fields = (*EndpointSerializer.Meta.fields, "secret")  # type: ignore[assignment]


class EndpointsResource(FullResource):
    """Addresses that Slack messages and webhooks are posted to."""

    may_read = may_write = ADMINS
    # An answer that is kept to be given again would keep the secret with it.
    idempotent = False
    serializer_class = EndpointSerializer
    input_serializer_class = NewEndpointSerializer
    change_serializer_class = ChangedEndpointSerializer
    filterset_fields = ("kind", "is_active")
    ordering_fields = ("created_at", "name")

    def get_queryset(self) -> QuerySet[Endpoint]:
        rows: QuerySet[Endpoint] = Endpoint.objects.order_by("-created_at")
        return rows

    @extend_schema(responses={201: MadeEndpointSerializer})
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        row = services.add_endpoint(**self.validated(request))
        shown = MadeEndpointSerializer(row).data
        return Response(shown, status=201, headers={"Location": self.location(row)})

    @extend_schema(request=None, responses=MadeEndpointSerializer)
    @action(detail=True, methods=["post"])
    def rotate(self, request: Request, pk: str) -> Response:
        """A new secret; the former one signs beside it for a day."""
        row = services.rotate_secret(endpoint=self.get_object())
        return Response(MadeEndpointSerializer(row).data)

    def change(self, row: Endpoint, data: dict[str, Any]) -> Endpoint:
        return services.change_endpoint(endpoint=row, **data)

    def remove(self, row: Endpoint) -> None:
        services.remove_endpoint(endpoint=row)
