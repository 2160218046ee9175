"""Rooms and who is in them."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

import redis
from django.db import IntegrityError, transaction

from apps.cases.selectors import case_by_id, must_be_colleagues
from apps.chat.errors import AlreadyInRoom, LastOwner, OwnersOnly
from apps.chat.models import Room, RoomMember
from apps.events import keys
from apps.events.connections import redis_client

Role = RoomMember.Role


@transaction.atomic
def open_room(
    *, name: str, by: Any, case_id: UUID | None = None, member_ids: Collection[UUID] = ()
) -> Room:
    """Open a room; who opens it owns it."""
    case = case_by_id(case_id) if case_id else None
    others = set(member_ids) - {by.pk}
    must_be_colleagues([by.pk, *others])
    room = Room(name=name, case=case, created_by=by)
    room.full_clean()
    room.save()
    people = [(by.pk, Role.OWNER), *((user_id, Role.MEMBER) for user_id in sorted(others))]
    RoomMember.objects.bulk_create(
        RoomMember(room=room, user_id=user_id, role=role) for user_id, role in people
    )
    return room


@transaction.atomic
def rename_room(*, room: Room, name: str, by: Any) -> Room:
    """Give a room another name."""
    must_own(room, by)
    room.name = name
    room.full_clean()
    room.save(update_fields=["name"])
    return room


@transaction.atomic
def close_room(*, room: Room, by: Any) -> None:
    """Delete a room with everything that was said in it."""
    must_own(room, by)
    room_id = str(room.pk)
    room.delete()
    transaction.on_commit(lambda: _forget(room_id))


@transaction.atomic
def add_to_room(*, room: Room, user_id: UUID, by: Any, role: str = Role.MEMBER) -> RoomMember:
    """Let a colleague into a room; they can read what was said before."""
    must_own(room, by)
    must_be_colleagues([user_id])
    member = RoomMember(room=room, user_id=user_id, role=Role(role))
    try:
        with transaction.atomic():
            member.save(force_insert=True)
    except IntegrityError:
        raise AlreadyInRoom from None
    return member


@transaction.atomic
def change_room_role(*, member: RoomMember, role: str, by: Any) -> RoomMember:
    """Make a member an owner, or an owner a member."""
    must_own(member.room, by)
    if Role(role) != Role.OWNER:
        _keep_an_owner(member)
    member.role = Role(role)
    member.save(update_fields=["role"])
    return member


@transaction.atomic
def remove_from_room(*, member: RoomMember, by: Any) -> None:
    """Take somebody out of a room, or leave it oneself; open sockets to it are cut."""
    if member.user_id != by.pk:
        must_own(member.room, by)
    _keep_an_owner(member)
    member.delete()
    transaction.on_commit(_look_now)


def must_own(room: Room, by: Any) -> None:
    """Refuse who does not own the room."""
    if not RoomMember.objects.filter(room=room, user_id=by.pk, role=Role.OWNER).exists():
        raise OwnersOnly


def _keep_an_owner(member: RoomMember) -> None:
    """Under a lock of the room: two owners must not leave at once, each counting on the other."""
    Room.objects.select_for_update().get(pk=member.room_id)
    others = RoomMember.objects.filter(room_id=member.room_id, role=Role.OWNER)
    if member.is_owner and not others.exclude(pk=member.pk).exists():
        raise LastOwner


def _forget(room_id: str) -> None:
    """Nothing of what was said stays in Redis; open sockets are cut."""
    try:
        redis_client("nudge").delete(keys.chat_room(room_id), keys.chat_recent(room_id))
    except redis.RedisError:
        return
    _look_now()


def _look_now() -> None:
    """Sockets are held to the truth every second anyhow; this makes it at once."""
    try:
        redis_client("nudge").publish(keys.CHAT_LOOK, "")
    except redis.RedisError:
        return
