"""What people do in a room."""

from typing import Any
from uuid import UUID

import redis
from django.db.models import F
from django.db.models.functions import Greatest

from apps.chat.accepting import ACCEPT, Accepted, Saying, a_saying, outcome
from apps.chat.errors import ChatAway
from apps.chat.models import Room, RoomMember
from apps.chat.services.numbers import grant_numbers
from apps.events.connections import redis_client
from axiom.tenancy import current_tenant_id


def send_message(*, room: Room, sender_id: Any, client_id: str, text: str) -> Accepted:
    """Say something in a room. Sent again with the same client_id, it is the same message."""
    saying = a_saying(
        tenant_id=current_tenant_id(), room_id=room.pk, sender_id=sender_id,
        client_id=client_id, text=text,
    )  # fmt: skip
    accepted = _accept(saying)
    if accepted is None:
        grant_numbers(room.pk)
        accepted = _accept(saying)
    if accepted is None:
        raise ChatAway(retry_after=2)
    return accepted


def _accept(saying: Saying) -> Accepted | None:
    # Not kept between calls: registering costs nothing, and clients belong to a process.
    script = redis_client("nudge").register_script(ACCEPT)
    try:
        return outcome(script(keys=saying.keys(), args=saying.args()))
    except redis.RedisError:
        raise ChatAway(retry_after=2) from None


def mark_read(*, room_id: UUID, user_id: Any, up_to: int) -> None:
    """Say how far somebody has read; it never goes back."""
    mine = RoomMember.objects.filter(room_id=room_id, user_id=user_id)
    mine.update(read_up_to=Greatest(F("read_up_to"), up_to))
