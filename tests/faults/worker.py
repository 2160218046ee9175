"""What the processes do that the fault tests kill: relay, consume, publish.

Each one is forked from a server process that has loaded Django already, and takes its orders as
a Job. Handlers leave an effect in a table that would show a second one.
"""

import ctypes
import os
import random
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import django
from django.apps import apps

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "axiom.settings")
if not apps.ready:
    django.setup()

from django.conf import settings
from django.core.management import call_command
from django.db import Error, connection, connections, transaction

from apps.events import catalog, consumer, failpoints, handlers, heartbeats, relay, workers
from apps.events.catalog import Event
from apps.events.context import acting
from apps.events.outbox import publish_many

from . import sabotage

ORDERED, SPREAD = "bpm_engine", "notification_group"
COUNTED = "TEST_COUNTED"
TENANT = UUID("018f2d1c-0000-7000-8000-000000000001")

BATCH = 100
HURRY = {
    "EVENTS_BATCH": BATCH,
    "EVENTS_RETRY_SECONDS": [0.2, 0.4, 0.8],
    "EVENTS_CHORE_SECONDS": 0.4,
    "EVENTS_NUDGE_PAUSE_SECONDS": 0.5,
}


@dataclass(frozen=True)
class Job:
    """What one process is to do, and how it is to die."""

    role: str
    name: str
    database: dict[str, Any]
    redis: str
    log: str
    directory: str
    dies_at: str = ""
    """Where to die, and the how-manieth time: "relay.sent:3"."""
    sleeps_at: str = ""
    """Where to fall asleep until somebody wakes it, once."""
    without: tuple[str, ...] = ()
    """Guarantees that are switched off: the harness must notice."""
    failing: float = 0.0
    """The share of events that a handler does not manage at once."""
    left_alone: int = 2
    """For how many seconds nobody takes what a silent worker holds."""
    seed: int = 0
    orders: dict[str, Any] = field(default_factory=dict)


def run(job: Job) -> None:
    """The life of one process."""
    _die_with_the_tests()
    _write_to(job.log)
    _connect(job)
    for guarantee in job.without:
        sabotage.SWITCHES[guarantee]()
    _declare(job)
    {"migrate": _migrate, "producer": _produce}.get(job.role, _work)(job)


def _die_with_the_tests() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _write_to(log: str) -> None:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)


def _connect(job: Job) -> None:
    settings.REDIS_URL = job.redis
    settings.METRICS_DIR = type(settings.METRICS_DIR)(job.directory)
    connections.databases["default"].update(job.database)
    connections["default"].settings_dict.update(job.database)
    # The audit in the database tells processes apart by this name.
    os.environ["PGAPPNAME"] = job.name
    for name, value in HURRY.items():
        setattr(settings, name, value)
    settings.EVENTS_LEASE_SECONDS = heartbeats.GONE_AFTER_SECONDS = job.left_alone
    settings.EVENTS_RECLAIM_IDLE_SECONDS = 2 * job.left_alone + 1
    heartbeats.EVERY_SECONDS = 0.3
    relay.IDLE_POLL_SECONDS = 0.5
    patiently = relay.backoff
    relay.backoff = consumer.backoff = lambda trouble: min(patiently(trouble), 1.0)


def _migrate(job: Job) -> None:
    call_command("migrate", "events", verbosity=0)


def _work(job: Job) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    os.environ["AXIOM_FAILPOINTS"] = job.dies_at
    if job.sleeps_at:
        woken = _told_of_signals()
        signal.signal(signal.SIGCONT, lambda *_: None)
        failpoints.arm(job.sleeps_at, lambda: _sleep_once(woken))
    heartbeats.new_worker_name = lambda: job.name  # type: ignore[assignment]
    workers.run([job.role], stop)


def _told_of_signals() -> int:
    """Where a byte can be read as soon as a signal arrives, whichever thread takes it."""
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    signal.set_wakeup_fd(writes)
    return reads


def _sleep_once(woken: int) -> None:
    """Stop the whole process here: other threads may take the signal, and this one run on a bit."""
    failpoints.disarm()
    os.kill(os.getpid(), signal.SIGSTOP)
    os.read(woken, 1)


# Events and what they leave behind


def _declare(job: Job) -> None:
    """Only the test's own event and handlers: nobody else's consumers are looked for."""

    class Counted(Event, type=COUNTED, aggregate="counter", key="counter"):
        counter: str
        number: int

    handlers._handlers.clear()
    moody = _moody(job)
    handlers.on(Counted, group=ORDERED, batch=True)(lambda messages: moody(ORDERED, messages))
    handlers.on(Counted, group=SPREAD, batch=True)(lambda messages: moody(SPREAD, messages))


def _moody(job: Job) -> Callable[..., None]:
    chance = random.Random(job.seed)

    def act(group: str, messages: list[Any]) -> None:
        leave_effect(group, messages)
        if chance.random() < job.failing:
            raise RuntimeError("not now")

    return act


def leave_effect(group: str, messages: list[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            'INSERT INTO fault_effect ("group", event_id, counter, number, worker)'
            " SELECT %s, e, c, n, current_setting('application_name')"
            " FROM unnest(%s::uuid[], %s::text[], %s::int[]) AS x(e, c, n)",
            [
                group,
                [m.event_id for m in messages],
                [m.payload["counter"] for m in messages],
                [m.payload["number"] for m in messages],
            ],
        )


# Publishing


def _produce(job: Job) -> None:
    """Publish so many events in transactions of all sizes; some of them are taken back."""
    producer = Producer(random.Random(job.seed), **job.orders)
    with acting(tenant_id=TENANT, actor="alice@example.com", trace_id="a" * 32):
        while not producer.done():
            try:
                producer.publish_some()
            except Error:
                connection.close()
                time.sleep(0.1)
                producer.forget()


class TakenBack(Exception):
    """The business transaction fails after it published."""


class Producer:
    """Numbers the events of its counters without gaps, whatever happens to its transactions."""

    def __init__(
        self, chance: random.Random, *, counters: list[str], events: int, largest: int = 200,
        taken_back: float = 0.1, slow: float = 0.0,
    ) -> None:  # fmt: skip
        self.chance, self.counters, self.events = chance, counters, events
        self.largest, self.taken_back, self.slow = largest, taken_back, slow
        self.published: int | None = None
        self.forget()

    def forget(self) -> None:
        """The outcome of the last transaction is unknown: the ledger knows."""
        self.last: dict[str, int] | None = None

    def done(self) -> bool:
        return self.published is not None and self.published >= self.events

    def publish_some(self) -> None:
        self._remember()
        assert self.last is not None
        last = defaultdict(int, self.last)
        events = [self._next(last) for _ in range(self.chance.randint(1, self.largest))]
        try:
            with transaction.atomic():
                self._publish(events)
        except TakenBack:
            return
        self.last = dict(last)
        self.published = (self.published or 0) + len(events)

    def _remember(self) -> None:
        if self.last is not None:
            return
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT counter, max(number), count(*) FROM fault_ledger"
                " WHERE counter = ANY(%s) GROUP BY counter", [self.counters],
            )  # fmt: skip
            rows = cursor.fetchall()
        self.last = {counter: number for counter, number, _ in rows}
        known = sum(count for *_, count in rows)
        if self.published is None:
            self.events += known
        self.published = known

    def _next(self, last: dict[str, int]) -> Event:
        counter = self.chance.choice(self.counters)
        last[counter] += 1
        return catalog.event_class_of(COUNTED)(counter=counter, number=last[counter])

    def _publish(self, events: list[Event]) -> None:
        ids = publish_many(events)
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO fault_ledger (event_id, counter, number)"
                " SELECT * FROM unnest(%s::uuid[], %s::text[], %s::int[])",
                [ids, [e.counter for e in events], [e.number for e in events]],  # type: ignore[attr-defined]
            )
        if self.chance.random() < self.slow:
            time.sleep(0.3)
        if self.chance.random() < self.taken_back:
            raise TakenBack
