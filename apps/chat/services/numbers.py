"""Grants numbers to Redis, a block at a time, so that none is ever given twice.

Redis counts a room's messages, and may lose its data. PostgreSQL remembers up to where it was
allowed to count: after a loss the room goes on above that. Numbers that were granted and never
given are skipped then, which is the only way a gap comes about.
"""

import contextlib
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import redis
from django.db import connection

from apps.chat.accepting import REMEMBERED_SECONDS
from apps.chat.errors import ChatAway
from apps.chat.models import ChatMessage
from apps.events import keys
from apps.events.connections import redis_client

BLOCK = 1_000

_GRANT = """
UPDATE chat_room SET granted_to = granted_to + %s WHERE id = %s RETURNING granted_to - %s
"""
# Nobody's grant is taken back: one that comes late, after a later one, is left unused (its
# process may have lost the lock with its connection in between).
_HAND_OVER = """
local at = redis.call('HMGET', KEYS[1], 'seq', 'limit')
local first, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
if at[2] and tonumber(at[2]) > first then return 0 end
if not at[2] or tonumber(at[2]) < first then redis.call('HSET', KEYS[1], 'seq', first) end
redis.call('HSET', KEYS[1], 'limit', limit)
return 1
"""


def grant_numbers(room_id: UUID) -> None:
    """Let Redis number the next messages of this room."""
    try:
        with _alone(room_id):
            _grant(redis_client("nudge"), room_id)
    except redis.RedisError:
        raise ChatAway(retry_after=2) from None


@contextlib.contextmanager
def _alone(room_id: UUID) -> Iterator[None]:
    """Many notice at once that numbers are wanting: one block is enough for all of them."""
    key = f"axiom.chat.{room_id}"
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [key])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [key])


def _grant(client: Any, room_id: UUID) -> None:
    state = keys.chat_room(str(room_id))
    seq, limit = client.hmget(state, "seq", "limit")
    if limit is not None and int(seq) < int(limit):
        return
    first = _next_block(room_id)
    if first is None:
        return
    if first and limit is None:
        _remember_newest(client, room_id)
    client.eval(_HAND_OVER, 1, state, first, first + BLOCK)


def _next_block(room_id: UUID) -> int | None:
    """Committed before Redis hears of it: what it was given is given for good."""
    with connection.cursor() as cursor:
        cursor.execute(_GRANT, [BLOCK, room_id, BLOCK])
        row = cursor.fetchone()
    return int(row[0]) if row else None


def _remember_newest(client: Any, room_id: UUID) -> None:
    """Redis has forgotten who sent what: a resend of the newest must still be the same message."""
    newest = ChatMessage.across_tenants.filter(room_id=room_id).order_by("-seq")[:200]
    pipe = client.pipeline(transaction=False)
    for row in newest:
        sent = keys.chat_sent(str(room_id), f"{row.sender_id}:{row.client_id}")
        pipe.set(sent, row.seq, ex=REMEMBERED_SECONDS, nx=True)
    pipe.execute()
