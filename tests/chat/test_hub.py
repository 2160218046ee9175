"""A hub from inside: whom it pings, and whom it ends."""

import asyncio
from uuid import uuid4

from apps.chat.live.connection import ChatConnection
from apps.chat.live.hub import PING_SECONDS, ChatHub
from apps.notifications.live.handshake import Viewer


def test_sockets_are_pinged_by_one_timer_and_ended_after_their_time(redis_client):
    sent = {"old": [], "new": []}

    def enter(hub, name, until):
        async def send(message):
            sent[name].append(message.get("text") or message["reason"])

        viewer = Viewer((uuid4(), uuid4()), uuid4(), "stamp")
        hub.connections[name] = ChatConnection(viewer, name, send, until, uuid4())

    async def scene():
        hub = ChatHub()
        enter(hub, "old", until=1_000 + PING_SECONDS)
        enter(hub, "new", until=5_000)
        for moment in (1_000, 1_000 + PING_SECONDS - 1, 1_001 + PING_SECONDS):
            await hub.keep_time(moment)

    asyncio.run(scene())
    ping = '{"event":"ping","data":{}}'
    assert sent == {"old": [ping, ping, "time"], "new": [ping, ping]}
