"""Tells the members of a room, wherever in the console they are, that something was said."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from apps.chat.events import ChatMessageSent
from apps.chat.selectors import members_of_rooms
from apps.events.message import Message
from apps.notifications.services import Frame, push

PREVIEW = 200


def fan_out(messages: Sequence[Message]) -> None:
    """One frame for each message, to everybody in its room but its sender."""
    members = members_of_rooms({UUID(message.aggregate_id) for message in messages})
    frames: dict[UUID, list[Frame]] = defaultdict(list)
    for message in messages:
        event = message.event
        assert isinstance(event, ChatMessageSent)
        room = members.get((message.tenant_id, event.room_id))
        others = [u for u in room.user_ids if u != event.sender_id] if room else []
        if room and others:
            to: dict[str, int | None] = {str(user_id): None for user_id in others}
            frames[message.tenant_id].append(Frame("chat", _told(event, message, room.name), to))
    for tenant_id, told in frames.items():
        push(tenant_id, told)


def _told(event: ChatMessageSent, message: Message, room: str) -> dict[str, object]:
    return {
        "room_id": event.room_id, "room": room, "seq": event.seq, "sender_id": event.sender_id,
        "text": event.message[:PREVIEW], "sent_at": message.occurred_at,
    }  # fmt: skip
