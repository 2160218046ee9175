"""`python -m benchmarks.listening PORT TOKENS`: many clients with open streams, in one process.

It says "ready" when all streams are open. For each line it reads, it waits until that text came
on every stream, and tells when it came to each (on the clock that all processes share). At "listen"
it notes of which alerts the first stream hears, and at "heard" it tells when each came.
"""

import asyncio
import json
import re
import resource
import sys
import time
from pathlib import Path
from typing import Any

AT_ONCE = 50
_ALERT = re.compile(rb'"alert_id":"([0-9a-f-]{36})"')
_LONGEST_ALERT = 60


class Stream(asyncio.Protocol):
    """One stream: remembers when the text that is waited for came."""

    def __init__(self, hall: "Hall", head: bytes) -> None:
        self.hall, self.head = hall, head
        self.is_open = False
        self.tail = b""

    def connection_made(self, transport: Any) -> None:
        transport.write(self.head)

    def data_received(self, data: bytes) -> None:
        if not self.is_open and b"retry:" in data:
            self.is_open = True
            self.hall.opened.release()
        self.hall.hear(self, data)

    def connection_lost(self, error: Exception | None) -> None:
        self.hall.lost += 1


class Hall:
    """All the streams."""

    def __init__(self, port: int, tokens: list[str]) -> None:
        self.port, self.tokens = port, tokens
        self.opened = asyncio.Semaphore(0)
        self.streams: list[Stream] = []
        self.lost = 0
        self.wanted = b""
        self.came: list[float] = []
        self.complete = asyncio.Event()
        self.alerts: dict[str, float] | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        for number, token in enumerate(self.tokens):
            if number >= AT_ONCE:
                await asyncio.wait_for(self.opened.acquire(), 60)
            stream = Stream(self, _head(self.port, token))
            self.streams.append(stream)
            await loop.create_connection(lambda stream=stream: stream, "127.0.0.1", self.port)  # type: ignore[misc]
        for _ in range(min(AT_ONCE, len(self.tokens))):
            await asyncio.wait_for(self.opened.acquire(), 60)

    def hear(self, stream: Stream, data: bytes) -> None:
        now = time.monotonic()
        if self.alerts is not None and stream is self.streams[0]:
            for alert_id in _ALERT.findall(stream.tail + data):
                self.alerts.setdefault(alert_id.decode(), now)
            stream.tail = data[-_LONGEST_ALERT:]
        elif self.wanted and self.wanted in stream.tail + data:
            stream.tail = b""
            self.came.append(now)
            if len(self.came) == len(self.streams):
                self.complete.set()
        elif self.wanted:
            stream.tail = data[-len(self.wanted) :]

    async def wait_for(self, text: str) -> list[float]:
        self.wanted, self.came = text.encode(), []
        self.complete.clear()
        say("waiting")
        await asyncio.wait_for(self.complete.wait(), 60)
        assert self.lost == 0, f"{self.lost} streams were lost"
        return self.came


def _head(port: int, token: str) -> bytes:
    return (
        f"GET /api/v1/notifications/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Authorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n"
    ).encode()


def say(word: object) -> None:
    print(word if isinstance(word, str) else json.dumps(word), flush=True)


async def main(port: int, tokens: list[str]) -> None:
    hall = Hall(port, tokens)
    await hall.open()
    say("ready")
    while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
        if line == "listen":
            hall.alerts = {}
            say("listening")
        elif line == "heard":
            say(hall.alerts or {})
        else:
            say(await hall.wait_for(line))


if __name__ == "__main__":
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    asyncio.run(main(int(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())))
