"""Takes a message: one script numbers it, stores it for the groups, and says it to who listens.

So the order in a room is the order in which Redis accepted the messages, whoever sent them from
wherever. Redis counts only as far as PostgreSQL has granted (see `services.numbers`).
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.utils import timezone

from apps.chat.errors import ChatAway, MessageRefused
from apps.chat.events import ChatMessageSent
from apps.chat.models import LONGEST_TEXT
from apps.events import context, keys
from apps.events.ids import uuid7
from apps.events.keys import Stream

LONGEST_CLIENT_ID = 64
REMEMBERED_SECONDS = 600
"""For how long a message that is sent again is known by its client_id without PostgreSQL."""
RECENT = 200
"""So many of a room's newest messages are kept for sockets, whether they are persisted or not."""

NO_STREAM, NO_NUMBERS = -1, -2
_NOBODY = context.Context().actor

ACCEPT = f"""
local known = redis.call('GET', KEYS[2])
if known then return {{tonumber(known), 0}} end
if redis.call('EXISTS', KEYS[3]) == 0 then return {{{NO_STREAM}, 0}} end
local at = redis.call('HMGET', KEYS[1], 'seq', 'limit')
if not at[1] or tonumber(at[1]) >= tonumber(at[2]) then return {{{NO_NUMBERS}, 0}} end
local seq = redis.call('HINCRBY', KEYS[1], 'seq', 1)
local entry = {{'payload', '{{"seq":' .. seq .. ARGV[1]}}
for n = 4, #ARGV do entry[#entry + 1] = ARGV[n] end
redis.call('XADD', KEYS[3], 'NOMKSTREAM', '*', unpack(entry))
local said = '{{"seq":' .. seq .. ARGV[2]
redis.call('LPUSH', KEYS[4], said)
redis.call('LTRIM', KEYS[4], 0, {RECENT - 1})
redis.call('EXPIRE', KEYS[4], 3600)
redis.call('PUBLISH', KEYS[5], ARGV[3] .. said)
redis.call('SET', KEYS[2], seq, 'EX', {REMEMBERED_SECONDS})
return {{seq, 1}}
"""


@dataclass(frozen=True, slots=True)
class Saying:
    """What somebody wants to say in a room, not numbered yet."""

    tenant_id: UUID
    room_id: UUID
    sender_id: UUID
    client_id: str
    text: str
    id: UUID = field(default_factory=uuid7)
    sent_at: datetime = field(default_factory=timezone.now)

    def keys(self) -> list[str]:
        room = str(self.room_id)
        sent = keys.chat_sent(room, f"{self.sender_id}:{self.client_id}")
        return [
            keys.chat_room(room), sent, str(Stream.CHAT), keys.chat_recent(room), keys.CHAT_SAID,
        ]  # fmt: skip

    def args(self) -> list[str | bytes]:
        """The payload and the frame without their number, which the script puts in front."""
        return [_rest(self._payload()), _rest(self._frame()), str(self.room_id), *self._envelope()]

    def _payload(self) -> dict[str, Any]:
        return {
            "room_id": self.room_id, "sender_id": self.sender_id, "message": self.text,
            "client_id": self.client_id,
        }  # fmt: skip

    def _frame(self) -> dict[str, Any]:
        return said(self.sender_id, self.client_id, self.text, self.sent_at)

    def _envelope(self) -> list[str]:
        here, event = context.current(), ChatMessageSent
        fields = {
            "event_id": self.id, "event_type": event.type, "schema_version": event.version,
            "aggregate_type": event.aggregate, "aggregate_id": self.room_id,
            "tenant_id": self.tenant_id, "actor": str(self.sender_id) if here.actor == _NOBODY else here.actor,
            "trace_id": here.trace_id or self.id.hex, "occurred_at": self.sent_at.isoformat(),
        }  # fmt: skip
        return [str(part) for pair in fields.items() for part in pair]


def said(sender_id: UUID | None, client_id: str, text: str, sent_at: datetime) -> dict[str, Any]:
    """A message as sockets get it, its number aside."""
    return {"sender_id": sender_id, "client_id": client_id, "text": text, "sent_at": sent_at}


def _rest(facts: dict[str, Any]) -> bytes:
    return b"," + orjson.dumps(facts)[1:]


def a_saying(
    *, tenant_id: UUID, room_id: UUID, sender_id: UUID, client_id: object, text: object
) -> Saying:
    """What a client sent, looked at; refused with a reason otherwise."""
    if not (isinstance(client_id, str) and isinstance(text, str)):
        raise MessageRefused
    text = text.strip()
    fits = 0 < len(text) <= LONGEST_TEXT and 0 < len(client_id) <= LONGEST_CLIENT_ID
    if not fits or not _is_storable(client_id) or not _is_storable(text):
        raise MessageRefused
    return Saying(tenant_id, room_id, sender_id, client_id, text)


def _is_storable(text: str) -> bool:
    """PostgreSQL keeps no zero bytes, and half a character is none."""
    try:
        return b"\x00" not in text.encode()
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True, slots=True)
class Accepted:
    """The number a message has; `is_new` is False when it was sent before."""

    seq: int
    is_new: bool


def outcome(answer: list[int]) -> Accepted | None:
    """What the script answered; None when numbers have to be granted first."""
    seq, is_new = answer
    if seq == NO_STREAM:
        # Redis lost its data; the relay makes the streams anew before anything is added.
        raise ChatAway(retry_after=2)
    return None if seq == NO_NUMBERS else Accepted(seq, bool(is_new))
