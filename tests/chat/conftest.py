"""Rooms, sockets to them, and the groups that carry what is said."""

import itertools
import json

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from apps.chat import services
from apps.events import bus
from apps.events.consumer import Consumer
from apps.events.context import acting
from apps.events.groups import GROUPS
from tests.notifications.conftest import own_redis, web_server  # noqa: F401


@pytest.fixture
def room(acme, alice, bob, streams):
    with acting(tenant_id=acme.pk):
        return services.open_room(name="Plan", by=alice, member_ids=[bob.pk])


@pytest.fixture
def say(acme, room):
    """Says something in the room; the number it got."""
    counted = itertools.count()

    def say(person, text="Hello", client_id=None, where=None) -> int:
        with acting(tenant_id=acme.pk):
            return services.send_message(
                room=where or room, sender_id=person.pk, text=text,
                client_id=client_id or f"c{next(counted)}",
            ).seq  # fmt: skip

    return say


@pytest.fixture
def carry():
    """Lets a group handle what waits for it."""

    def carry(group="chat_persist", steps=3) -> None:
        consumer = Consumer(GROUPS[group], bus.connect(), f"{group}-1")
        for _ in range(steps):
            consumer.step()
        consumer._give_up_lease()

    return carry


class Socket:
    """A client in a room: what it heard, as it came."""

    def __init__(self, address: str, room, api, after: int | None = None) -> None:
        place = "" if after is None else f"?after={after}"
        self._heard: list[dict] = []
        self.wire = connect(
            f"{address.replace('http', 'ws')}/ws/chat/{room.pk}/{place}",
            additional_headers={"Authorization": api._credentials["HTTP_AUTHORIZATION"]},
            legacy=True,
        )

    def send(self, text: str, client_id: str) -> None:
        self.wire.send(json.dumps({"type": "send", "client_id": client_id, "text": text}))

    def hear(self, *events: str, seconds: float = 20) -> dict:
        """The next of these kinds; others stay to be heard."""
        while not (found := [each for each in self._heard if each["event"] in events]):
            self._heard.append(json.loads(self.wire.recv(timeout=seconds)))
        self._heard.remove(found[0])
        return found[0]

    def is_accepted(self, text: str, client_id: str) -> bool:
        """Send it, perhaps again, and hear what becomes of it."""
        self.send(text, client_id)
        return self.hear("accepted", "refused")["event"] == "accepted"

    def texts(self, count: int) -> list[str]:
        return [self.hear("message")["data"]["text"] for _ in range(count)]

    def close_code(self, seconds: float = 10) -> int:
        """Why the other side ended it."""
        try:
            while True:
                self.wire.recv(timeout=seconds)
        except ConnectionClosed as closed:
            return closed.rcvd.code

    def close(self) -> None:
        self.wire.close()


@pytest.fixture(scope="module")
def server(django_db_setup):
    with web_server("uvicorn") as address:
        yield address


@pytest.fixture
def enter(server, room):
    """Opens a socket to the room for somebody's API client; closed after the test."""
    opened = []

    def enter(api, **how) -> Socket:
        socket = Socket(how.pop("address", server), how.pop("room", room), api, **how)
        opened.append(socket)
        return socket

    yield enter
    for socket in opened:
        socket.close()
