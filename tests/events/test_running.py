"""Loops that run for days: woken at once, patient when idle, and polite when told to stop."""

import os
import subprocess
import sys
import threading
import time

import pytest

from apps.events import heartbeats, keys
from apps.events import relay as relays
from apps.events.bus import BusUnavailable
from apps.events.heartbeats import Heart
from apps.events.models import OutboxEvent
from apps.events.relay import BUSY_POLL_SECONDS, Relay

from .backbone import GROUP, ORDERED, drain, make_due, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("leases_end")]

EVENTS = "axiom:events"
SLEEPS_IN_C = """
import time
import django
django.setup()
from apps.events import deadline
deadline.GRACE_SECONDS = 0.2
with deadline.limit(0.1):
    time.sleep(100)
"""


@pytest.fixture
def stop():
    return threading.Event()


class Around:
    """A bus to which something happens at each append."""

    def __init__(self, bus, happens):
        self._bus, self._happens = bus, happens

    def __getattr__(self, name):
        return getattr(self._bus, name)

    def append(self, batch, identity):
        self._happens()
        return self._bus.append(batch, identity)


class TestARelay:
    def test_looks_more_rarely_the_longer_nothing_comes(self, bus, redis_client, monkeypatch, stop):
        monkeypatch.setattr(relays, "IDLE_POLL_SECONDS", 0.3)
        relay, pauses = Relay(bus, "r1"), []
        for carried in (0, 0, 0, 0, 1):
            relay._wait_for_work(carried, stop)
            pauses.append(relay._poll)

        assert pauses == [0.1, 0.2, 0.3, 0.3, 2 * BUSY_POLL_SECONDS]

    def test_is_woken_by_a_nudge_and_takes_all_that_came_meanwhile(self, bus, redis_client, stop):
        relay = Relay(bus, "r1")
        relay._poll = 25.0
        redis_client.lpush(keys.NUDGE, 1, 1, 1)
        began = time.monotonic()
        relay._wait_for_work(0, stop)

        assert time.monotonic() - began < 20
        assert relay._poll == BUSY_POLL_SECONDS
        assert not redis_client.exists(keys.NUDGE)

    def test_finishes_the_batch_in_hand_when_told_to_stop(self, bus, redis_client, happen, stop):
        happen(1, 2, 3)
        Relay(Around(bus, stop.set), "r1").run(stop)

        assert OutboxEvent.objects.filter(status="PUBLISHED").count() == 3

    def test_waits_out_trouble_and_goes_on(self, bus, redis_client, happen, monkeypatch, stop):
        monkeypatch.setattr(relays, "backoff", lambda trouble: 0.0)
        times = iter(range(3))

        def away_twice():
            if next(times) < 2:
                raise BusUnavailable("away")
            stop.set()

        happen(1)
        Relay(Around(bus, away_twice), "r1").run(stop)

        row = OutboxEvent.objects.get()
        assert (row.status, row.attempt_count) == ("PUBLISHED", 1)


def test_a_worker_finishes_the_batch_in_hand_when_told_to_stop(bus, relay, happen, handle, stop):
    seen = []

    def stop_at_the_first(message):
        stop.set()
        seen.append(message.payload["number"])

    handle(stop_at_the_first, "TEST_THING_HAPPENED")
    happen(1, 2, 3)
    drain(relay)
    worker(bus).run(stop)

    assert seen == [1, 2, 3]
    (group,) = [each for each in bus.state(EVENTS).groups if each.group == GROUP]
    assert (group.lag, group.pending) == (0, 0)


@pytest.mark.parametrize("group", [GROUP, ORDERED])
def test_a_crowd_of_retries_lets_new_events_through_and_a_worker_stop(
    bus, relay, happen, handle, stop, group
):
    trouble, seen = [True], []

    def fail_at_first(message):
        if trouble:
            raise RuntimeError("later")
        seen.append(message.payload["number"])
        stop.set()

    handle(fail_at_first, "TEST_THING_HAPPENED", group=group)
    happen(*range(10))
    drain(relay)
    mine = worker(bus, group=group)
    mine.batch = 4
    for _ in range(3):
        mine.step()
    trouble.clear()
    make_due()
    happen(100, thing_id="t2")
    drain(relay)
    mine._next_chores = 0.0
    mine.run(stop)

    assert seen == [0, 1, 2, 3, 100]
    for _ in range(2):
        mine.step()
    assert sorted(seen) == [*range(10), 100]


class TestWhoIsAlive:
    def names(self):
        return [each.name for each in heartbeats.alive()]

    def test_is_who_beat_lately_and_did_not_stop(self, redis_client):
        for name in ("beats", "stopped", "died"):
            Heart(name, ["relay"]).beat()
        Heart("stopped", ["relay"]).stop()
        redis_client.delete(keys.heartbeat("died"))  # as it does by itself after some seconds

        assert self.names() == ["beats"]
        assert heartbeats.silent(["beats", "died"]) == ["died"]

    def test_is_known_again_after_redis_forgot(self, redis_client):
        heart = Heart("beats", ["relay"])
        heart.beat()
        redis_client.flushdb()
        assert self.names() == []
        heart.beat()
        assert self.names() == ["beats"]

    def test_those_that_died_long_ago_are_forgotten(self, redis_client):
        redis_client.zadd(keys.WORKERS_HEARD, {"long ago": 1_000_000})
        Heart("beats", ["relay"]).beat()

        assert redis_client.zrange(keys.WORKERS_HEARD, 0, -1) == [b"beats"]


def test_a_handler_that_cannot_be_interrupted_ends_its_process():
    """Its entries were not acknowledged, so another worker has them."""
    done = subprocess.run(
        [sys.executable, "-c", SLEEPS_IN_C], capture_output=True, timeout=90, check=False,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "axiom.settings"},
    )  # fmt: skip
    assert done.returncode == 70, done.stderr
    assert b"cannot be interrupted" in done.stdout + done.stderr
