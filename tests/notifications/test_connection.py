"""One stream: in order, without gaps, bounded."""

import asyncio
from uuid import uuid4

import pytest

from apps.notifications.live.connection import (
    LARGEST_BACKLOG,
    EventSourceConnection,
    WebSocketConnection,
)
from apps.notifications.live.handshake import Viewer


class Client:
    """The other side: takes what is sent, as fast as it may."""

    def __init__(self) -> None:
        self.sent: list[dict] = []
        self.reads = asyncio.Event()
        self.reads.set()

    async def send(self, message: dict) -> None:
        await self.reads.wait()
        self.sent.append(message)

    def text(self) -> str:
        return "".join((m.get("body") or b"").decode() for m in self.sent)


def connected(client, kind=EventSourceConnection):
    viewer = Viewer((uuid4(), uuid4()), uuid4(), "stamp")
    return kind(viewer, "here:1", client.send, until=0)


async def written(connection):
    while connection._writer:
        await connection._writer


def test_what_comes_during_the_replay_follows_it_without_repeats():
    async def scene():
        client = Client()
        stream = connected(client)
        for number in (2, 3):
            stream.tell(number, "notification", b"%d" % number)
        stream.tell_missed(1, "notification", b"1")
        stream.tell_missed(2, "notification", b"2")
        stream.last_number = 2
        assert stream.go_live()
        await written(stream)
        return client.text()

    frames = [f"id: {n}\nevent: notification\ndata: {n}\n\n" for n in (1, 2, 3)]
    assert asyncio.run(scene()) == "".join(frames)


def test_a_gap_is_noticed_and_nothing_is_told_out_of_order():
    async def scene():
        client = Client()
        stream = connected(client)
        stream.go_live()
        assert stream.tell(1, "notification", b"1")
        assert not stream.tell(3, "notification", b"3")
        stream.tell_missed(2, "notification", b"2")
        assert stream.tell(3, "notification", b"3")
        await written(stream)
        return client.text()

    assert [line for line in asyncio.run(scene()).splitlines() if "id" in line] == [
        "id: 1", "id: 2", "id: 3",
    ]  # fmt: skip


def test_who_does_not_read_is_cut_at_a_bounded_backlog():
    async def scene():
        client = Client()
        client.reads.clear()
        stream = connected(client)
        frame = b"x" * 10_000
        for _ in range(LARGEST_BACKLOG // len(frame) + 2):
            stream.say("chat", frame)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(10)
        return stream

    stream = asyncio.run(scene())
    assert stream.was_cut
    assert stream._size <= LARGEST_BACKLOG + 11_000


def test_what_can_be_written_at_once_makes_no_task_and_what_waits_goes_on_later():
    async def scene():
        client = Client()
        stream = connected(client)
        stream.say("ping")
        at_once = (client.text(), stream._writer)
        client.reads.clear()
        for text in (b"1", b"2"):
            stream.say("chat", text)
        waiting = stream._writer
        client.reads.set()
        await written(stream)
        return at_once, waiting, client.text()

    (text, writer), waiting, whole = asyncio.run(scene())
    assert (text, writer) == ("event: ping\ndata: {}\n\n", None)
    assert waiting is not None
    assert whole == text + "event: chat\ndata: 1\n\nevent: chat\ndata: 2\n\n"


def test_a_write_that_fails_ends_its_own_stream_only():
    async def scene():
        async def broken(message):
            raise ValueError("what a server may throw")

        stream = connected(Client())
        stream._send = broken
        stream.say("ping")
        stream.say("ping")
        return stream

    assert asyncio.run(scene())._ending == []


def test_a_slow_reader_is_not_cut_while_it_keeps_up():
    async def scene():
        client = Client()
        stream = connected(client)
        for _ in range(100):
            stream.say("chat", b"x" * 10_000)
            await written(stream)
        return stream

    assert not asyncio.run(scene()).was_cut


def test_only_who_has_to_stay_away_is_given_an_id_to_come_back_with():
    async def scene(reason):
        client = Client()
        stream = connected(client)
        stream.end(reason)
        await written(stream)
        return client.text()

    assert asyncio.run(scene("evicted")).startswith("id: evicted\n")
    assert asyncio.run(scene("time")).startswith("event: bye\n")


def test_a_web_socket_says_the_same_in_json():
    async def scene():
        client = Client()
        stream = connected(client, WebSocketConnection)
        stream.go_live()
        stream.tell(1, "notification", b'{"title":"x"}')
        stream.say("ping")
        stream.end("revoked")
        await written(stream)
        return client.sent

    assert asyncio.run(scene()) == [
        {"type": "websocket.send", "text": '{"event":"notification","id":1,"data":{"title":"x"}}'},
        {"type": "websocket.send", "text": '{"event":"ping","data":{}}'},
        {"type": "websocket.close", "code": 4003, "reason": "revoked"},
    ]
