"""The least that a stream can be: what ours is held against, on the same server.

`uvicorn benchmarks.trivial:application`. It asks nobody who they are, keeps nothing, and says
what it is told (POST) to everybody at once.
"""

from typing import Any

_HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
_open: dict[int, Any] = {}


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["method"] == "POST":
        await _say((await receive())["body"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        return
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": b"retry: 3000\n\n", "more_body": True})
    _open[id(send)] = send
    try:
        while (await receive())["type"] != "http.disconnect":
            continue
    finally:
        del _open[id(send)]


async def _say(frame: bytes) -> None:
    for send in list(_open.values()):
        await send({"type": "http.response.body", "body": frame, "more_body": True})
