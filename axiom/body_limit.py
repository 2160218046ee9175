"""A request that is too large is refused before it is read, not after it filled the disk.

Django under ASGI takes a body in whole before it asks any view. This stands in front of it.
"""

import json
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from types import SimpleNamespace
from typing import Any, cast

from django.http import HttpRequest

from apps.events import context
from axiom.problems import CONTENT_TYPE, problem_of_status

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[..., Awaitable[None]]


class _TooLarge(Exception):
    """More came than was announced, or than may come at all."""


class BodyLimit:
    """The application, for bodies up to this many bytes; others are answered 413."""

    def __init__(self, application: Application, limit: int) -> None:
        self.application, self.limit = application, limit

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        try:
            if _announced(scope) > self.limit:
                raise _TooLarge
            await self.application(scope, self._counted(receive), send)
        except _TooLarge:
            # Nothing was answered yet: Django answers only once it has the whole body.
            await _refuse(scope["path"], send)

    def _counted(self, receive: Receive) -> Receive:
        """Who announces nothing (a chunked body) is stopped when it is too much."""
        came = 0

        async def receive_and_count() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > self.limit:
                raise _TooLarge
            return message

        return receive_and_count


def _announced(scope: MutableMapping[str, Any]) -> int:
    length = dict(scope["headers"]).get(b"content-length", b"0")
    return int(length) if length.isdigit() else 0


async def _refuse(path: str, send: Send) -> None:
    request = cast(HttpRequest, SimpleNamespace(path=path))
    with context.fresh(request_id=uuid.uuid4().hex) as here:
        body = json.dumps(problem_of_status(413).body(request)).encode()
    headers = [
        (b"content-type", CONTENT_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", here.request_id.encode()),
        # The rest of the body is still on its way, and nobody will read it.
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
