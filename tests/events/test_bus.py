"""What every bus must do, held against each of them; Kafka is the test cluster of its own library.

TEST_KAFKA_BOOTSTRAP names a real one to spare: what is on it is removed. Joining a group takes
Kafka seconds, so a history is told in few tests.
"""

import os
import time
from dataclasses import replace
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from django.conf import settings as django_settings

from apps.events import bus as buses
from apps.events.bus import BusUnavailable, StreamsLost, kafka
from apps.events.bus.beside import ChatBeside
from apps.events.bus.kafka import Kafka
from apps.events.bus.memory import MemoryBus
from apps.events.bus.redis_streams import RedisStreams
from apps.events.groups import GROUPS
from apps.events.handlers import GiveUp
from apps.events.keys import Stream
from apps.events.models import DeadLetter, InboxEntry, OutboxEvent
from apps.events.relay import Relay

from .backbone import GROUP, ORDERED, Log, drain, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("leases_end")]

EVENTS = str(Stream.EVENTS)
STREAMS = {
    str(stream): [name for name, group in GROUPS.items() if stream in group.streams]
    for stream in Stream
}
HURRY = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 300}
REAL = os.environ.get("TEST_KAFKA_BOOTSTRAP", "")
KINDS = ["redis", "memory", "kafka", *(["real kafka"] if REAL else [])]


class OnSight(Kafka):
    """On a cluster that makes topics as soon as they are named, and knows no other way."""

    def _make(self, topics, partitions):
        for topic in topics:
            self._admin.list_topics(topic, timeout=10)


@pytest.fixture
def kind(request):
    return request.param


@pytest.fixture
def connect(kind, redis_client):
    """Connections to one bus, each as another process has one."""
    made = []

    def a_kafka(maker, **options):
        made.append(maker({**options, **HURRY, "log_level": 2}))
        return ChatBeside(made[-1], RedisStreams(redis_client))

    if kind == "redis":
        yield lambda: RedisStreams(redis_client)
    elif kind == "memory":
        memory = MemoryBus()
        yield lambda: memory
    elif kind == "kafka":
        cluster = Producer({"test.mock.num.brokers": 1, "log_level": 2})
        brokers = cluster.list_topics(timeout=10).brokers.values()
        place = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
        yield lambda: a_kafka(OnSight, **{"bootstrap.servers": place})
    else:
        remove_topics(REAL)
        yield lambda: a_kafka(Kafka, **{"bootstrap.servers": REAL})
    for each in made:
        each.close()


def remove_topics(brokers):
    admin = AdminClient({"bootstrap.servers": brokers})
    if ours := [topic for topic in admin.list_topics().topics if topic.startswith("axiom.")]:
        for removed in admin.delete_topics(ours).values():
            removed.result(30)


@pytest.fixture
def bus(connect):
    return connect()


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


every_bus = pytest.mark.parametrize("kind", KINDS, indirect=True)


def work_until(check, mine):
    """Let this worker work until that is so; a group may need time to gather."""
    deadline = time.monotonic() + 60
    while not check():
        assert time.monotonic() < deadline
        mine.step(block_ms=100)


def read(bus, name, group=GROUP):
    """What the group is handed out next, as soon as there is something."""
    deadline = time.monotonic() + 60
    while not (found := bus.read(group, name, [EVENTS], 100, 100)):
        assert time.monotonic() < deadline
    return found


def levels(bus, group=GROUP):
    (found,) = [each for each in bus.state(EVENTS).groups if each.group == group]
    return found


@every_bus
def test_what_is_published_reaches_each_group_once_and_in_order(
    connect, bus, happen, log, ordered_log
):
    happen(1, 2, thing_id="a")
    happen(1, thing_id="b")
    happen(3, thing_id="a")
    drain(Relay(bus, "r1"))
    work_until(lambda: len(log) == 4, worker(connect()))
    work_until(lambda: len(ordered_log) == 4, worker(connect(), group=ORDERED))

    for seen in (log, ordered_log):
        assert [number for thing, number in seen if thing == "a"] == [1, 2, 3]
        assert sorted(seen) == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]
    assert {row.status for row in OutboxEvent.objects.all()} == {"PUBLISHED"}
    assert InboxEntry.objects.filter(group=GROUP, outcome="done").count() == 4
    assert (levels(bus).lag, levels(bus).pending) == (0, 0)
    assert bus.state(EVENTS).length >= 4


@every_bus
def test_a_poison_event_becomes_a_dead_letter_and_the_rest_is_handled(connect, bus, happen, log):
    log.trouble = {("t1", 2): GiveUp("never")}
    happen(1, 2, 3)
    drain(Relay(bus, "r1"))
    work_until(lambda: ("t1", 3) in log, worker(connect()))

    letter = DeadLetter.objects.get()
    assert (letter.error, letter.stream, letter.fields["aggregate_id"]) == ("never", EVENTS, "t1")
    assert levels(bus).lag == 0


@every_bus
def test_what_nobody_acknowledged_is_handed_out_again_and_counted(connect, bus, happen):
    happen(1)
    drain(Relay(bus, "r1"))
    first = connect()
    (before,) = read(first, "w1")
    if isinstance(first, ChatBeside):
        first.bus.close()  # it died, and the group noticed
    second = connect()
    (again,) = second.take_over(GROUP, "w2", EVENTS, 0) or read(second, "w2")

    assert again == replace(before, deliveries=2)
    second.ack(GROUP, [again])
    assert (levels(bus).lag, levels(bus).pending) == (0, 0)


@every_bus
def test_a_worker_that_dropped_what_it_held_asks_for_it_and_gets_it(connect, bus, happen):
    happen(1, 2)
    drain(Relay(bus, "r1"))
    mine = connect()
    held = read(mine, "w1")
    assert mine.first_held(GROUP, EVENTS) == held[0].entry_id

    again = mine.take_over(GROUP, "w1", EVENTS, 0, "w1")
    assert [entry.entry_id for entry in again] == [entry.entry_id for entry in held]
    mine.ack(GROUP, again)
    assert mine.take_over(GROUP, "w1", EVENTS, 0, "w1") == []
    assert mine.first_held(GROUP, EVENTS) is None


@every_bus
def test_a_bus_knows_its_epoch_and_nothing_is_added_to_another(bus):
    assert bus.identity()[1] == ""
    with pytest.raises(StreamsLost):
        bus.read(GROUP, "w1", [EVENTS], 10, 0)
    bus.begin_epoch("e1", STREAMS)
    first = bus.identity()
    bus.begin_epoch("e2", STREAMS)

    assert (first[1], bus.identity()[1]) == ("e1", "e2")
    with pytest.raises(StreamsLost):
        bus.append([(EVENTS, ("event_id", "1"))], first)
    assert bus.state(EVENTS).length == 0


@every_bus
def test_a_stream_tells_how_much_waits_and_what_waits_longest(bus):
    bus.begin_epoch("e1", STREAMS)
    ids = bus.append([(EVENTS, ("event_id", f"{n}")) for n in range(3)], bus.identity())
    state = bus.state(EVENTS)

    assert (state.length, state.entries_added, levels(bus).lag) == (3, 3, 3)
    oldest = bus.oldest_waiting(EVENTS, levels(bus))
    assert oldest.entry_id in ids
    assert oldest.raw[b"event_id"] == b"0"
    assert bus.state("axiom:workers").length == 0


@every_bus
def test_what_was_published_to_a_bus_that_is_gone_goes_to_the_next(connect, bus, happen, log):
    """Whoever changes from one bus to another loses nothing on the way."""
    happen(1, 2)
    drain(Relay(MemoryBus(), "r1"))
    assert {row.status for row in OutboxEvent.objects.all()} == {"PUBLISHED"}
    happen(3)
    drain(Relay(bus, "r2"))
    work_until(lambda: len(log) == 3, worker(connect()))

    assert log == [("t1", 1), ("t1", 2), ("t1", 3)]


@every_bus
def test_dead_letters_have_a_stream_of_their_own(bus, redis_client, kind):
    bus.begin_epoch("e1", STREAMS)
    for number in range(300):
        bus.dead_letter(EVENTS, {"n": str(number)}, 50)

    if kind == "redis":
        assert 50 <= redis_client.xlen(f"{EVENTS}_dlq") < 250
    elif kind == "memory":
        assert len(bus.dead[EVENTS]) == 50
    else:
        assert "axiom.events_dlq" in bus.bus._view().partitions


class TestOnKafka:
    @pytest.fixture
    def kind(self):
        return "kafka"

    def test_how_often_somebody_died_of_an_entry_is_known_until_somebody_did_not(
        self, connect, bus, happen
    ):
        """Kafka counts no deliveries, and who dies tells nobody: it is written down before."""
        happen(1)
        drain(Relay(bus, "r1"))
        tries = []
        for survives in (False, True, False):
            mine = connect()
            entries = read(mine, "w")
            tries += [entry.deliveries for entry in entries]
            if survives:
                mine.ack(GROUP, entries)
                happen(2)
                drain(Relay(bus, "r1"))
            mine.bus.close()

        assert tries == [1, 2, 1]

    def test_one_that_is_away_burns_no_attempts(self, happen, redis_client, monkeypatch):
        monkeypatch.setattr(kafka, "SECONDS", 0.3)
        away = Kafka({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
        happen(1)
        for act in (
            Relay(ChatBeside(away, RedisStreams(redis_client)), "r1").relay_batch,
            away.identity,
            lambda: away.state(EVENTS),
            lambda: away.read(GROUP, "w1", [EVENTS], 10, 0),
            lambda: away.dead_letter(EVENTS, {"n": "1"}, 10),
        ):
            with pytest.raises(BusUnavailable):
                act()

        row = OutboxEvent.objects.get()
        assert (row.status, row.attempt_count) == ("PENDING", 0)

    def test_an_aggregate_stays_in_one_partition(self, bus, happen):
        things = [uuid4().hex for _ in range(20)]
        for thing in things:
            happen(1, 2, thing_id=thing)
        drain(Relay(bus, "r1"))
        rows = OutboxEvent.objects.values_list("aggregate_id", "entry_id")
        places = {thing: {e.split("-")[1] for t, e in rows if t == thing} for thing in things}

        assert {len(found) for found in places.values()} == {1}
        assert len(set.union(*places.values())) > 1

    def test_chat_stays_in_redis(self, bus, redis_client):
        bus.begin_epoch("e1", STREAMS)
        chat = str(Stream.CHAT)
        redis_client.xadd(chat, {"payload": "{}"})
        (entry,) = bus.read("chat_fanout", "w1", [chat], 10, 0)
        bus.ack("chat_fanout", [entry])

        assert entry.raw == {b"payload": b"{}"}
        assert bus.state(chat).length == 1
        assert redis_client.xpending(chat, "chat_fanout")["pending"] == 0

    def test_a_redis_that_lost_the_chat_is_noticed(self, bus, redis_client):
        bus.begin_epoch("e1", STREAMS)
        redis_client.delete(str(Stream.CHAT))

        assert bus.identity()[1] == ""


def test_the_bus_is_what_the_settings_name(settings, redis_client):
    assert isinstance(buses.connect(), RedisStreams)
    settings.EVENTS_BUS, settings.KAFKA_BOOTSTRAP = "kafka", "localhost:1"
    chosen = buses.connect()

    assert isinstance(chosen, ChatBeside)
    assert (type(chosen.bus), type(chosen.chat)) == (Kafka, RedisStreams)
    assert chosen.bus.options["bootstrap.servers"] == "localhost:1"
    assert django_settings.KAFKA_PARTITIONS > 1
