"""How fast a word in a room reaches the others, and whether rooms keep their order under load."""

import json
from collections.abc import Iterator
from typing import Any

from apps.chat import services
from apps.events.context import acting

from . import servers
from .figure import Figure, Size, quantile
from .live import OURS, ask, served
from .people import people
from .processes import wait_until
from .publishing import TENANT
from .stage import MANAGE, Stage, stage

ROOMS, RATE, SECONDS = 50, 500, 20
P99_MS = 100.0


def chat(size: Size) -> Iterator[Figure]:
    """500 messages a second in 50 rooms, kept and fanned out meanwhile."""
    rooms = size.of(ROOMS, 5)
    seconds = max(2.0, SECONDS * size.scale)
    rate = RATE * rooms / ROOMS
    with stage("here", 0) as place, place.relay(), place.process(MANAGE, "runworker", "chat"):
        told = _talk(place, _rooms(rooms), rate, seconds)
        wait_until(lambda: place.count("chat_chatmessage") == len(told["took"]))
    took = [each * 1000 for each in told["took"]]
    p50, p99 = quantile(took, 0.50), quantile(took, 0.99)
    yield Figure(
        bench="chat", value=told["rate"], unit="messages/s", against="the rate asked for",
        against_value=rate, ratio=told["rate"] / rate,
        bar=f"order kept, all persisted, p99 <= {P99_MS:.0f} ms",
        met=told["kept_order"] and p99 <= P99_MS, p50_ms=p50, p99_ms=p99,
    )  # fmt: skip


def _rooms(count: int) -> list[dict[str, Any]]:
    users, tokens = people(count * 2)
    with acting(tenant_id=TENANT):
        return [
            {"id": str(_room(users[n], users[count + n])), "tokens": [tokens[n], tokens[count + n]]}
            for n in range(count)
        ]


def _room(writer: Any, reader: Any) -> Any:
    return services.open_room(name="Bench", by=writer, member_ids=[reader.pk]).pk


def _talk(place: Stage, rooms: list[dict[str, Any]], rate: float, seconds: float) -> Any:
    file = servers.DIRECTORY / "rooms.json"
    file.write_text(json.dumps(rooms))
    arguments = (str(file), str(rate), str(seconds))
    with (
        served(place, OURS) as server,
        place.process("-m", "benchmarks.chatting", str(server.port), *arguments) as client,
    ):
        assert client.stdout.readline() == "ready\n"
        return json.loads(ask(client, "go"))
