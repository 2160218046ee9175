"""What a worker left behind is finished by another: in order, once, and without blaming bystanders."""

import threading

import pytest
from django.db import connection

from apps.events import delivery
from apps.events.models import DeadLetter, Retry

from .backbone import GROUP, ORDERED, Log, drain, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("leases_end")]

STREAM = "axiom:events"


@pytest.fixture
def log(handle, thing_happened):
    log = Log()
    handle(log, thing_happened, group=GROUP)
    return log


@pytest.fixture
def ordered_log(handle, thing_happened):
    log = Log()
    handle(log, thing_happened, group=ORDERED)
    return log


class Killed(BaseException):
    """A worker that dies where it stands: nobody catches this, as nobody catches SIGKILL."""


def deaths_of(bus, log, trouble, group=GROUP):
    """Let worker after worker take everything over until one survives; returns how many died."""
    log.trouble = trouble
    for number in range(10):
        try:
            worker(bus, f"w{number}", group).step()
        except Killed:
            continue
        return number
    raise AssertionError("nobody survives")


def buried():
    return [letter.fields["payload"] for letter in DeadLetter.objects.all()]


class TestTheLeaderOfAnOrderedGroup:
    def test_waits_for_what_its_predecessor_read_last(
        self, ordered_log, relay, bus, happen, settings
    ):
        """A worker that was cut off reads on until it notices."""
        settings.EVENTS_CHORE_SECONDS = 60
        drain(relay)
        leader = worker(bus, "new", ORDERED)
        leader.step()
        happen(1, 2, 3)
        drain(relay)
        bus.read(ORDERED, "cut off", [STREAM], 1, 0)
        while len(ordered_log) < 3:
            leader.step()

        assert ordered_log == [("t1", 1), ("t1", 2), ("t1", 3)]

    def test_takes_over_in_the_order_of_the_stream(self, ordered_log, relay, bus, happen):
        happen(1, 2, 3, 4)
        drain(relay)
        for name in ("first", "second", "first"):
            bus.read(ORDERED, name, [STREAM], 1, 0)
        leader = worker(bus, "new", ORDERED)
        while len(ordered_log) < 4:
            leader.step()

        assert ordered_log == [("t1", n) for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("group", [GROUP, ORDERED])
def test_a_worker_whose_connection_broke_comes_back(relay, bus, happen, handle, group):
    """Also when it only stood by, or held nothing but what nobody can read."""
    stop, seen = threading.Event(), []

    def note(message):
        seen.append(message.payload["number"])
        stop.set()

    handle(note, "TEST_THING_HAPPENED", group=group)
    happen(1)
    drain(relay)
    connection.connection.close()
    give_up = threading.Timer(60, stop.set)
    give_up.start()
    worker(bus, group=group).run(stop)
    give_up.cancel()

    assert seen == [1]


class TestAnEventThatKillsItsWorker:
    def test_is_buried_alone(self, log, relay, bus, happen):
        happen(1, 2, 3, 4)
        drain(relay)
        deaths = deaths_of(bus, log, {("t1", 2): Killed()})

        assert deaths == delivery.DELIVERIES_BEFORE_SUSPICION
        assert buried() == ['{"thing_id":"t1","number":2,"note":""}']
        assert log[-3:] == [("t1", 1), ("t1", 3), ("t1", 4)]

    def test_is_not_confused_with_one_that_waits(self, log, relay, bus, happen):
        happen(1, 2, 3)
        drain(relay)
        deaths_of(bus, log, {("t1", 1): RuntimeError("later"), ("t1", 2): Killed()})

        assert buried() == ['{"thing_id":"t1","number":2,"note":""}']
        assert Retry.objects.get().fields["payload"] == '{"thing_id":"t1","number":1,"note":""}'

    def test_of_an_ordered_group_lets_its_followers_through(self, ordered_log, relay, bus, happen):
        happen(1, 2, 3)
        drain(relay)
        deaths_of(bus, ordered_log, {("t1", 2): Killed()}, ORDERED)

        assert ordered_log[-2:] == [("t1", 1), ("t1", 3)]
