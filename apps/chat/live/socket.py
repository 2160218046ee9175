"""The application: a WebSocket to one room. Plain ASGI, in front of Django.

From the client: {"type": "send", "client_id": "...", "text": "..."} and {"type": "read", "up_to": 7}.
To the client: {"event": "message", "id": 7, "data": {...}}, `accepted`, `refused`, `resync`, `ping`.
"""

import asyncio
from typing import Any
from uuid import UUID

from django.db import Error as AnyDatabaseError

from apps.chat import selectors
from apps.chat.live.connection import ChatConnection
from apps.chat.live.hub import hub
from apps.notifications.services.streams import (
    Viewer,
    find_out,
    in_database,
    number_of,
    refuse_socket,
    request_of,
)
from axiom.errors import AxiomError
from axiom.tenancy import ForeignTenant


async def chat_socket(scope: Any, receive: Any, send: Any) -> None:
    """Hear a room and speak in it; `?after=` resumes."""
    await receive()
    room_id = scope["url_route"]["kwargs"]["room_id"]
    try:
        viewer = await find_out(scope)
        await _must_be_in(room_id, viewer)
    except AxiomError as error:
        return await refuse_socket(send, error)
    await send({"type": "websocket.accept"})
    await _serve(viewer, room_id, receive, send, request_of(scope).GET.get("after") or "")


async def _must_be_in(room_id: UUID, viewer: Viewer) -> None:
    if not await in_database(selectors.is_in_room, viewer.member, room_id):
        raise ForeignTenant


async def _serve(viewer: Viewer, room_id: UUID, receive: Any, send: Any, place: str) -> None:
    here = hub()
    connection = ChatConnection(viewer, here.seats.next_id(), send, here.until(), room_id)
    try:
        await here.serve(connection, receive, number_of(place))
    except AnyDatabaseError:
        await connection.take_leave("away")
    except asyncio.CancelledError:
        # Cut by ourselves, because nobody reads: leaving is all that is left to do.
        if not connection.was_cut:
            raise
