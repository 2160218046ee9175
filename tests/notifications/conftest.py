"""Web servers with live streams, and clients that listen to them."""

import contextlib
import json
import threading
from collections.abc import Iterator

import httpx
import pytest
from django.conf import settings
from django.db import connection

from apps.events import connections
from apps.events.context import acting
from apps.notifications.services import Notice, notify
from axiom.embedded import Valkey
from axiom.embedded.state import free_port
from tests.programs import started

SERVERS = {
    "daphne": lambda port: ("daphne", "-b", "127.0.0.1", "-p", str(port), "axiom.asgi:application"),
    "uvicorn": lambda port: (
        *("uvicorn", "axiom.asgi:application", "--port", str(port), "--lifespan", "off"),
        *("--no-access-log",),
    ),
}


@contextlib.contextmanager
def web_server(kind: str = "daphne", redis_url: str = "", database_url: str = "") -> Iterator[str]:
    """A web server of its own process on the test's database and Redis; its address."""
    port = free_port()
    url = database_url or own_database()
    bus = redis_url or settings.REDIS_URL
    with started(*SERVERS[kind](port), DATABASE_URL=url, REDIS_URL=bus) as server:
        address = f"http://127.0.0.1:{port}"
        server.wait_for(lambda: _answers(address))
        yield address


def own_database() -> str:
    """The test's database, as other processes are told of it."""
    return settings.DATABASE_URL.rsplit("/", 1)[0] + f"/{connection.settings_dict['NAME']}"


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/healthz", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


class Listener:
    """A client with an open stream; what it heard, as it came."""

    def __init__(self, address: str, path: str = "/api/v1/notifications/stream", **headers) -> None:
        self.heard: list[tuple[str | None, str, dict]] = []
        self.ended = threading.Event()
        self._client = httpx.Client(timeout=httpx.Timeout(5, read=60))
        self._context = self._client.stream("GET", address + path, headers=headers)
        self.response = self._context.__enter__()
        self.status = self.response.status_code
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        place, event = None, ""
        with contextlib.suppress(httpx.HTTPError, httpx.StreamError):
            for line in self.response.iter_lines():
                name, _, value = line.partition(": ")
                if name == "id":
                    place = value
                elif name == "event":
                    event = value
                elif name == "data":
                    self.heard.append((place, event, json.loads(value)))
                    place = None
        self.ended.set()

    def of(self, event: str) -> list[tuple[str | None, dict]]:
        return [(place, data) for place, name, data in self.heard if name == event]

    def numbers(self) -> list[int]:
        return [int(place) for place, _ in self.of("notification") if place]

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.response.close()
            self._client.close()


@pytest.fixture
def listen():
    """Opens a stream for somebody's API client; closed after the test."""
    opened = []

    def open_stream(address, client, **headers) -> Listener:
        token = client._credentials["HTTP_AUTHORIZATION"]
        listener = Listener(address, Authorization=token, **headers)
        opened.append(listener)
        return listener

    yield open_stream
    for listener in opened:
        listener.close()


@pytest.fixture
def tell(acme):
    """Tells people of Acme something."""
    told = iter(range(10_000))

    def tell(*people, title="Cash is low", **more):
        with acting(tenant_id=acme.pk):
            notice = {"occasion": f"test:{next(told)}", "kind": "alert", "title": title} | more
            return notify([Notice(recipient_ids=[person.pk for person in people], **notice)])

    return tell


@pytest.fixture
def own_redis(tmp_path, settings):
    """A Redis that this test may kill; what is told goes through it too."""
    valkey = Valkey(tmp_path)
    settings.REDIS_URL = valkey.start()
    connections._redis_client.cache_clear()
    yield valkey
    valkey.stop()
    connections._redis_client.cache_clear()
