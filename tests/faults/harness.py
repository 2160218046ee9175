"""A whole installation in real processes, with a backlog, to which things happen."""

import json
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg

from apps.events.keys import heartbeat

from .servers import TEMPLATE, Bus, Database
from .verdict import TABLES, Verdict, judge
from .worker import ORDERED, SPREAD, Job, run

BACKLOG = 5_000
"""How many events wait at the least while something happens to them."""
DEADLINE = 100.0
STREAM = "axiom:events"
ROLES = {"relay": "relay", "ordered": "bpm", "spread": "notifications"}
"""What a test calls a worker, and what the installation calls it."""

RELAY_POINTS = ("relay.claimed", "relay.sent", "relay.settled")
CONSUMER_POINTS = (
    "consumer.read", "consumer.before_commit", "consumer.handled", "consumer.acked",
)  # fmt: skip

_fork = multiprocessing.get_context("forkserver")
_fork.set_forkserver_preload(["tests.faults.worker"])


def wait_until(look: Callable[[], Any], what: str, seconds: float = DEADLINE) -> Any:
    """What `look` finds, as soon as it finds it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not in {seconds:.0f} s: {what}")


class Process:
    """A process of ours that may be stopped, continued and killed."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._process = _fork.Process(target=run, args=(job,), name=job.name)
        self._process.start()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    @property
    def asleep(self) -> bool:
        return psutil.Process(self._process.pid).status() == psutil.STATUS_STOPPED

    @property
    def exit_code(self) -> int | None:
        return self._process.exitcode

    def signal(self, number: signal.Signals) -> None:
        pid = self._process.pid
        if self.alive and pid:
            os.kill(pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self._process.join(20)

    def join(self, seconds: float = DEADLINE) -> int | None:
        self._process.join(seconds)
        return self.exit_code


@dataclass
class Plant:
    """Servers, workers and producers of one test."""

    database: Database
    bus: Bus
    name: str
    directory: Path
    chance: random.Random
    without: tuple[str, ...] = ()
    failing: float = 0.0
    left_alone: int = 2
    counters: int = 60
    spare: int = 1_000
    """How many more than the backlog are there when a fault begins."""
    processes: list[Process] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    smallest_backlog: int | None = None
    events: int = 0
    _connection: "psycopg.Connection[Any] | None" = None

    # Processes

    def start(self, **wanted: int) -> None:
        """`start(relay=3, ordered=2)`"""
        for role, count in wanted.items():
            for _ in range(count):
                self.add(role)

    def add(self, role: str, **fate: str) -> Process:
        """One more worker; `dies_at="relay.sent:3"`, `sleeps_at="relay.claimed"`."""
        process = Process(self._job(role, **fate))
        self.processes.append(process)
        return process

    def _job(self, role: str, **more: Any) -> Job:
        name = f"{role}-{len(self.processes)}-{self.chance.randrange(10**6)}"
        return Job(
            role=ROLES.get(role, role), name=name, database=self._django_database(),
            redis=self.bus.url(), log=str(self.directory / f"{name}.log"),
            directory=str(self.directory / "metrics"), without=self.without,
            failing=self.failing, left_alone=self.left_alone,
            seed=self.chance.randrange(10**9), **more,
        )  # fmt: skip

    def _django_database(self) -> dict[str, Any]:
        place = psycopg.conninfo.conninfo_to_dict(self.database.url(self.name))
        return {
            "NAME": place["dbname"], "USER": place["user"], "PASSWORD": place["password"],
            "HOST": place["host"], "PORT": place["port"],
        }  # fmt: skip

    def hears(self, process: Process) -> bool:
        """Whether others know that this worker lives."""
        with self.bus.client() as client:
            return bool(client.exists(heartbeat(process.job.name)))

    def working(self, role: str) -> list[Process]:
        return [p for p in self.processes if p.job.role == ROLES[role] and p.alive]

    def one_of(self, role: str) -> Process:
        return self.chance.choice(self.working(role))

    def replace_one(self, role: str) -> None:
        """Kill a worker at random and start another."""
        self.one_of(role).kill()
        self.add(role)

    # What is on its way

    def publish(self, events: int, **orders: Any) -> None:
        """Publish so many events from two producers at once, and wait for them."""
        for producer in self.begin_publishing(events, **orders):
            assert producer.join() == 0, self._words_of(producer)

    def begin_publishing(self, events: int, **orders: Any) -> list[Process]:
        names = [f"counter-{n}" for n in range(self.counters)]
        producers = []
        for half in (names[::2], names[1::2]):
            orders |= {"counters": half, "events": events // 2}
            producers.append(Process(self._job("producer", orders=dict(orders))))
        self.processes += producers
        return producers

    def _words_of(self, process: Process) -> str:
        return "\n".join(Path(process.job.log).read_text().splitlines()[-30:])

    def ask(self, query: str, *params: object) -> Any:
        """The one value that a query finds; a connection that a fault cut is made again."""
        try:
            row = self._connected().execute(query, params).fetchone()  # type: ignore[arg-type]
        except psycopg.OperationalError:
            self._connection = None
            row = self._connected().execute(query, params).fetchone()  # type: ignore[arg-type]
        return row[0] if row else None

    def _connected(self) -> "psycopg.Connection[Any]":
        if self._connection is None:
            url = self.database.superuser_url(self.name)
            self._connection = psycopg.connect(url, autocommit=True)
        return self._connection

    def effects(self) -> int:
        return int(self.ask("SELECT count(*) FROM fault_effect"))

    def backlog(self) -> int:
        """How many events some group has not had its effect of."""
        return int(
            self.ask(
                """SELECT (SELECT count(*) FROM fault_ledger) - least(
                   (SELECT count(DISTINCT event_id) FROM fault_effect WHERE "group" = %s),
                   (SELECT count(DISTINCT event_id) FROM fault_effect WHERE "group" = %s))""",
                ORDERED, SPREAD,
            )
        )  # fmt: skip

    def keep_backlog(self) -> None:
        """Publish until more wait than must, however fast they are taken meanwhile."""
        ahead = 0
        while (short := BACKLOG + self.spare - self.backlog()) > self.spare // 3:
            self.publish(short + ahead)
            ahead += max(0, BACKLOG + self.spare - self.backlog())

    # What happens to it

    def suffer(self, what: str, fault: Callable[[], object]) -> None:
        """Let something happen while the backlog is there, before it and after.

        Where it was taken faster than that, it happens again to a larger one.
        """
        while (backlog := self._backlog_during(fault)) < BACKLOG:
            self.spare *= 2
            assert self.spare < 50_000, f"no backlog is held while {what}"
        self.faults.append(what)
        self.smallest_backlog = min(self.smallest_backlog or backlog, backlog)

    def _backlog_during(self, fault: Callable[[], object]) -> int:
        self.keep_backlog()
        before = self.backlog()
        fault()
        return min(before, self.backlog())

    def die_at(self, role: str, points: Iterable[str], times: int) -> None:
        """Add a worker for each of these places, and see each of them die there."""
        doomed = [
            self.add(role, dies_at=f"{point}:{self.chance.randint(1, times)}") for point in points
        ]
        for process in doomed:
            wait_until(lambda p=process: not p.alive, f"death at {process.job.dies_at}")  # type: ignore[misc]
            assert process.exit_code == -signal.SIGKILL, self._words_of(process)

    def goes_on(self, effects: int = 100) -> None:
        """Wait until so many more effects were left: the installation works."""
        before = self.effects()
        wait_until(lambda: self.effects() >= before + effects or not self.backlog(), "more effects")

    # The end

    def finish(self, patience: float = DEADLINE) -> Verdict:
        """Let everything come to its end, or until nothing moves any more, then judge."""
        state, since = self._progress(), time.monotonic()
        while not self.at_rest() and time.monotonic() - since < patience:
            time.sleep(0.2)
            if (now := self._progress()) != state:
                state, since = now, time.monotonic()
        return self.verdict()

    def _progress(self) -> object:
        return self.effects(), self.in_outbox("PUBLISHED")

    def at_rest(self) -> bool:
        return self.nothing_waits() and self.backlog() == 0

    def nothing_waits(self) -> bool:
        """Whether nobody has anything left to do, rightly or wrongly."""
        return (
            not self.in_outbox("PENDING", "PROCESSING")
            and self.ask("SELECT count(*) FROM event_retry") == 0
            and self._streams_done()
        )

    def in_outbox(self, *statuses: str) -> int:
        return int(
            self.ask("SELECT count(*) FROM event_outbox WHERE status = ANY(%s)", list(statuses))
        )

    def _streams_done(self) -> bool:
        with self.bus.client() as client:
            if not client.exists(STREAM):
                return False
            groups = client.xinfo_groups(STREAM)
        return all(g["pending"] == 0 and g["lag"] == 0 for g in groups)

    def verdict(self) -> Verdict:
        self.events = int(self.ask("SELECT count(*) FROM fault_ledger"))
        return judge(self.ask, list(self._entries()))

    def _entries(self) -> Iterator[tuple[str, int]]:
        with self.bus.client() as client:
            for _, fields in client.xrange(STREAM):
                payload = json.loads(fields[b"payload"])
                yield payload["counter"], payload["number"]

    def story(self, seed: int) -> str:
        """What happened here, in one line."""
        faults = ", ".join(self.faults)
        return f"seed {seed}: {self.events} events, backlog {self.smallest_backlog}: {faults}"

    def close(self) -> None:
        for process in self.processes:
            process.signal(signal.SIGCONT)
            process.kill()


def make_template(database: Database, bus: Bus, directory: Path) -> None:
    """Migrate once; every test copies the result."""
    with psycopg.connect(database.url("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {TEMPLATE}")
    plant = Plant(database, bus, TEMPLATE, directory, random.Random(0))
    process = Process(plant._job("migrate"))
    assert process.join() == 0, plant._words_of(process)
    with psycopg.connect(database.url(TEMPLATE), autocommit=True) as connection:
        connection.execute(TABLES)
