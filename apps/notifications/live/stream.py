"""The two applications: server-sent events and WebSocket. Plain ASGI, in front of Django."""

import asyncio
from typing import Any

import orjson
from django.db import Error as AnyDatabaseError

from apps.notifications.live.connection import (
    STAY_AWAY,
    EventSourceConnection,
    WebSocketConnection,
)
from apps.notifications.live.handshake import Viewer, find_out, request_of
from apps.notifications.live.hub import hub
from axiom.errors import AxiomError
from axiom.problems import CONTENT_TYPE, problem_of_error

_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
_RETRY = b"retry: 3000\n\n"
# More digits than any inbox will ever count; what is longer is not ours, and costly to read.
_LONGEST_PLACE = 18


async def event_stream(scope: Any, receive: Any, send: Any) -> None:
    """GET: notifications, chat and changes as server-sent events, from where the reader was."""
    place = _place_in(scope)
    if place.encode() in STAY_AWAY.values():
        return await _answer(send, 204, [], b"")
    try:
        viewer = await find_out(scope)
    except AxiomError as error:
        return await _refuse(scope, send, error)
    await send({"type": "http.response.start", "status": 200, "headers": _STREAM_HEADERS})
    await send({"type": "http.response.body", "body": _RETRY, "more_body": True})
    await _serve(EventSourceConnection, viewer, receive, send, place)


async def alert_socket(scope: Any, receive: Any, send: Any) -> None:
    """The same over a WebSocket; `?after=` resumes."""
    await receive()
    try:
        viewer = await find_out(scope)
    except AxiomError as error:
        return await refuse_socket(send, error)
    await send({"type": "websocket.accept"})
    place = request_of(scope).GET.get("after") or ""
    await _serve(WebSocketConnection, viewer, receive, send, place)


async def refuse_socket(send: Any, error: AxiomError) -> None:
    """Say why: a socket that is refused before it is open tells its page nothing at all."""
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": 4000 + error.status, "reason": error.code})


async def _serve(kind: Any, viewer: Viewer, receive: Any, send: Any, place: str) -> None:
    here = hub()
    connection = kind(viewer, here.seats.next_id(), send, here.until())
    try:
        await here.serve(connection, receive, number_of(place))
    except AnyDatabaseError:
        # Told as an end, not as an error: the reader comes back by itself, to its place.
        await connection.take_leave("away")
    except asyncio.CancelledError:
        # Cut by ourselves, because nobody reads: leaving is all that is left to do.
        if not connection.was_cut:
            raise


def _place_in(scope: Any) -> str:
    """Where the reader was. The request itself is not kept: a stream lasts, and it is large."""
    request = request_of(scope)
    return request.headers.get("Last-Event-ID") or request.GET.get("after") or ""


def number_of(place: str) -> int | None:
    """The number a reader has come to; None when it says none of ours."""
    return int(place) if place.isdecimal() and len(place) <= _LONGEST_PLACE else None


async def _refuse(scope: Any, send: Any, error: AxiomError) -> None:
    problem = problem_of_error(error)
    headers = [(b"content-type", CONTENT_TYPE.encode()), (b"cache-control", b"no-store")]
    headers += [(k.lower().encode(), v.encode()) for k, v in problem.headers.items()]
    await _answer(send, problem.status, headers, orjson.dumps(problem.body(request_of(scope))))


async def _answer(send: Any, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
