"""`python -m benchmarks.chatting PORT ROOMS RATE SECONDS`: people who talk, in one process.

In each room one writes and one listens. It says "ready", and after a line was read it talks and
tells how long each message took from one to the other, and whether all kept their order.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect


class Pair:
    """Who writes and who listens in a room."""

    def __init__(self, writer: ClientConnection, reader: ClientConnection) -> None:
        self.writer, self.reader = writer, reader
        self.sent: list[float] = []
        self.numbers: list[int] = []
        self.took: list[float] = []
        self.texts: list[str] = []

    async def write(self, count: int, pause: float, begin: float) -> None:
        for number in range(count):
            await asyncio.sleep(max(0.0, begin + number * pause - time.monotonic()))
            self.sent.append(time.monotonic())
            text = {"type": "send", "client_id": str(number), "text": str(number)}
            await self.writer.send(json.dumps(text))

    async def read(self, count: int) -> None:
        async for frame in self.reader:
            message = json.loads(frame)
            if message["event"] == "message":
                self._note(message, time.monotonic())
            if len(self.numbers) == count:
                return

    def _note(self, message: dict[str, Any], now: float) -> None:
        number = int(message["data"]["text"])
        self.took.append(now - self.sent[number])
        self.numbers.append(message["id"])
        self.texts.append(message["data"]["text"])

    async def drain(self) -> None:
        async for _ in self.writer:
            continue

    def kept_order(self, count: int) -> bool:
        in_order = self.texts == [str(n) for n in range(count)]
        return in_order and self.numbers == list(range(self.numbers[0], self.numbers[0] + count))


async def _enter(port: int, room: str, token: str) -> ClientConnection:
    head = {"Authorization": f"Bearer {token}"}
    address = f"ws://127.0.0.1:{port}/ws/chat/{room}/"
    return await connect(address, additional_headers=head, compression=None, origin=None)


async def main(port: int, rooms: list[dict[str, Any]], rate: float, seconds: float) -> None:
    pairs = [
        Pair(*[await _enter(port, room["id"], token) for token in room["tokens"]]) for room in rooms
    ]
    drains = [asyncio.create_task(pair.drain()) for pair in pairs]
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    pause, begin = len(rooms) / rate, time.monotonic() + 0.5
    count = int(seconds / pause)
    await asyncio.wait_for(
        asyncio.gather(
            *(
                pair.write(count, pause, begin + n * pause / len(pairs))
                for n, pair in enumerate(pairs)
            ),
            *(pair.read(count) for pair in pairs),
        ),
        seconds + 60,
    )
    elapsed = time.monotonic() - begin
    kept = all(pair.kept_order(count) for pair in pairs)
    took = [each for pair in pairs for each in pair.took]
    print(json.dumps({"took": took, "kept_order": kept, "rate": len(took) / elapsed}), flush=True)
    for drain in drains:
        drain.cancel()


if __name__ == "__main__":
    port, file, rate, seconds = sys.argv[1:]
    rooms = json.loads(Path(file).read_text())
    asyncio.run(main(int(port), rooms, float(rate), float(seconds)))
