"""One open stream: what waits to be written, and how far it has come."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from apps.events import keys
from apps.notifications.live.eagerly import eagerly
from apps.notifications.live.handshake import Viewer

log = structlog.get_logger(__name__)

Send = Callable[[dict[str, Any]], Awaitable[None]]

# Who does not read is cut when this much waits, and resumes by number.
LARGEST_BACKLOG = 256 * 1024


def abort(send: Send) -> None:
    """Drop the socket with all that waits in it, where the server lets us reach it (uvicorn does).

    A socket that is closed politely keeps its buffer until the other side has read it: never.
    """
    transport: Any = getattr(getattr(send, "__self__", None), "transport", None)
    if hasattr(transport, "abort"):
        transport.abort()


class Connection(ABC):
    """Writes in order and never waits: while one write is under way, the rest is kept.

    There is no task per connection; one is made while a write has to wait. Numbered
    frames go out once each and without a gap, whichever way they come: replayed, live, or read
    from the database because one was missed.
    """

    __slots__ = (
        "_backlog", "_ending", "_send", "_size", "_task", "_writer",
        "early", "id", "last_number", "muted", "since", "until", "viewer", "was_cut",
    )  # fmt: skip

    def __init__(self, viewer: Viewer, connection_id: str, send: Send, until: float) -> None:
        self.viewer, self.id, self._send = viewer, connection_id, send
        self.since, self.until = time.time(), until
        self.last_number, self.muted, self.was_cut = 0, False, False
        self.early: list[tuple[int, str, bytes]] | None = []
        self._backlog: list[bytes] = []
        self._size = 0
        self._ending: list[dict[str, Any]] | None = None
        self._writer: asyncio.Task[None] | None = None
        self._task = asyncio.current_task()

    def seats(self) -> str:
        """Where this stream's seat is: of a person there are only so many in one place."""
        tenant_id, user_id = self.viewer.member
        return keys.live_connections(f"{tenant_id}:{user_id}")

    @abstractmethod
    def frame(self, event: str, data: bytes, number: int | None) -> bytes:
        """The frame as this kind of stream writes it."""

    @abstractmethod
    def messages(self, backlog: list[bytes]) -> list[dict[str, Any]]:
        """What the server is handed to write these frames."""

    @abstractmethod
    def ending(self, reason: str) -> list[dict[str, Any]]:
        """The last it hears, and why."""

    def say(self, event: str, data: bytes = b"{}") -> None:
        """Something that is in no inbox."""
        self._write(self.frame(event, data, None))

    def tell(self, number: int, event: str, data: bytes) -> bool:
        """The next of the inbox; False when one before it is missing."""
        if self.early is not None:
            self.early.append((number, event, data))
            return True
        if number > self.last_number + 1 and not self.muted:
            return False
        self.tell_missed(number, event, data)
        return True

    def tell_missed(self, number: int, event: str, data: bytes) -> None:
        """One of the inbox that is known to be the next that exists."""
        if number <= self.last_number:
            return
        self.last_number = number
        if not self.muted:
            self._write(self.frame(event, data, number))

    def go_live(self) -> bool:
        """Flush what came during the replay; False when something before it is missing."""
        early, self.early = self.early or [], None
        told = [self.tell(*frame) for frame in early]
        return all(told)

    def end(self, reason: str) -> None:
        """Write what waits, say why, and close."""
        if self._ending is None:
            self._ending = self.ending(reason)
            self._wake()

    async def take_leave(self, reason: str) -> None:
        """Say why, and wait until it is said: the server closes when the application returns."""
        self.end(reason)
        if self._writer:
            await self._writer

    def cut(self) -> None:
        """Close without writing any more: the other side does not read."""
        self._ending, self.was_cut = [], True
        abort(self._send)
        if self._writer:
            self._writer.cancel()
        if self._task:
            self._task.cancel()

    def _write(self, frame: bytes) -> None:
        if self._ending is not None:
            return
        self._backlog.append(frame)
        self._size += len(frame)
        if self._size > LARGEST_BACKLOG:
            return self.cut()
        self._wake()

    def _wake(self) -> None:
        if self._writer is None:
            # At once: a server's `send` waits for room in the socket, and for nothing else.
            self._writer = eagerly(self._flush())

    async def _flush(self) -> None:
        try:
            while self._backlog:
                backlog, self._backlog, size = self._backlog, [], self._size
                for message in self.messages(backlog):
                    await self._send(message)
                self._size -= size
            for message in self._ending or ():
                await self._send(message)
        except (OSError, RuntimeError):
            # Gone while we wrote: the server tells the application so, and it will leave.
            self._ending = []
        except Exception:
            # One stream's trouble: whoever tells all of them goes on.
            log.exception("a stream could not be written")
            self._ending = []
        finally:
            self._writer = None


class EventSourceConnection(Connection):
    """Server-sent events. Only what is in the inbox has an id, so that a resume finds its place."""

    __slots__ = ()

    def frame(self, event: str, data: bytes, number: int | None) -> bytes:
        place = b"" if number is None else b"id: %d\n" % number
        return b"%sevent: %s\ndata: %s\n\n" % (place, event.encode(), data)

    def messages(self, backlog: list[bytes]) -> list[dict[str, Any]]:
        return [{"type": "http.response.body", "body": b"".join(backlog), "more_body": True}]

    def ending(self, reason: str) -> list[dict[str, Any]]:
        last = b'event: bye\ndata: {"reason":"%s"}\n\n' % reason.encode()
        if reason in STAY_AWAY:
            # Sent back by the browser when it reconnects, and answered 204: come no more.
            last = b"id: %s\n%s" % (STAY_AWAY[reason], last)
        return [{"type": "http.response.body", "body": last, "more_body": False}]


STAY_AWAY = {"evicted": b"evicted", "revoked": b"revoked"}


class WebSocketConnection(Connection):
    """The same frames as JSON texts: event, id where it is in the inbox, data."""

    __slots__ = ()

    def frame(self, event: str, data: bytes, number: int | None) -> bytes:
        place = b"" if number is None else b'"id":%d,' % number
        return b'{"event":"%s",%s"data":%s}' % (event.encode(), place, data)

    def messages(self, backlog: list[bytes]) -> list[dict[str, Any]]:
        return [{"type": "websocket.send", "text": frame.decode()} for frame in backlog]

    def ending(self, reason: str) -> list[dict[str, Any]]:
        codes = {"evicted": 4001, "revoked": 4003, "time": 1001, "away": 1013}
        return [{"type": "websocket.close", "code": codes[reason], "reason": reason}]
