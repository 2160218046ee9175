"""Consumers: once per group, a poison event stops nobody, nothing that failed is forgotten."""

import threading
import time
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import Error as AnyDatabaseError
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.models import Tenant
from apps.events import context, delivery
from apps.events.bus import StreamsLost
from apps.events.handlers import EVERY, GiveUp
from apps.events.heartbeats import Heart
from apps.events.models import DeadLetter, FailedAttempt, InboxEntry, OutboxEvent, Retry
from apps.events.outbox import publish
from apps.events.relay import Relay

from .backbone import GROUP, ORDERED, Log, make_due, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("leases_end")]


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


@pytest.fixture
def carry(relay, bus):
    """Takes everything published to its stream."""

    def drain():
        while relay.relay_batch():
            continue

    return drain


def redeliver(bus, event_id):
    """Put the entry of an event on the stream once more, as a relay that died would."""
    row = OutboxEvent.objects.get(event_id=event_id)
    OutboxEvent.objects.filter(event_id=event_id).update(status="PENDING")
    return row


def test_an_event_is_handled_and_its_proof_written(log, carry, bus, happen):
    (event_id,) = happen(1)
    carry()
    worker(bus).step()

    assert log == [("t1", 1)]
    proof = InboxEntry.objects.get(event_id=event_id)
    assert (proof.group, proof.outcome, proof.worker) == (GROUP, "done", "w1")
    assert all(group.pending == 0 for group in bus.state("axiom:events").groups)


def test_an_event_delivered_twice_is_handled_once(log, carry, bus, happen, relay):
    (event_id,) = happen(1)
    carry()
    redeliver(bus, event_id)
    relay._outbox.begin_epoch(relay._outbox.epoch)
    carry()
    worker(bus).step()
    worker(bus, "w2").step()

    assert bus.state("axiom:events").length == 2
    assert log == [("t1", 1)]


def test_effects_and_proof_commit_together_or_not_at_all(carry, bus, happen, handle):
    def half_way(message):
        Tenant.objects.create(name="Half", slug="half")
        raise RuntimeError("power cut")

    handle(half_way, "TEST_THING_HAPPENED")
    happen(1)
    carry()
    worker(bus).step()

    assert not Tenant.objects.exists()
    assert not InboxEntry.objects.exists()


def test_a_handler_acts_for_the_tenant_and_in_the_trace_of_its_event(
    carry, bus, happen, handle, tenant
):
    seen = []
    handle(lambda message: seen.append(context.current()), "TEST_THING_HAPPENED")
    (event_id,) = happen(1)
    carry()
    with context.fresh():
        worker(bus).step()
        after = context.current()

    (during,) = seen
    assert (during.tenant_id, during.trace_id) == (tenant, "a" * 32)
    assert (during.source, during.causation_id) == (GROUP, event_id)
    assert after.tenant_id is None


def test_what_a_handler_publishes_names_its_cause(carry, bus, happen, handle, thing_happened):
    @transaction.atomic
    def answer(message):
        if message.payload["number"] == 1:
            publish(thing_happened(thing_id="answer", number=2))

    handle(answer, thing_happened)
    (cause,) = happen(1)
    carry()
    worker(bus).step()

    caused = OutboxEvent.objects.get(aggregate_id="answer")
    assert (caused.causation_id, caused.trace_id) == (cause, "a" * 32)


def test_an_event_that_no_handler_wants_is_only_acknowledged(carry, bus, happen, handle, free_form):
    handle(lambda message: None, free_form)
    happen(1)
    carry()
    worker(bus).step()

    assert not InboxEntry.objects.exists()
    (group,) = (g for g in bus.state("axiom:events").groups if g.group == GROUP)
    assert (group.lag, group.pending) == (0, 0)


def test_a_handler_of_every_type_gets_every_type(carry, bus, happen, handle):
    seen = []
    handle(lambda message: seen.append(message.event_type), EVERY)
    happen(1)
    carry()
    worker(bus).step()

    assert seen == ["TEST_THING_HAPPENED"]


def test_a_batch_handler_takes_what_is_in_hand_at_once(carry, bus, happen, handle):
    batches = []
    handle(lambda messages: batches.append(len(messages)), "TEST_THING_HAPPENED", batch=True)
    happen(*range(40))
    carry()
    worker(bus).step()

    assert batches == [40]


class TestAPoisonEvent:
    def test_stops_nobody_else(self, log, carry, bus, happen):
        log.trouble = {("t1", 2): RuntimeError("bad")}
        happen(1, 2, 3)
        carry()
        worker(bus).step()

        assert log == [("t1", 1), ("t1", 1), ("t1", 3)]  # the first run was rolled back
        assert Retry.objects.get().attempts == 1

    def test_is_tried_again_after_5_15_and_45_seconds_then_buried(self, log, carry, bus, happen):
        log.trouble = {("t1", 1): RuntimeError("bad weather")}
        (event_id,) = happen(1)
        carry()
        consumer = worker(bus)
        attempt = consumer.step
        for seconds in (5, 15, 45):
            began = timezone.now()
            attempt()
            pause = timedelta(seconds=seconds)
            assert began + pause <= Retry.objects.get().due_at <= timezone.now() + pause
            make_due()
            attempt = consumer.delivery.retry_due
        attempt()

        letter = DeadLetter.objects.get()
        assert not Retry.objects.exists()
        assert (letter.event_id, letter.group, letter.attempts) == (event_id, GROUP, 4)
        assert (letter.error_type, letter.error) == ("RuntimeError", "bad weather")
        assert "in __call__" in letter.stack
        assert FailedAttempt.objects.filter(event_id=event_id).count() == 4
        assert InboxEntry.objects.get().outcome == "dead"

    def test_does_not_wait_while_others_come(self, log, carry, bus, happen):
        log.trouble = {("t1", 1): RuntimeError("bad")}
        happen(1)
        carry()
        consumer = worker(bus)
        consumer.step()
        happen(2)
        carry()
        consumer.step()

        assert log == [("t1", 2)]

    def test_that_recovers_is_handled_once_and_forgotten(self, log, carry, bus, happen):
        log.trouble = {("t1", 1): RuntimeError("bad")}
        happen(1)
        carry()
        consumer = worker(bus)
        consumer.step()
        log.trouble = {}
        make_due()
        consumer.delivery.retry_due()

        assert log == [("t1", 1)]
        assert not Retry.objects.exists()
        assert InboxEntry.objects.get().outcome == "done"

    def test_that_gives_up_is_buried_at_once(self, log, carry, bus, happen):
        log.trouble = {("t1", 1): GiveUp("no such case")}
        happen(1)
        carry()
        worker(bus).step()

        assert DeadLetter.objects.get().error == "no such case"
        assert not Retry.objects.exists()

    def test_leaves_a_copy_on_the_dead_letter_stream(self, log, carry, happen, bus):
        log.trouble = {("t1", 1): GiveUp("no such case")}
        happen(1)
        carry()
        worker(bus).step()

        if hasattr(bus, "client"):
            ((_, raw),) = bus.client.xrange("axiom:events_dlq")
            assert raw[b"error"] == b"no such case"
        else:
            assert bus.dead["axiom:events"][0]["error"] == "no such case"

    def test_of_the_same_kind_has_the_same_fingerprint(self, log, carry, bus, happen):
        log.trouble = {("t1", n): GiveUp(f"case {n} is closed") for n in (1, 2)}
        log.trouble["t1", 3] = GiveUp("no manager")
        happen(1, 2, 3)
        carry()
        worker(bus).step()

        prints = list(
            DeadLetter.objects.order_by("created_at").values_list("fingerprint", flat=True)
        )
        assert prints[0] == prints[1] != prints[2]


def test_an_entry_nobody_can_read_is_buried_with_its_bytes_and_blocks_nothing(
    log, redis_client, happen, redis_bus
):
    relay = Relay(redis_bus, "relay-1")
    relay.relay_batch()
    redis_client.xadd("axiom:events", {"event_id": b"\xff\xfe", "what": "ever"})
    happen(1)
    relay.relay_batch()
    worker(redis_bus).step()

    letter = DeadLetter.objects.get()
    assert b"\xff\xfe" in bytes(letter.raw)
    assert letter.event_id is None
    assert log == [("t1", 1)]


class TestAnOrderedGroup:
    def test_keeps_followers_behind_a_waiting_event(self, ordered_log, carry, bus, happen):
        ordered_log.trouble = {("a", 1): RuntimeError("bad")}
        happen(1, 2, thing_id="a")
        happen(1, thing_id="b")
        carry()
        consumer = worker(bus, group=ORDERED)
        consumer.step()
        happen(3, thing_id="a")
        carry()
        consumer.step()
        assert [key for key in ordered_log if key[0] == "a"] == []

        ordered_log.trouble = {}
        make_due()
        consumer.delivery.retry_due()
        assert [key for key in ordered_log if key[0] == "a"] == [("a", 1), ("a", 2), ("a", 3)]

    def test_keeps_nobody_of_another_tenant_behind(self, ordered_log, carry, bus, happen):
        ordered_log.trouble = {("a", 1): RuntimeError("bad")}
        happen(1, 2, thing_id="a")
        carry()
        consumer = worker(bus, group=ORDERED)
        consumer.step()
        with context.acting(tenant_id=uuid4()):
            happen(100, thing_id="a")
        carry()
        consumer.step()
        assert ordered_log == [("a", 100)]

        ordered_log.trouble = {}
        make_due()
        consumer.delivery.retry_due()
        assert ordered_log == [("a", 100), ("a", 1), ("a", 2)]

    def test_goes_on_with_the_next_when_one_is_buried(self, ordered_log, carry, bus, happen):
        ordered_log.trouble = {("a", 1): GiveUp("never")}
        happen(1, 2, thing_id="a")
        carry()
        worker(bus, group=ORDERED).step()

        assert ordered_log == [("a", 2)]

    def test_has_one_leader_and_the_standby_takes_over(self, ordered_log, carry, bus, happen):
        happen(1)
        carry()
        led = threading.Event()
        release = threading.Event()
        first = threading.Thread(target=_lead, args=(bus, led, release))
        first.start()
        assert led.wait(60)
        standby = worker(bus, "standby", ORDERED)
        assert standby.step() is False

        release.set()
        first.join()
        happen(2)
        carry()
        assert standby.step() is True
        assert ordered_log == [("t1", 1), ("t1", 2)]

    def test_a_new_leader_first_finishes_what_the_old_one_held(
        self, ordered_log, carry, bus, happen
    ):
        happen(1, 2)
        carry()
        bus.read(ORDERED, "died", ["axiom:events"], 1, 0)
        leader = worker(bus, "new", ORDERED)
        leader.step()
        leader.step()

        assert ordered_log == [("t1", 1), ("t1", 2)]


def _lead(bus, led, release):
    leader = worker(bus, "leader", ORDERED)
    leader.step()
    led.set()
    release.wait(60)
    connection.close()


class TestWhatAWorkerLeavesBehind:
    def test_is_taken_over_when_its_heart_stopped(self, log, carry, bus, happen):
        happen(1)
        carry()
        bus.read(GROUP, "died", ["axiom:events"], 10, 0)
        worker(bus).step()

        assert log == [("t1", 1)]

    def test_is_left_alone_while_its_heart_beats(self, log, carry, bus, happen):
        happen(1)
        carry()
        bus.read(GROUP, "slow", ["axiom:events"], 10, 0)
        Heart("slow", ["notifications"]).beat()
        worker(bus).step()

        assert log == []

    def test_is_taken_over_from_a_living_one_that_sits_on_it(
        self, log, carry, bus, happen, settings
    ):
        settings.EVENTS_RECLAIM_IDLE_SECONDS = 0
        Heart("stuck", ["notifications"]).beat()
        happen(1)
        carry()
        bus.read(GROUP, "stuck", ["axiom:events"], 10, 0)
        worker(bus).step()

        assert log == [("t1", 1)]

    def test_is_left_alone_when_only_the_acknowledgements_were_lost(self, log, carry, bus, happen):
        happen(1)
        carry()
        (entry,) = bus.read(GROUP, "died-0", ["axiom:events"], 10, 0)
        worker(bus, "died-0").delivery.handle([entry])
        for n in range(delivery.DELIVERIES_BEFORE_SUSPICION):
            bus.take_over(GROUP, f"died-{n + 1}", "axiom:events", 0)
        worker(bus).step()

        assert log == [("t1", 1)]
        assert not DeadLetter.objects.exists()
        assert InboxEntry.objects.get().outcome == "done"

    def test_is_buried_once_when_the_acknowledgement_is_lost_then(self, log, carry, bus, happen):
        happen(1)
        carry()
        (entry,) = bus.read(GROUP, "died", ["axiom:events"], 10, 0)
        suspicious = replace(entry, deliveries=delivery.DELIVERIES_BEFORE_SUSPICION + 1)
        worker(bus).delivery.handle([suspicious])
        worker(bus).delivery.handle([suspicious])

        assert DeadLetter.objects.count() == 1

    def test_is_buried_when_it_took_down_several_workers(self, log, carry, bus, happen):
        happen(1)
        carry()
        bus.read(GROUP, "died-0", ["axiom:events"], 10, 0)
        for n in range(delivery.DELIVERIES_BEFORE_SUSPICION - 1):
            bus.take_over(GROUP, f"died-{n + 1}", "axiom:events", 0)
        worker(bus).step()

        assert DeadLetter.objects.get().error_type == "WorkerLost"
        assert log == []


def test_an_answer_that_never_reached_its_worker_is_asked_for_again(log, carry, bus, happen):
    """The bus handed entries out, and the connection broke before they arrived."""
    Heart("w1", ["notifications"]).beat()
    happen(1)
    carry()
    bus.read(GROUP, "w1", ["axiom:events"], 10, 0)
    worker(bus, "w1").step()

    assert log == [("t1", 1)]


def test_an_outage_while_taking_over_forgets_nothing(carry, bus, happen, handle):
    seen = []

    def cut_the_first_time(message):
        seen.append(message.payload["number"])
        if len(seen) == 1:
            connection.connection.close()
            Tenant.objects.count()

    handle(cut_the_first_time, "TEST_THING_HAPPENED")
    happen(1)
    carry()
    bus.read(GROUP, "died", ["axiom:events"], 10, 0)
    consumer = worker(bus)
    with pytest.raises(AnyDatabaseError):
        consumer.step()
    consumer.step()

    assert seen == [1, 1]
    assert InboxEntry.objects.count() == 1


@pytest.mark.parametrize("text", ["\x00", "\ud800", "x" * 5_000_000])
def test_an_error_that_postgresql_cannot_keep_is_kept_all_the_same(log, carry, bus, happen, text):
    log.trouble = {("t1", 1): GiveUp(f"bad {text}"), ("t1", 2): RuntimeError(f"bad {text}")}
    happen(1, 2, 3)
    carry()
    worker(bus).step()

    letter = DeadLetter.objects.get()
    assert letter.error.startswith("bad ")
    assert len(letter.error) <= 10_000
    assert Retry.objects.count() == 1
    assert ("t1", 3) in log


def test_an_entry_with_a_zero_byte_is_buried_and_blocks_nothing(
    log, redis_client, happen, redis_bus
):
    relay = Relay(redis_bus, "relay-1")
    happen(1)
    relay.relay_batch()
    relay.relay_batch()
    ((_, fields),) = redis_client.xrange("axiom:events")
    redis_client.xadd("axiom:events", fields | {b"event_id": str(uuid4()), b"actor": b"a\x00b"})
    worker(redis_bus).step()

    assert "zero byte" in DeadLetter.objects.get().error
    assert log == [("t1", 1)]


def test_a_missing_group_is_made_again_at_the_beginning(log, redis_bus, redis_client, happen):
    happen(1)
    Relay(redis_bus, "relay-1").relay_batch()
    redis_client.xgroup_destroy("axiom:events", GROUP)
    consumer = worker(redis_bus)
    consumer.step()
    consumer.step()

    assert log == [("t1", 1)]


def test_a_missing_stream_is_not_made_by_a_consumer(log, bus, redis_client):
    with pytest.raises(StreamsLost):
        worker(bus).step()

    assert bus.state("axiom:events") is None


class TestAHandlerThatHangs:
    def test_in_python_is_interrupted_and_counts_as_a_failure(self, carry, bus, happen, handle):
        def spin(message):
            while True:
                time.monotonic()

        handle(spin, "TEST_THING_HAPPENED", timeout=0.2)
        happen(1)
        carry()
        worker(bus).step()

        assert "HandlerTimeout" in FailedAttempt.objects.get().error
        assert Retry.objects.count() == 1

    def test_in_a_query_is_interrupted(self, carry, bus, happen, handle):
        def wait_in_database(message):
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(60)")

        handle(wait_in_database, "TEST_THING_HAPPENED", timeout=0.2)
        happen(1)
        carry()
        began = time.monotonic()
        worker(bus).step()

        assert time.monotonic() - began < 30
        assert Retry.objects.count() == 1


def test_a_lost_database_connection_keeps_the_batch_in_hand(carry, bus, happen, handle):
    seen = []

    def cut_the_first_time(message):
        seen.append(message.payload["number"])
        if len(seen) == 1:
            connection.connection.close()
            Tenant.objects.count()

    handle(cut_the_first_time, "TEST_THING_HAPPENED")
    happen(1)
    carry()
    consumer = worker(bus)
    with pytest.raises(Exception, match="closed"):
        consumer.step()
    consumer.step()

    assert seen == [1, 1]
    assert not Retry.objects.exists()
    assert InboxEntry.objects.count() == 1
