"""What the backbone tells of itself: gauges, the inputs of the system alerts, log lines."""

import io
import json
import logging
import math
import time
from datetime import UTC, datetime, timedelta

import pytest
import structlog
from django.db import connection, transaction
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from apps.events import backlog, observe, services, timings
from apps.events.bus import GroupState, StreamState
from apps.events.context import acting
from apps.events.handlers import GiveUp
from apps.events.heartbeats import Heart
from apps.events.ids import first_id_of, made_at, uuid7
from apps.events.models import FailedAttempt, InboxEntry, OutboxEvent
from apps.events.outbox import publish_many
from apps.events.relay import Relay
from apps.events.selectors import health, levels
from apps.events.selectors.levels import group_levels, outbox_levels
from apps.events.timings import Timings, value_at
from axiom import logs, metrics

from .backbone import GROUP, Log, drain, open_letters, worker
from .conftest import TENANT
from .test_relay import FussyBus

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("leases_end")]

EVENTS = "axiom:events"
LOG_FIELDS = {"trace_id", "event_id", "stream", "event_type", "aggregate_type", "aggregate_id"}


@pytest.fixture
def redis_relay(redis_bus):
    return Relay(redis_bus, "relay-1")


@pytest.fixture
def log(handle, thing_happened):
    log = Log()
    handle(log, thing_happened, group=GROUP)
    return log


def level(stream=EVENTS):
    (found,) = [each for each in outbox_levels() if each.stream == stream]
    return found


def pass_everything():
    """Until transactions of other databases, which may hold the floor back, are over."""
    newest, deadline = OutboxEvent.objects.latest("seq").seq, time.monotonic() + 60
    while levels._passed.floor.seq <= newest:
        assert time.monotonic() < deadline
        level()


def set_rows(**values):
    OutboxEvent.objects.filter(tenant_id=TENANT).update(**values)


class TestOutboxLevels:
    def test_what_waits_and_what_is_being_sent_is_counted_by_stream(self, happen):
        happen(1, 2, 3)
        OutboxEvent.objects.filter(seq=OutboxEvent.objects.latest("seq").seq).update(
            status="PROCESSING", locked_until=timezone.now() + timedelta(minutes=1)
        )
        assert (level().pending, level().processing) == (2, 1)
        assert level("axiom:chat").pending == 0

    def test_the_age_is_that_of_the_oldest(self, happen):
        happen(1)
        set_rows(created_at=timezone.now() - timedelta(minutes=2))
        happen(2)
        assert 119 < level().oldest_pending_seconds < 150

    def test_one_that_failed_and_waits_counts_however_old_it_is(self, happen, redis_relay):
        happen(1)
        set_rows(next_retry_at=timezone.now() + timedelta(hours=1))
        for _ in range(3):
            assert level().pending == 1

    def test_what_was_published_is_not_looked_at_again(self, happen, redis_relay):
        happen(*range(50))
        drain(redis_relay)
        assert level().pending == 0
        pass_everything()
        # Behind the back of the counting: a floor that was passed is not looked below.
        set_rows(status="PENDING")
        assert level().pending == 0

    def test_after_a_loss_of_the_bus_it_looks_below_again(
        self, happen, log, redis_relay, redis_bus
    ):
        happen(*range(5))
        drain(redis_relay)
        pass_everything()
        redis_bus.client.flushdb()
        redis_relay.relay_batch()
        redis_relay.relay_batch()
        set_rows(status="PENDING")
        assert level().pending == 5

    def test_what_the_relay_gave_up_is_dead_until_somebody_acts(self, happen, redis_bus):
        (event_id,) = happen(1)
        drain(Relay(FussyBus(redis_bus, "t1", permanent=True), "relay-1"))
        assert (level().dead, level().pending) == (1, 0)
        services.discard(open_letters().get(event_id=event_id), by="alice", reason="no use")
        assert level().dead == 0


def samples():
    families = text_string_to_metric_families(metrics.scrape().decode())
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_a_scrape_shows_the_gauges_of_the_design(log, happen, redis_relay, redis_bus):
    log.trouble = {("t1", 1): GiveUp("never")}
    happen(1)
    drain(redis_relay)
    worker(redis_bus).step()
    happen(2)
    drain(redis_relay)
    happen(3)
    Heart("w1", ["relay"]).beat()
    found = samples()
    assert found["axiom_outbox_pending", EVENTS] == 1
    assert found["axiom_outbox_processing", EVENTS] == 0
    assert found["axiom_outbox_dead", EVENTS] == 0
    assert found["axiom_outbox_oldest_pending_seconds", EVENTS] >= 0
    assert found["axiom_stream_lag", GROUP, EVENTS] == 1
    assert found["axiom_stream_pending", GROUP, EVENTS] == 0
    assert found["axiom_dlq_size", EVENTS] == 1
    assert found["axiom_workers_alive", "relay"] == 1
    assert found["axiom_retries_waiting",] == 0


# Section 10 of the design as far as the backbone tells it, with the labels of each.
NAMED = {
    "axiom_outbox_pending": {"stream"},
    "axiom_outbox_processing": {"stream"},
    "axiom_outbox_dead": {"stream"},
    "axiom_outbox_oldest_pending_seconds": {"stream"},
    "axiom_outbox_processed_total": {"stream", "result"},
    "axiom_handler_duration_seconds_count": {"group", "event_type"},
    "axiom_stream_lag": {"stream", "group"},
    "axiom_stream_pending": {"stream", "group"},
    "axiom_dlq_size": {"stream"},
}


@pytest.mark.parametrize("name", NAMED)
def test_every_metric_of_the_design_is_told_with_its_labels(
    name, log, happen, redis_relay, redis_bus
):
    happen(1)
    drain(redis_relay)
    worker(redis_bus).step()
    families = text_string_to_metric_families(metrics.scrape().decode())
    told = [sample for family in families for sample in family.samples if sample.name == name]

    assert told
    assert NAMED[name] <= told[0].labels.keys()


def test_the_gauges_of_the_tables_are_told_while_redis_is_away(happen, settings, monkeypatch):
    from apps.events import bus

    def away():
        raise bus.BusUnavailable("away")

    monkeypatch.setattr(bus, "connect", away)
    happen(1)
    assert samples()["axiom_outbox_pending", EVENTS] == 1


class TestTimings:
    def test_a_quantile_lies_within_its_bucket(self):
        buckets = {0.1: 90, 1.0: 99, 10.0: 100, math.inf: 100}
        assert value_at(0.5, buckets) < 0.1
        assert value_at(0.99, buckets) == pytest.approx(1.0)
        assert 1.0 < value_at(0.995, buckets) <= 10.0
        assert value_at(0.99, {0.1: 0, 60.0: 0, math.inf: 5}) == 60.0

    def test_every_process_adds_what_is_new_and_nothing_twice(self, redis_client):
        timing = Timings()
        for _ in range(99):
            observe.duration.labels("test_group", "T").observe(0.002)
        timing.tell()
        timing.tell()
        assert timings.handler_seconds()["test_group"] < 0.006
        for _ in range(10):
            observe.duration.labels("test_group", "T").observe(45)
        timing.tell()
        assert 30 < timings.handler_seconds()["test_group"] <= 60

    def test_what_is_older_than_five_minutes_is_over(self, redis_client):
        timing, now = Timings(), 1_800_000_000.0
        observe.delay.labels("test_group").observe(20)
        timing.tell(now)
        assert timings.delay_seconds(now=now + 200)["test_group"] > 10
        assert timings.delay_seconds(now=now + 400) == {}

    def test_a_late_told_event_and_a_retry_did_not_travel_slowly(
        self, log, happen, redis_relay, redis_bus, thing_happened
    ):
        timing = Timings()
        with transaction.atomic(), acting(tenant_id=TENANT):
            publish_many(
                [thing_happened(thing_id="t1", number=1)],
                occurred_at=timezone.now() - timedelta(days=30),
            )
        drain(redis_relay)
        worker(redis_bus).step()
        timing.tell()
        assert timings.delay_seconds()[GROUP] < 10


class TestBacklog:
    def state(self, pending):
        return StreamState(EVENTS, 0, 0, "0-0", [GroupState(GROUP, 0, pending, "0-0")])

    def test_many_pending_is_dated_from_its_beginning(self, redis_client):
        began = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
        backlog.note(self.state(51), began)
        backlog.note(self.state(80), began + timedelta(minutes=4))
        assert backlog.many_pending_since() == {(EVENTS, GROUP): began}

    def test_it_ends_when_it_is_no_longer_many(self, redis_client):
        backlog.note(self.state(51))
        backlog.note(self.state(50))
        assert backlog.many_pending_since() == {}


def test_the_oldest_entry_that_a_group_is_not_done_with(bus, relay, log, happen):
    first, second = happen(1, 2)
    drain(relay)

    def oldest():
        (group,) = [each for each in bus.state(EVENTS).groups if each.group == GROUP]
        entry = bus.oldest_waiting(EVENTS, group)
        return entry and entry.raw[b"event_id"].decode()

    assert oldest() == str(first)
    (entry,) = bus.read(GROUP, "w1", [EVENTS], 1, 0)
    assert oldest() == str(first)
    bus.ack(GROUP, [entry])
    assert oldest() == str(second)
    bus.ack(GROUP, bus.read(GROUP, "w1", [EVENTS], 10, 0))
    assert oldest() is None


class TestHealth:
    def test_a_group_that_stands_still_is_seen_though_it_measures_nothing(
        self, log, happen, redis_relay
    ):
        happen(1, 2)
        drain(redis_relay)
        later = timezone.now() + timedelta(seconds=60)
        (group,) = [each for each in group_levels(later) if each.group == GROUP]
        assert (group.stream, group.lag, group.pending) == (EVENTS, 2, 0)
        assert 59 < group.oldest_waiting_seconds < 120
        assert health(later).worst_delay_seconds > 59

    def test_nothing_waits_in_a_group_that_is_done(self, log, happen, redis_relay, redis_bus):
        happen(1)
        drain(redis_relay)
        worker(redis_bus).step()
        (group,) = [each for each in group_levels() if each.group == GROUP]
        assert (group.lag, group.pending, group.oldest_waiting_seconds) == (0, 0, 0.0)

    def test_failures_count_for_five_minutes(self, redis_client):
        for minutes in (1, 4, 6):
            FailedAttempt.objects.create(
                event_id=uuid7(), group=GROUP, number=1, error="x", worker="w1",
                at=timezone.now() - timedelta(minutes=minutes),
            )  # fmt: skip
        assert health().failures == {GROUP: 2}

    def test_dead_letters_and_missing_workers_are_told(self, log, happen, redis_relay, redis_bus):
        log.trouble = {("t1", 1): GiveUp("never")}
        happen(1)
        drain(redis_relay)
        worker(redis_bus).step()
        Heart("w1", ["relay"]).beat()
        found = health()
        assert found.open_letters == {(EVENTS, GROUP): 1}
        assert "notifications" in found.silent_workers
        assert "relay" not in found.silent_workers


def test_ids_tell_when_they_were_made():
    before = timezone.now() - timedelta(milliseconds=2)
    made = uuid7()
    assert before < made_at(made) <= timezone.now()
    assert first_id_of(before) < made < first_id_of(timezone.now() + timedelta(milliseconds=2))


def test_old_proofs_are_found_by_the_time_in_their_ids(redis_bus):
    from apps.events.housekeeping import Housekeeper

    old = timezone.now() - timedelta(days=20)
    for event_id, processed_at in (
        (first_id_of(old), old),
        (first_id_of(old - timedelta(days=1)), timezone.now()),  # redriven yesterday
        (uuid7(), timezone.now()),
    ):
        InboxEntry.objects.create(event_id=event_id, group=GROUP, processed_at=processed_at)
    assert Housekeeper(redis_bus).purge_inbox() == 1
    assert InboxEntry.objects.count() == 2


class TestLogLines:
    @pytest.fixture
    def lines(self):
        """What is written to the log, parsed."""
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        handler.setFormatter(logs.formatter("json"))
        logging.getLogger().addHandler(handler)
        yield lambda said: [
            line for text in stream.getvalue().splitlines()
            if (line := json.loads(text))["event"] == said
        ]  # fmt: skip
        logging.getLogger().removeHandler(handler)

    def assert_whole(self, line, event_id):
        assert line.keys() >= LOG_FIELDS
        assert all(line[name] for name in LOG_FIELDS), line
        assert line["event_id"] == str(event_id)

    def test_a_line_of_a_handler_and_of_its_failures_name_the_event(
        self, handle, thing_happened, happen, redis_relay, redis_bus, lines
    ):
        def talk_and_fail(message):
            structlog.get_logger("tests").info("handling")
            raise (GiveUp if message.payload["number"] == 2 else ValueError)("no")

        handle(talk_and_fail, thing_happened, group=GROUP)
        one, two = happen(1, 2)
        drain(redis_relay)
        worker(redis_bus).step()
        for said, event_id in (("handling", two), ("event failed", one), ("dead letter", two)):
            self.assert_whole(lines(said)[-1], event_id)

    def test_a_line_about_one_of_a_batch_names_it_once_it_is_alone(
        self, handle, thing_happened, happen, redis_relay, redis_bus, lines
    ):
        def talk_and_fail(messages):
            structlog.get_logger("tests").info("handling", count=len(messages))
            if any(message.payload["number"] == 2 for message in messages):
                raise ValueError("no")

        handle(talk_and_fail, thing_happened, group=GROUP, batch=True)
        one, two = happen(1, 2)
        drain(redis_relay)
        worker(redis_bus).step()
        together, *alone = lines("handling")
        assert together.keys().isdisjoint({"event_id", "aggregate_id"})
        for line, event_id in zip(alone, (one, two), strict=True):
            self.assert_whole(line, event_id)

    @pytest.mark.parametrize(
        ("permanent", "said"), [(False, "event refused"), (True, "dead letter")]
    )
    def test_a_refusal_by_the_bus_names_the_event(self, permanent, said, happen, redis_bus, lines):
        (event_id,) = happen(1)
        with structlog.contextvars.bound_contextvars():
            structlog.contextvars.clear_contextvars()
            drain(Relay(FussyBus(redis_bus, "t1", permanent=permanent), "relay-1"))
        (line,) = lines(said)
        self.assert_whole(line, event_id)
        assert line["group"] == "relay"


def test_counting_is_by_index_and_not_by_reading_what_was_published(happen, redis_relay):
    """The plan, because a small table would be read from end to end anyway."""
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        cursor.execute(
            "EXPLAIN SELECT count(*) FROM event_failed_attempt "
            "WHERE at >= now() - interval '5 minutes'"
        )
        plan = "\n".join(line for (line,) in cursor.fetchall())
        cursor.execute("RESET enable_seqscan")
    assert "failed_attempt_at" in plan
