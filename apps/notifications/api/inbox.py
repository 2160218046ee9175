"""One's own inbox, and what opens the stream that follows it."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.events.facts import SEVERITIES
from apps.notifications import selectors, services
from apps.notifications.models import Mailbox, Notification
from apps.notifications.services.tickets import TICKET_SECONDS
from axiom.api.views import ApiView, Listed, Resource, Shown
from axiom.roles import EVERYONE


class NotificationSerializer(serializers.ModelSerializer[Notification]):
    class Meta:
        model = Notification
        fields = (
            "number", "kind", "severity", "title", "body", "link", "facts", "created_at", "read_at",
        )  # fmt: skip


class UnreadSerializer(serializers.Serializer[Any]):
    unread = serializers.IntegerField(min_value=0)
    last_number = serializers.IntegerField(min_value=0)


class ReadAllSerializer(serializers.Serializer[Any]):
    up_to = serializers.IntegerField(min_value=0, max_value=2**63 - 1)


class ReadCountSerializer(serializers.Serializer[Any]):
    read = serializers.IntegerField(min_value=0)


class MuteSerializer(serializers.ModelSerializer[Mailbox]):
    class Meta:
        model = Mailbox
        fields = ("muted",)
        extra_kwargs = {"muted": {"required": True}}


class TicketSerializer(serializers.Serializer[Any]):
    ticket = serializers.CharField()
    expires_in = serializers.IntegerField()


class NotificationFilter(django_filters.FilterSet):  # type: ignore[misc]
    unread = django_filters.BooleanFilter("read_at", lookup_expr="isnull")
    severity = django_filters.MultipleChoiceFilter(choices=SEVERITIES)
    kind = django_filters.CharFilter()


class NotificationsResource(Listed, Shown, Resource):
    """What you were told, newest first."""

    may_write = EVERYONE
    serializer_class = NotificationSerializer
    filterset_class = NotificationFilter
    ordering = ("-number",)
    lookup_field = "number"

    def get_queryset(self) -> QuerySet[Notification]:
        return selectors.inbox_of(self.request.user.pk)

    @extend_schema(request=None, responses=NotificationSerializer)
    @action(detail=True, methods=["post"])
    def read(self, request: Request, number: str) -> Response:
        """Say that you have read it."""
        return self.answer(services.mark_read(notification=self.get_object()))

    @extend_schema(request=ReadAllSerializer, responses=ReadCountSerializer)
    @action(detail=False, methods=["post"], url_path="read-all")
    def read_all(self, request: Request) -> Response:
        """Say that you have read everything up to a number; what came later stays unread."""
        given = ReadAllSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        read = services.mark_all_read(user_id=request.user.pk, up_to=given.validated_data["up_to"])
        return Response({"read": read})

    @extend_schema(responses=UnreadSerializer, filters=False)
    @action(detail=False, methods=["get"], url_path="unread-count", pagination_class=None)
    def unread_count(self, request: Request) -> Response:
        """How many you have not read, and the number of the newest."""
        me = request.user.pk
        known = {"unread": selectors.unread_count(me), "last_number": selectors.last_number(me)}
        return Response(known)


class MuteView(ApiView):
    """Notifications off or on, for all your streams at once. Chat is not concerned."""

    may_write = EVERYONE

    @extend_schema(responses=MuteSerializer)
    def get(self, request: Request) -> Response:
        return Response(MuteSerializer(selectors.mailbox_of(request.user.pk)).data)

    @extend_schema(request=MuteSerializer, responses=MuteSerializer)
    def put(self, request: Request) -> Response:
        given = MuteSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        me: Any = request.user.pk
        return Response(MuteSerializer(services.set_muted(user_id=me, **given.validated_data)).data)


class TicketView(ApiView):
    """A ticket for one stream, for clients that cannot send a header: `?ticket=`."""

    may_write = EVERYONE
    idempotent = False

    @extend_schema(request=None, responses={201: TicketSerializer})
    def post(self, request: Request) -> Response:
        login: Any = request.auth
        ticket = services.issue_ticket(login_id=login.pk)
        return Response({"ticket": ticket, "expires_in": TICKET_SECONDS}, status=201)
