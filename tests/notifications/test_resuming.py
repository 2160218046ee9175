"""A thousand cuts in a steady flow: every client hears everything once, in order."""

import asyncio
import random
import threading
from urllib.parse import urlsplit

import pytest
from django.db import connection

from apps.events.context import acting
from apps.notifications.services import Notice, notify

from .conftest import web_server

pytestmark = pytest.mark.django_db(transaction=True)

CLIENTS, CUTS_EACH = 50, 20


class Flow:
    """Tells everybody something again and again, until it is told to end."""

    def __init__(self, tenant, people) -> None:
        self._tenant, self._people = tenant, [person.pk for person in people]
        self.ending, self.count = threading.Event(), 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with acting(tenant_id=self._tenant.pk):
            while not self.ending.wait(0.02):
                self.count += 1
                notify([Notice(self._people, f"flow:{self.count}", "alert", "Look")])
        connection.close()

    async def end(self) -> int:
        """How many there were."""
        self.ending.set()
        await asyncio.to_thread(self._thread.join)
        return self.count


class Follower:
    """A client that is cut again and again, and resumes after the last number it has, anywhere."""

    def __init__(self, addresses: list[str], token: str, seed: int) -> None:
        self._places, self._token = [urlsplit(each) for each in addresses], token
        self._random = random.Random(seed)
        self.heard: list[int] = []
        self.cuts = 0

    async def be_cut(self, times: int) -> None:
        for _ in range(times):
            await self._listen(len(self.heard) + self._random.randint(1, 6))
            self.cuts += 1

    async def hear_out(self, last: int) -> None:
        while not self.heard or self.heard[-1] < last:
            await self._listen(len(self.heard) + 1)

    async def _listen(self, until: int) -> None:
        """One connection, dropped without a word once so many are known."""
        place = self._random.choice(self._places)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        last = self.heard[-1] if self.heard else 0
        head = (
            f"GET /api/v1/notifications/stream HTTP/1.1\r\nHost: {place.netloc}\r\n"
            f"Authorization: {self._token}\r\nLast-Event-ID: {last}\r\n\r\n"
        )
        writer.write(head.encode())
        number = None
        while len(self.heard) < until:
            line = await asyncio.wait_for(reader.readline(), 60)
            if line.startswith(b"id: "):
                number = int(line[4:])
            elif line == b"\n" and number is not None:
                self.heard.append(number)
                number = None
        writer.transport.abort()


@pytest.mark.timeout(180)
def test_a_thousand_cuts_lose_nothing_and_repeat_nothing(acme, member_of, api_of, redis_client):
    people = [member_of(acme, f"person{n}", "viewer") for n in range(CLIENTS)]
    tokens = [api_of(person)._credentials["HTTP_AUTHORIZATION"] for person in people]
    with web_server("uvicorn") as one, web_server("daphne") as other:
        followers = [Follower([one, other], token, seed) for seed, token in enumerate(tokens)]
        last = asyncio.run(_scene(followers, Flow(acme, people)))
    assert sum(each.cuts for each in followers) == 1_000
    expected = list(range(1, last + 1))
    assert [each.heard == expected for each in followers] == [True] * CLIENTS


async def _scene(followers, flow) -> int:
    try:
        await asyncio.gather(*(each.be_cut(CUTS_EACH) for each in followers))
    finally:
        last = await flow.end()
    await asyncio.gather(*(each.hear_out(last) for each in followers))
    return last
