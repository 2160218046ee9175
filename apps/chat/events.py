"""What chat says. An atomic script fills `axiom:chat`, not the outbox."""

from uuid import UUID

from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop
from pydantic import Field

from apps.events.catalog import Event
from apps.events.keys import Stream


class ChatMessageSent(
    Event,
    type="CHAT_MESSAGE_SENT",
    stream=Stream.CHAT,
    aggregate="room",
    key="room_id",
    label=_("Chat message sent"),
    aliases=("chat.message_sent",),
):
    """Somebody wrote to a room."""

    room_id: UUID
    seq: int = Field(ge=1, description=noop("The message's number in its room; it counts up."))
    sender_id: UUID
    message: str
    client_id: str = Field(
        "", description=noop("The sender's own id for it: sent again, it is the same.")
    )

    example = {
        "room_id": "018f2d1c-0000-7000-8000-000000000700",
        "seq": 17,
        "sender_id": "018f2d1c-0000-7000-8000-0000000000a1",
        "message": "법원 제출본 확인했습니다.",
        "client_id": "b7c1",
    }
