"""Keeps what was said: many messages in one statement."""

from collections.abc import Sequence

from django.db import connection

from apps.chat.events import ChatMessageSent
from apps.events.message import Message

# A room that is gone, or that is another tenant's, keeps nothing. The same message sent twice is
# kept once. A number that another message has is an error, and never overlooked.
_KEEP = """
INSERT INTO chat_chatmessage (id, tenant_id, room_id, seq, sender_id, client_id, text, sent_at)
SELECT said.id, room.tenant_id, room.id, said.seq, sender.id, said.client_id, said.text, said.sent_at
FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::bigint[], %s::uuid[], %s::text[], %s::text[],
            %s::timestamptz[])
     AS said(id, tenant_id, room_id, seq, sender_id, client_id, text, sent_at)
JOIN chat_room room ON room.id = said.room_id AND room.tenant_id = said.tenant_id
LEFT JOIN accounts_user sender ON sender.id = said.sender_id
ORDER BY room.id, said.seq
ON CONFLICT (room_id, sender_id, client_id) DO NOTHING
"""


def persist(messages: Sequence[Message]) -> int:
    """Keep these; returns how many were new."""
    rows = [_row(message) for message in messages]
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, [list(column) for column in zip(*rows, strict=True)])
        return int(cursor.rowcount)


def _row(message: Message) -> tuple[object, ...]:
    event = message.event
    assert isinstance(event, ChatMessageSent)
    return (
        message.event_id, message.tenant_id, event.room_id, event.seq, event.sender_id,
        # Entries of before there were any are known by their event's id.
        event.client_id or str(message.event_id), event.message, message.occurred_at,
    )  # fmt: skip
