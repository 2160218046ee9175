"""What chat knows: rooms, members, history."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from apps.chat.models import ChatMessage, Room, RoomMember
from axiom.tenancy import ForeignTenant

OPENING = 50
"""So many of the newest messages greet who enters a room."""
LONGEST_REPLAY = 500

Place = tuple[UUID, UUID]
"""A tenant and a room in it."""


def rooms_of(user_id: Any) -> QuerySet[Room]:
    """The rooms somebody is in, each with how much is unread and the number of the newest."""
    mine = RoomMember.objects.filter(room=OuterRef("pk"), user_id=user_id)
    return (
        Room.objects.filter(members__user_id=user_id)
        .select_related("case")
        .annotate(
            my_role=Subquery(mine.values("role")[:1]),
            read_up_to=Subquery(mine.values("read_up_to")[:1]),
            last_seq=Coalesce(Subquery(_newest().values("seq")[:1]), 0),
            last_at=Subquery(_newest().values("sent_at")[:1]),
            unread=Coalesce(Subquery(_unread(user_id)), 0),
        )
    )


def _newest() -> QuerySet[ChatMessage]:
    return ChatMessage.objects.filter(room=OuterRef("pk")).order_by("-seq")


def _unread(user_id: Any) -> QuerySet[Any]:
    """What others said after what one has read."""
    of_room = ChatMessage.objects.filter(
        Q(sender=None) | ~Q(sender_id=user_id), room=OuterRef("pk"), seq__gt=OuterRef("read_up_to")
    )
    return of_room.order_by().values("room").annotate(count=Count("pk")).values("count")


def room_for(room_id: UUID, user_id: Any) -> Room:
    """The room, for somebody who is in it; for anybody else there is none."""
    room = Room.objects.filter(pk=room_id, members__user_id=user_id).first()
    if room is None:
        raise ForeignTenant
    return room


def members_of_room(room_id: UUID) -> QuerySet[RoomMember]:
    return RoomMember.objects.filter(room_id=room_id).select_related("user", "room")


def history_of(room_id: UUID) -> QuerySet[ChatMessage]:
    return ChatMessage.objects.filter(room_id=room_id).select_related("sender")


def message_by_number(room_id: UUID, seq: int) -> ChatMessage | None:
    return history_of(room_id).filter(seq=seq).first()


def is_in_room(member: tuple[UUID, UUID], room_id: UUID) -> bool:
    tenant_id, user_id = member
    found = RoomMember.across_tenants.filter(tenant_id=tenant_id, room=room_id, user_id=user_id)
    return found.exists()


def said_after(room_id: UUID, after: int | None) -> list[ChatMessage]:
    """What was said after this number; without one, the newest. In order."""
    rows = ChatMessage.across_tenants.filter(room_id=room_id).order_by("-seq")
    if after is None:
        return list(reversed(rows[:OPENING]))
    return list(reversed(rows.filter(seq__gt=after)[: LONGEST_REPLAY + 1]))


def replay_of_room(room_id: UUID, after: int | None) -> tuple[list[ChatMessage], int]:
    """What greets who comes back, and the number of the newest."""
    rows = said_after(room_id, after)
    if rows:
        return rows, rows[-1].seq
    newest = ChatMessage.across_tenants.filter(room_id=room_id).aggregate(Max("seq"))["seq__max"]
    return rows, newest or 0


@dataclass(slots=True)
class Membership:
    """Who is in a room, and what it is called."""

    name: str
    user_ids: list[UUID] = field(default_factory=list)


def members_of_rooms(room_ids: Collection[UUID]) -> dict[Place, Membership]:
    """The people of these rooms, whosever they are: one statement."""
    found: dict[Place, Membership] = {}
    rows = RoomMember.across_tenants.filter(room_id__in=room_ids).values_list(
        "tenant_id", "room_id", "user_id", "room__name"
    )
    for tenant_id, room_id, user_id, name in rows:
        found.setdefault((tenant_id, room_id), Membership(name)).user_ids.append(user_id)
    return found


_STILL_IN = """
SELECT asked.room_id, asked.user_id FROM unnest(%s::uuid[], %s::uuid[]) AS asked(room_id, user_id)
JOIN chat_roommember m USING (room_id, user_id)
"""
_LAST = """
SELECT asked.room_id, newest.seq FROM unnest(%s::uuid[]) AS asked(room_id)
CROSS JOIN LATERAL (SELECT seq FROM chat_chatmessage said WHERE said.room_id = asked.room_id
                    ORDER BY seq DESC LIMIT 1) newest
"""


def truth_about_rooms(
    pairs: Iterable[tuple[UUID, UUID]],
) -> tuple[set[tuple[UUID, UUID]], dict[UUID, int]]:
    """Which of these are still in their room, and the newest number of each room."""
    rooms, users = [list(column) for column in zip(*pairs, strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(_STILL_IN, [rooms, users])
        still = {(row[0], row[1]) for row in cursor.fetchall()}
        cursor.execute(_LAST, [list(set(rooms))])
        return still, dict(cursor.fetchall())
