"""Wakes the relay when there is work. Losing a nudge costs a poll interval, never an event.

A request must not wait for Redis to say that it heard: the nudge is sent, and what Redis answered
is read when the next one goes out.
"""

import contextlib
import os
import socket
import ssl
import threading
import time
from typing import Any

import redis
import structlog
from django.conf import settings

from . import keys
from .connections import Redis, redis_client

log = structlog.get_logger(__name__)

_no_nudge_before = 0.0


def nudge() -> None:
    """Tell the relay that there is work."""
    global _no_nudge_before
    if time.monotonic() < _no_nudge_before:
        return
    try:
        _line().send()
    except redis.RedisError as error:
        # Redis is away: do not make every request wait to find that out again.
        _no_nudge_before = time.monotonic() + settings.EVENTS_NUDGE_PAUSE_SECONDS
        log.warning("relay not nudged", error=str(error))


class _Line:
    """A connection on which a process only says "there is work"."""

    def __init__(self, client: Redis) -> None:
        self.client = client
        self._lock = threading.Lock()
        self._connection: Any = client.connection_pool.make_connection()
        self._push = [b"".join(self._connection.pack_command("LPUSH", keys.NUDGE, 1))]
        self._trim = [b"".join(self._connection.pack_command("LTRIM", keys.NUDGE, 0, 0))]

    def send(self) -> None:
        with self._lock:
            try:
                self._say(self._waiting())
            except redis.ConnectionError:
                # It was cut since the last time: once more on a new one, which may fail too.
                self._connection.disconnect()
                self._say(0)

    def _say(self, waiting: int) -> None:
        # More than that, and no relay is there to take them.
        command = self._trim + self._push if waiting > keys.NUDGES_AT_MOST else self._push
        self._connection.send_packed_command(command, check_health=False)

    def _waiting(self) -> int:
        """How many nudges nobody has taken yet, by the last answer that arrived."""
        wire = self._connection._sock
        if wire is None:
            return 0
        return self._answered() if isinstance(wire, ssl.SSLSocket) else _last_number(wire)

    def _answered(self) -> int:
        """The same through redis-py, which can read what is encrypted."""
        waiting = 0
        while self._connection.can_read(timeout=0):
            answer = self._connection.read_response()
            waiting = answer if isinstance(answer, int) else 0
        return waiting


def _last_number(wire: socket.socket) -> int:
    """What stands last in the socket, read by hand: redis-py takes longer for it than to nudge."""
    said = b""
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(wire.fileno(), 65_536):
            said = chunk
        raise redis.ConnectionError("Redis hung up")
    last = said.rstrip().rsplit(b"\r\n", 1)[-1]
    return int(last[1:]) if last[:1] == b":" else 0


_the_line: _Line | None = None


def _line() -> _Line:
    """This process's line: a forked child has a client of its own, and so a line of its own."""
    global _the_line
    client = redis_client("nudge")
    if _the_line is None or _the_line.client is not client:
        _the_line = _Line(client)
    return _the_line
