"""What open streams cost, and how fast one word reaches all of them."""

import contextlib
import json
import resource
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import psutil
from django.db import transaction

from apps.events import keys
from apps.events.context import acting
from apps.notifications.services import Notice, notify
from apps.watch.models import Subscription
from axiom.embedded.state import free_port

from . import servers
from .alerting import ALWAYS, subscribe
from .events import ClaimTimed
from .figure import Figure, Size
from .latency import figure_of, produced
from .people import people
from .processes import Process, wait_until
from .publishing import TENANT
from .stage import MANAGE, Stage, stage

STREAMS = 5_000
# Opened before anything is counted: what the first streams bring up is not the price of a stream.
FIRST = 50
OURS, TRIVIAL = "axiom.asgi:application", "benchmarks.trivial:application"
WORDS = 7
LEFT_AS_IT_IS = "the collector left as it is"


@dataclass(frozen=True)
class Server:
    """A web server under load: one process, as the production image runs it."""

    process: Process
    port: int

    def resident(self) -> int:
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def threads(self) -> int:
        return int(psutil.Process(self.process.pid).num_threads())

    def worked(self) -> float:
        """Its seconds of CPU so far."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)


@contextlib.contextmanager
def served(place: Stage, application: str, **environment: str) -> Iterator[Server]:
    """The application on a server that answers."""
    _raise_limit()
    port = free_port()
    command = (
        "-m", "uvicorn", application, "--port", str(port), "--lifespan", "off", "--loop", "asyncio",
        "--http", "h11", "--log-level", "warning", "--no-access-log",
    )  # fmt: skip
    with place.process(*command, **environment) as process:
        wait_until(lambda: _listens(port))
        yield Server(process, port)


def _raise_limit() -> None:
    """The server inherits it: each stream is a file."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def listeners(place: Stage, server: Server, tokens: list[str], name: str) -> Iterator[Process]:
    """So many open streams, in a process of their own."""
    file = servers.DIRECTORY / f"tokens-{name}.json"
    file.write_text(json.dumps(tokens))
    with place.process("-m", "benchmarks.listening", str(server.port), str(file)) as client:
        assert client.stdout.readline() == "ready\n"
        yield client


def ask(client: Process, word: str) -> str:
    """Tell the client something; the line it says at once."""
    client.stdin.write(word + "\n")
    client.stdin.flush()
    return client.stdout.readline().strip()


# Memory


@dataclass(frozen=True)
class Cost:
    """What the streams of a server took."""

    bytes_each: float
    threads: int
    sessions: int


def live_memory(size: Size) -> Iterator[Figure]:
    """5,000 open streams in one process, against the least that a stream can be."""
    count = size.of(STREAMS, FIRST)
    with stage("here", 0) as place:
        _, tokens = people(count + FIRST)
        ours, least = _cost(place, OURS, tokens), _cost(place, TRIVIAL, tokens)
    ratio, held = ours.bytes_each / least.bytes_each, ours.threads + ours.sessions
    yield Figure(
        bench="live_memory", value=ours.bytes_each / 1024, unit="KiB per stream",
        against="a trivial ASGI application", against_value=least.bytes_each / 1024, ratio=ratio,
        bar=f"ratio <= 1.5, threads and database sessions held: {held}, none allowed",
        met=ratio <= 1.5 and held == 0,
    )  # fmt: skip


def _cost(place: Stage, application: str, tokens: list[str]) -> Cost:
    with (
        served(place, application) as server,
        listeners(place, server, tokens[:FIRST], "first"),
    ):
        before = _counted(place, server)
        with listeners(place, server, tokens[FIRST:], "rest"):
            time.sleep(3)
            after = _counted(place, server)
    count = len(tokens) - FIRST
    return Cost((after[0] - before[0]) / count, after[1] - before[1], after[2] - before[2])


def _counted(place: Stage, server: Server) -> tuple[int, int, int]:
    sessions = place.count("pg_stat_activity WHERE datname = current_database()")
    return server.resident(), server.threads(), sessions


# One word to all


def live_broadcast(size: Size) -> Iterator[Figure]:
    """One alert to 5,000 clients: from its commit until the last has it.

    The servers are open all at once and take turns: what disturbs one disturbs the others.
    """
    count = size.of(STREAMS, FIRST)
    with stage("here", 0) as place, contextlib.ExitStack() as stack:
        users, tokens = people(count * 2)

        def audience(tell: Any, application: str, first: int, **how: str) -> Audience:
            theirs = tokens[first : first + count]
            return stack.enter_context(_audience(place, tell, application, theirs, **how))

        tuned = audience(_Alert(users[:count]).tell, OURS, 0)
        untuned = audience(_Alert(users[count:]).tell, OURS, count, LIVE_TUNES_GARBAGE="0")
        rounds = _rounds(tuned, untuned, audience(_say_trivially, TRIVIAL, 0))
    ours, untuned_took, least = (median(took) for took in zip(*rounds, strict=True))
    yield _faster_enough("live_broadcast", ours, least, "a trivial ASGI application", 2.0)
    yield _faster_enough("live_broadcast_gc", ours, untuned_took, LEFT_AS_IT_IS, 1.1)
    yield Figure(
        bench="live_open_gc", value=tuned.opened_with, unit=f"CPU s to open {count:,} streams",
        against=LEFT_AS_IT_IS, against_value=untuned.opened_with,
        ratio=tuned.opened_with / untuned.opened_with, bar="ratio <= 1",
        met=tuned.opened_with <= untuned.opened_with,
    )  # fmt: skip


def _rounds(*audiences: "Audience") -> list[list[float]]:
    time.sleep(2)
    for each in audiences:
        each.seconds_for("warm")
    return [[each.seconds_for(f"word-{n}-of-many") for each in audiences] for n in range(WORDS)]


def _faster_enough(name: str, ours: float, theirs: float, against: str, most: float) -> Figure:
    return Figure(
        bench=name, value=ours * 1000, unit="ms", against=against, against_value=theirs * 1000,
        ratio=ours / theirs, bar=f"ratio <= {most}", met=ours / theirs <= most,
    )  # fmt: skip


@dataclass(frozen=True)
class Audience:
    """A server with its open streams, and how it is told something."""

    server: Server
    client: Process
    tell: Any
    opened_with: float
    """The seconds of CPU that it took the server to open them."""

    def seconds_for(self, word: str) -> float:
        """Until the last has it."""
        assert ask(self.client, word) == "waiting"
        said_at = self.tell(self.server, word)
        return float(max(json.loads(self.client.stdout.readline())) - said_at)


@contextlib.contextmanager
def _audience(
    place: Stage, tell: Any, application: str, tokens: list[str], **how: str
) -> Iterator[Audience]:
    with served(place, application, **how) as server:
        before = server.worked()
        with listeners(place, server, tokens, f"of-{server.port}") as client:
            yield Audience(server, client, tell, server.worked() - before)


def _say_trivially(server: Server, word: str) -> float:
    frame = f'id: 1\nevent: notification\ndata: {{"title":"{word}","body":"{"x" * 150}"}}\n\n'
    head = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(frame)}\r\n\r\n"
    # Connected before the clock is read: what an HTTP client does first is not the server's time.
    with socket.create_connection(("127.0.0.1", server.port)) as wire:
        begin = time.monotonic()
        wire.sendall((head + frame).encode())
        assert b"204" in wire.recv(1_000)
    return begin


class _Alert:
    """Tells these people; each word is another occasion."""

    def __init__(self, users: list[Any]) -> None:
        self._ids = [user.pk for user in users]

    def tell(self, server: Server, word: str) -> float:
        committed: list[float] = []
        with acting(tenant_id=TENANT), transaction.atomic():
            transaction.on_commit(lambda: committed.append(time.monotonic()))
            notify([Notice(self._ids, f"bench:{word}", "alert", word)])
        return committed[0]


# From the commit of an event to the frame in a browser


IDLE, ALERTS_PER_SECOND, SECONDS = 1_000, 20, 30
_NUMBERED = """
SELECT a.id::text, (o.payload ->> 'number')::int
FROM watch_alert a JOIN event_outbox o ON o.aggregate_id = a.aggregate_id
WHERE o.event_type = 'BENCH_CLAIM_TIMED'
"""


def live_latency(size: Size) -> Iterator[Figure]:
    """Commit to frame through the whole path, at 20 alerts a second and 1,000 idle streams."""
    count = size.of(ALERTS_PER_SECOND * SECONDS, 20)
    with stage("here", 0) as place:
        users, tokens = people(size.of(IDLE, 20) + 1)
        subscribe(ClaimTimed, [ALWAYS])
        Subscription.across_tenants.update(user=users[0], role="")
        with place.relay(), _workers(place), served(place, OURS) as server:
            took = _latencies(place, server, tokens, count)
    yield figure_of("live_latency", [took], 25.0, 100.0)


@contextlib.contextmanager
def _workers(place: Stage) -> Iterator[None]:
    """Each in a process of its own, as in production."""
    with contextlib.ExitStack() as stack:
        for worker in ("watch_cep", "notifications"):
            stack.enter_context(place.process(MANAGE, "runworker", worker))
        # With the relay's there are three hearts: what waits for a start is not measured.
        wait_until(lambda: len(place.client.keys(keys.heartbeat("*"))) >= 3)
        yield


def _latencies(place: Stage, server: Server, tokens: list[str], count: int) -> list[float]:
    with listeners(place, server, tokens, "idle") as client:
        assert ask(client, "listen") == "listening"
        committed = produced(place, ALERTS_PER_SECOND, count, producers=1)
        # The producer's first, which is not measured, causes an alert too.
        wait_until(lambda: len(json.loads(ask(client, "heard"))) > count, pause=0.2)
        heard = json.loads(ask(client, "heard"))
    numbers = dict(place.connection.execute(_NUMBERED).fetchall())
    came = {numbers[alert_id]: moment for alert_id, moment in heard.items()}
    return [(came[number] - moment) * 1000 for number, moment in committed.items()]
