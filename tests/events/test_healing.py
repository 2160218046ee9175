"""A bus that lost its data: nothing old is forgotten, nothing newer slips in before it."""

import pytest
from django.db import connection

from apps.events.bus import StreamsLost
from apps.events.bus.memory import MemoryBus
from apps.events.keys import Stream
from apps.events.models import OutboxEvent
from apps.events.relay import Relay

from .conftest import entries

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def reader(handle):
    """Somebody who has not confirmed anything yet."""
    handle(lambda message: None, "TEST_THING_HAPPENED")


@pytest.fixture
def other(connect):
    return Relay(connect(), "relay-2")


def work(relay, batches=12):
    """A bounded drain: a relay that turns in circles must fail the test, not hang it."""
    for _ in range(batches):
        relay.relay_batch()


def wipe(bus):
    if hasattr(bus, "wipe"):
        bus.wipe()
    else:
        bus.client.flushdb()


def forget_stream(bus, stream=Stream.EVENTS):
    if hasattr(bus, "forget_stream"):
        bus.forget_stream(stream)
    else:
        bus.client.delete(stream)


def test_a_relay_with_nothing_to_do_notices_the_loss(relay, bus, happen):
    happen(1, 2)
    work(relay)
    wipe(bus)
    work(relay)

    assert entries(bus) == [("t1", 1), ("t1", 2)]


def test_a_stream_that_vanished_alone_is_made_again_with_what_it_held(relay, bus, happen):
    happen(1)
    work(relay)
    forget_stream(bus)
    happen(2)
    work(relay)

    assert entries(bus) == [("t1", 1), ("t1", 2)]


def test_a_relay_that_slept_through_the_healing_sends_nothing(relay, other, bus, happen):
    """Its event would stand before those that have to be sent again."""
    happen(1)
    work(relay)
    happen(2)
    claim = relay._outbox.claim(10)
    wipe(bus)
    other._ready_outbox()
    with pytest.raises(StreamsLost):
        relay._carry(relay._outbox, claim)
    work(other)

    assert entries(bus) == [("t1", 1), ("t1", 2)]


def test_a_settlement_that_comes_after_the_healing_does_not_count(relay, other, bus, happen):
    """What it says was sent is what was lost."""
    work(relay)
    happen(1)
    outbox = relay._outbox
    claim = outbox.claim(10)
    results = relay._send(claim)
    wipe(bus)
    other._ready_outbox()
    relay._settle(outbox, claim, results)
    work(other)

    assert entries(bus) == [("t1", 1)]
    assert OutboxEvent.objects.get().status == "PUBLISHED"


def test_a_bus_that_is_lost_again_while_it_is_healed_is_healed_again(relay, bus, happen):
    happen(1, 2)
    work(relay)
    wipe(bus)
    look, looks = bus.state, []

    def lose_again(stream):
        if not looks:
            looks.append(stream)
            wipe(bus)
        return look(stream)

    bus.state = lose_again
    work(relay)

    assert looks
    assert entries(bus) == [("t1", 1), ("t1", 2)]


def test_a_crash_that_forgot_the_last_entries_has_only_those_sent_again(happen):
    memory = MemoryBus()
    relay = Relay(memory, "relay-1")
    happen(1)
    work(relay)
    happen(2, 3)
    work(relay)
    memory.crash(losing=2)
    happen(4)
    work(relay)

    assert [number for _, number in entries(memory)] == [1, 2, 3, 4]


def test_nothing_is_sent_again_before_the_healing_is_on_the_disk(relay, bus, happen):
    """Were PostgreSQL to forget it, the next healing would take new entries for the lost ones."""
    happen(1)
    work(relay)
    wipe(bus)
    begin, told = bus.begin_epoch, []

    def note(epoch, streams):
        with connection.cursor() as cursor:
            cursor.execute("SHOW synchronous_commit")
            told.extend(cursor.fetchone())
        begin(epoch, streams)

    bus.begin_epoch = note
    work(relay)

    assert told == ["on"]
    assert entries(bus) == [("t1", 1)]
