"""Rooms, for the people in them. For anybody else there are none."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.chat import selectors, services
from apps.chat.models import Room, RoomMember
from axiom.api.views import FullResource, Listed, Made, Removed, Resource, Shown
from axiom.roles import EVERYONE

NONE = "00000000-0000-0000-0000-000000000000"


class RoomSerializer(serializers.ModelSerializer[Room]):
    my_role = serializers.ChoiceField(RoomMember.Role.choices)
    read_up_to = serializers.IntegerField(min_value=0)
    unread = serializers.IntegerField(min_value=0)
    last_seq = serializers.IntegerField(min_value=0)
    last_at = serializers.DateTimeField(allow_null=True)

    class Meta:
        model = Room
        fields = (
            "id", "name", "case_id", "created_at",
            "my_role", "read_up_to", "unread", "last_seq", "last_at",
        )  # fmt: skip


class NewRoomSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=100)
    case_id = serializers.UUIDField(required=False, allow_null=True)
    member_ids = serializers.ListField(
        child=serializers.UUIDField(), required=False, max_length=200
    )


class RoomNameSerializer(serializers.ModelSerializer[Room]):
    class Meta:
        model = Room
        fields = ("name",)


class ReadSerializer(serializers.Serializer[Any]):
    up_to = serializers.IntegerField(min_value=0, max_value=2**63 - 1)


class RoomFilter(django_filters.FilterSet):
    case_id = django_filters.UUIDFilter("case_id")


class RoomsResource(FullResource):
    """The rooms you are in, with how much you have not read."""

    may = {
        "update": EVERYONE, "partial_update": EVERYONE, "destroy": EVERYONE, "read": EVERYONE,
    }  # fmt: skip
    lookup_value_converter = "uuid"
    serializer_class = RoomSerializer
    input_serializer_class = NewRoomSerializer
    change_serializer_class = RoomNameSerializer
    filterset_class = RoomFilter
    ordering = ("-created_at",)
    ordering_fields = ("created_at", "name")

    def get_queryset(self) -> QuerySet[Room]:
        return selectors.rooms_of(self.request.user.pk)

    def make(self, data: dict[str, Any]) -> Room:
        return self._as_seen(services.open_room(by=self.request.user, **data))

    def change(self, row: Room, data: dict[str, Any]) -> Room:
        name = data.get("name", row.name)
        return self._as_seen(services.rename_room(room=row, by=self.request.user, name=name))

    def remove(self, row: Room) -> None:
        services.close_room(room=row, by=self.request.user)

    def _as_seen(self, room: Room) -> Room:
        """With what the one who asks has read of it."""
        return selectors.rooms_of(self.request.user.pk).get(pk=room.pk)

    @extend_schema(request=ReadSerializer, responses=RoomSerializer)
    @action(detail=True, methods=["post"])
    def read(self, request: Request, pk: Any) -> Response:
        """Say how far you have read."""
        room = self.get_object()
        given = ReadSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        services.mark_read(room_id=room.pk, user_id=request.user.pk, **given.validated_data)
        return self.answer(self._as_seen(room))


class OfRoom(Resource):
    """Rows of the room in the URL, for who is in it."""

    may_write = EVERYONE
    room: Room

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.room = selectors.room_for(kwargs["room_id"], request.user.pk)


class PersonSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField(source="__str__")


class RoomMemberSerializer(serializers.ModelSerializer[RoomMember]):
    user = PersonSerializer()

    class Meta:
        model = RoomMember
        fields = ("user", "role", "joined_at")


class NewRoomMemberSerializer(serializers.Serializer[Any]):
    user_id = serializers.UUIDField()
    role = serializers.ChoiceField(RoomMember.Role.choices, default=RoomMember.Role.MEMBER)


class RoomRoleSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(RoomMember.Role.choices)


class RoomMembersResource(Listed, Shown, Made, Removed, OfRoom):
    """Who is in a room. Owners let people in and take them out; everybody may leave."""

    http_method_names = ["get", "head", "post", "patch", "delete"]
    serializer_class = RoomMemberSerializer
    input_serializer_class = NewRoomMemberSerializer
    ordering = ("joined_at",)
    lookup_field = "user_id"
    lookup_value_converter = "uuid"

    def get_queryset(self) -> QuerySet[RoomMember]:
        return selectors.members_of_room(self.kwargs.get("room_id", NONE))

    def make(self, data: dict[str, Any]) -> RoomMember:
        return services.add_to_room(room=self.room, by=self.request.user, **data)

    @extend_schema(request=RoomRoleSerializer, responses=RoomMemberSerializer)
    def partial_update(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Make a member an owner, or an owner a member."""
        given = RoomRoleSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        role = given.validated_data["role"]
        member = services.change_room_role(member=self.get_object(), by=request.user, role=role)
        return self.answer(member)

    def remove(self, row: RoomMember) -> None:
        services.remove_from_room(member=row, by=self.request.user)
