"""What was said in a room, and saying something without a socket."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.chat import selectors, services
from apps.chat.accepting import LONGEST_CLIENT_ID
from apps.chat.api.rooms import NONE, OfRoom, PersonSerializer
from apps.chat.models import LONGEST_TEXT, ChatMessage
from axiom.api.views import Listed


class ChatMessageSerializer(serializers.ModelSerializer[ChatMessage]):
    sender = PersonSerializer(allow_null=True)

    class Meta:
        model = ChatMessage
        fields = ("seq", "sender", "client_id", "text", "sent_at")


class NewChatMessageSerializer(serializers.Serializer[Any]):
    client_id = serializers.CharField(max_length=LONGEST_CLIENT_ID)
    text = serializers.CharField(max_length=LONGEST_TEXT)


class AcceptedSerializer(serializers.Serializer[Any]):
    seq = serializers.IntegerField(min_value=1)
    client_id = serializers.CharField()


class ChatMessagesResource(Listed, OfRoom):
    """What was said, newest first."""

    # The client_id does that already, and numbers must be granted before the answer commits.
    idempotent = False
    serializer_class = ChatMessageSerializer
    ordering = ("-seq",)

    def get_queryset(self) -> QuerySet[ChatMessage]:
        return selectors.history_of(self.kwargs.get("room_id", NONE))

    @extend_schema(
        request=NewChatMessageSerializer,
        responses={200: AcceptedSerializer, 201: AcceptedSerializer},
    )
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Say something: 201, or 200 when it was said before under the same client_id."""
        given = NewChatMessageSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        accepted = services.send_message(
            room=self.room, sender_id=request.user.pk, **given.validated_data
        )
        told = {"seq": accepted.seq, "client_id": given.validated_data["client_id"]}
        return Response(told, status=201 if accepted.is_new else 200)
