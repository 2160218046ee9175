"""The relay: nothing lost, nothing overtakes, Redis's trouble is nobody's fault."""

import time
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.events import claims
from apps.events.bus import BusUnavailable, Refusal
from apps.events.bus.redis_streams import RedisStreams
from apps.events.claims import Outbox
from apps.events.context import acting
from apps.events.handlers import readers
from apps.events.models import BusState, DeadLetter, FailedAttempt, InboxEntry, OutboxEvent
from apps.events.outbox import publish
from apps.events.relay import Relay, backoff

from .conftest import entries

pytestmark = pytest.mark.django_db(transaction=True)


def statuses():
    return list(OutboxEvent.objects.order_by("seq").values_list("status", flat=True))


def drain(relay):
    while relay.relay_batch():
        continue


def test_events_reach_their_stream_in_order_and_are_settled(relay, bus, happen):
    happen(1, 2, 3)
    drain(relay)

    assert entries(bus) == [("t1", 1), ("t1", 2), ("t1", 3)]
    assert statuses() == ["PUBLISHED"] * 3


def test_a_settled_event_knows_its_entry_and_its_time(relay, bus, happen):
    happen(1)
    drain(relay)

    row = OutboxEvent.objects.get()
    assert row.entry_id.count("-") == 1
    assert row.published_at is not None
    assert (row.attempt_count, row.locked_by, row.locked_until) == (1, None, None)


def test_the_envelope_carries_every_field(relay, redis_bus, redis_client, happen):
    (event_id,) = happen(7)
    drain(Relay(redis_bus, "relay-1"))

    ((_, raw),) = redis_client.xrange("axiom:events")
    fields = {k.decode(): v.decode() for k, v in raw.items()}
    assert fields.pop("occurred_at").endswith("+00")
    assert fields == {
        "event_id": str(event_id), "event_type": "TEST_THING_HAPPENED", "schema_version": "1",
        "aggregate_type": "thing", "aggregate_id": "t1", "actor": "alice@example.com",
        "tenant_id": "018f2d1c-0000-7000-8000-000000000001", "trace_id": "a" * 32,
        "payload": '{"thing_id":"t1","number":7,"note":""}',
    }  # fmt: skip


def test_an_uncommitted_event_is_not_sent_and_not_forgotten(relay, bus, happen, thing_happened):
    """A long transaction commits below numbers that were already sent."""
    relay.relay_batch()
    with _second_connection() as other:
        other.execute("BEGIN")
        other.execute(_INSERT_BY_HAND)
        for number in range(1, 30):
            happen(number)
            relay._outbox.floor.every_seconds = 0
            drain(relay)
        other.execute("COMMIT")
    drain(relay)

    assert ("late", 0) in entries(bus)


def _second_connection():
    from apps.events.connections import postgres_connection

    return postgres_connection()


_INSERT_BY_HAND = """
INSERT INTO event_outbox (event_id, tenant_id, occurred_at, stream, event_type, aggregate_type,
                          aggregate_id, actor, trace_id, payload)
VALUES (gen_random_uuid(), gen_random_uuid(), now(), 'axiom:events', 'TEST_THING_HAPPENED',
        'thing', 'late', 'bob', 't', '{"thing_id": "late", "number": 0}')
"""


def test_the_very_first_event_is_sent_by_a_relay_that_was_there_before_it(relay, bus, happen):
    with connection.cursor() as cursor:
        cursor.execute("ALTER SEQUENCE event_outbox_seq_seq RESTART")
    relay.relay_batch()
    relay._outbox.floor.every_seconds = 0
    for _ in range(3):
        relay.relay_batch()

    happen(1)
    drain(relay)

    assert entries(bus) == [("t1", 1)]


def test_the_floor_waits_for_the_newest_transaction_too(relay, bus):
    """Nothing else happens meanwhile, so no snapshot tells that this transaction runs."""
    relay.relay_batch()
    relay._outbox.floor.every_seconds = 0
    with _second_connection() as other:
        other.execute("BEGIN")
        other.execute(_INSERT_BY_HAND)
        for _ in range(5):
            relay.relay_batch()
        other.execute("COMMIT")
    drain(relay)

    assert entries(bus) == [("late", 0)]


def test_the_floor_rises_past_what_is_settled(relay, happen):
    happen(*range(20))
    relay.relay_batch()
    relay._outbox.floor.every_seconds = 0
    newest = OutboxEvent.objects.order_by("-seq").first().seq
    deadline = time.monotonic() + 90  # transactions of other databases have to end first
    while relay._outbox.floor.seq <= newest and time.monotonic() < deadline:
        drain(relay)

    assert relay._outbox.floor.seq == newest + 1


class TestWhileATransactionTakesLong:
    """It took its numbers below those of everybody who came, published and went meanwhile."""

    @pytest.fixture
    def relay(self, relay):
        relay.relay_batch()
        relay._outbox.floor.every_seconds = 0
        relay._outbox.floor.many = 0
        return relay

    @pytest.fixture
    def slow(self, relay):
        with _second_connection() as other:
            other.execute("BEGIN")
            other.execute(_INSERT_BY_HAND)
            yield other

    def test_the_floor_rises_past_what_others_settled(self, relay, slow, happen):
        happen(*range(20))
        drain(relay)
        relay.relay_batch()

        newest = OutboxEvent.objects.order_by("-seq").first().seq
        assert relay._outbox.floor.seq == newest + 1
        assert [each.ends - each.begins for each in relay._outbox.floor.unseen][-1] == 1

    def test_the_floor_rises_also_when_it_was_there_before_all_others(self, relay, bus, happen):
        relay._outbox.floor.many = 10
        with _second_connection() as other:
            other.execute("BEGIN")
            other.execute("SELECT pg_current_xact_id()")
            relay.relay_batch()
            happen(*range(20))
            drain(relay)
            relay.relay_batch()

            assert relay._outbox.floor.seq == OutboxEvent.objects.order_by("-seq").first().seq + 1

    def test_its_event_is_sent_when_it_ends(self, relay, bus, slow, happen):
        happen(*range(20))
        drain(relay)
        relay.relay_batch()
        slow.execute("COMMIT")
        relay.relay_batch()

        assert ("late", 0) in entries(bus)

    def test_those_that_come_before_it_ends_are_sent_too(self, relay, bus, slow, happen):
        with _second_connection() as another:
            another.execute("BEGIN")
            another.execute(_INSERT_BY_HAND.replace("'late'", "'less late'"))
            happen(*range(20))
            drain(relay)
            relay.relay_batch()
            another.execute("COMMIT")
        relay.relay_batch()
        happen(20)
        drain(relay)
        relay.relay_batch()
        assert relay._outbox.floor.seq == 1 + OutboxEvent.objects.order_by("-seq").first().seq
        slow.execute("COMMIT")
        relay.relay_batch()

        assert entries(bus)[20:] == [("less late", 0), ("t1", 20), ("late", 0)]

    def test_what_it_rolled_back_is_forgotten(self, relay, slow, happen):
        happen(*range(20))
        drain(relay)
        relay.relay_batch()
        slow.execute("ROLLBACK")
        deadline = time.monotonic() + 90  # transactions of other databases have to end first
        while relay._outbox.floor.unseen and time.monotonic() < deadline:
            relay.relay_batch()

        assert not relay._outbox.floor.unseen


class TestWhileSomethingIsInFlight:
    def test_no_later_event_of_its_aggregate_is_claimed(self, relay, bus, happen):
        happen(1, 2, thing_id="a")
        happen(1, thing_id="b")
        relay.relay_batch()  # the epoch begins
        happen(3, thing_id="a")
        first = Outbox(relay._outbox.connection, "other", 30)
        first.begin_epoch(relay._outbox.epoch)
        held = first.claim(1)
        happen(4, thing_id="a")
        happen(2, thing_id="b")

        drain(relay)

        assert [row.aggregate_id for row in held.rows] == ["a"]
        assert entries(bus) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]

    def test_another_tenants_event_of_the_same_name_is_claimed(self, relay, bus, happen):
        relay.relay_batch()
        happen(1)
        holder = Outbox(relay._outbox.connection, "holder", 30)
        holder.begin_epoch(relay._outbox.epoch)
        holder.claim(1)
        happen(2)
        with acting(tenant_id=uuid4()):
            happen(100)

        drain(relay)

        assert entries(bus) == [("t1", 100)]

    def test_an_expired_lease_is_taken_over(self, relay, bus, happen):
        relay.relay_batch()
        happen(1, 2)
        dead = Outbox(relay._outbox.connection, "dead", lease=0)
        dead.begin_epoch(relay._outbox.epoch)
        dead.claim(10)

        drain(relay)

        assert entries(bus) == [("t1", 1), ("t1", 2)]
        assert OutboxEvent.objects.first().attempt_count == 2

    def test_a_relay_that_lost_its_lease_changes_nothing(self, relay, happen):
        relay.relay_batch()
        happen(1)
        slow = Outbox(relay._outbox.connection, "slow", lease=0)
        slow.begin_epoch(relay._outbox.epoch)
        stale = slow.claim(10)
        fast = Outbox(relay._outbox.connection, "fast", lease=30)
        fast.begin_epoch(relay._outbox.epoch)
        fast.claim(10)

        assert slow.settle(stale, stale.rows, ["1-0"]) == 0
        slow.give_back(stale, stale.rows)
        assert OutboxEvent.objects.get().locked_by == "fast"

    def test_others_pass_a_long_row_of_blocked_events(self, relay, bus, happen):
        relay.relay_batch()
        relay.batch = 5
        happen(0, thing_id="blocked")
        holder = Outbox(relay._outbox.connection, "holder", 30)
        holder.begin_epoch(relay._outbox.epoch)
        holder.claim(1)
        happen(*range(1, 50), thing_id="blocked")
        happen(1, thing_id="free")

        drain(relay)

        assert entries(bus) == [("free", 1)]


class FussyBus:
    """Refuses things named so."""

    def __init__(self, bus, thing_id, permanent=False):
        self._bus, self._thing_id, self._permanent = bus, thing_id, permanent

    def __getattr__(self, name):
        return getattr(self._bus, name)

    def append(self, batch, identity):
        fine = [(stream, fields) for stream, fields in batch if self._thing_id not in fields]
        ids = iter(self._bus.append(fine, identity))
        return [
            Refusal("ERR", "not this one", self._permanent) if self._thing_id in fields
            else next(ids)
            for _, fields in batch
        ]  # fmt: skip


def _make_due():
    refused = OutboxEvent.objects.filter(status="PENDING", attempt_count=1)
    refused.update(next_retry_at=timezone.now())


class TestARefusedEvent:
    def test_waits_for_its_retry_and_holds_back_its_followers(self, bus, happen):
        relay = Relay(FussyBus(bus, "odd"), "relay-1")
        happen(1, thing_id="odd")
        happen(1, thing_id="even")
        drain(relay)
        happen(2, thing_id="odd")
        relay.bus = bus
        drain(relay)

        assert entries(bus) == [("even", 1)]
        _make_due()
        drain(relay)
        drain(relay)
        assert entries(bus) == [("odd", 1), ("odd", 2)]

    def test_holds_back_nobody_of_another_tenant(self, bus, happen):
        relay = Relay(FussyBus(bus, "odd"), "relay-1")
        happen(1, thing_id="odd")
        drain(relay)
        relay.bus = bus
        happen(2, thing_id="odd")
        with acting(tenant_id=uuid4()):
            happen(100, thing_id="odd")
        drain(relay)

        assert entries(bus) == [("odd", 100)]
        _make_due()
        drain(relay)
        drain(relay)
        assert entries(bus) == [("odd", 1), ("odd", 2)]

    def test_does_not_overtake_what_has_to_be_sent_again(self, bus, happen, handle):
        handle(lambda message: None, "TEST_THING_HAPPENED")
        relay = Relay(bus, "relay-1")
        happen(*range(20), thing_id="others")
        happen(1, thing_id="odd")
        drain(relay)
        relay.bus = FussyBus(bus, "odd")
        happen(2, thing_id="odd")
        drain(relay)
        _wipe(bus)
        OutboxEvent.objects.filter(next_retry_at__isnull=False).update(next_retry_at=timezone.now())
        relay.bus, relay.batch = bus, 5
        drain(relay)

        assert [thing for thing in entries(bus) if thing[0] == "odd"] == [("odd", 1), ("odd", 2)]

    def test_is_given_up_after_five_attempts_and_becomes_a_dead_letter(self, bus, happen):
        relay = Relay(FussyBus(bus, "odd"), "relay-1")
        (event_id,) = happen(1, thing_id="odd")
        for _ in range(6):
            drain(relay)
            OutboxEvent.objects.filter(status="PENDING").update(next_retry_at=timezone.now())

        row, letter = OutboxEvent.objects.get(), DeadLetter.objects.get()
        assert (row.status, row.attempt_count) == ("DEAD", 5)
        assert (row.last_error_code, row.last_error_message) == ("ERR", "not this one")
        assert (letter.group, letter.event_id, letter.attempts) == ("relay", event_id, 5)
        assert FailedAttempt.objects.filter(event_id=event_id).count() == 5

    def test_is_given_up_at_once_when_the_refusal_is_final(self, bus, happen):
        relay = Relay(FussyBus(bus, "odd", permanent=True), "relay-1")
        happen(1, thing_id="odd")
        happen(2, thing_id="odd")
        drain(relay)

        assert statuses() == ["DEAD", "DEAD"]

    def test_dead_ones_block_nobody(self, bus, happen):
        relay = Relay(FussyBus(bus, "odd", permanent=True), "relay-1")
        happen(1, thing_id="odd")
        drain(relay)
        relay.bus = bus
        happen(2, thing_id="odd")
        drain(relay)

        assert entries(bus) == [("odd", 2)]


class AwayBus:
    """Takes nothing for a while."""

    def __init__(self, bus):
        self._bus = bus

    def __getattr__(self, name):
        return getattr(self._bus, name)

    def append(self, batch, identity):
        raise BusUnavailable("OOM command not allowed")


def test_redis_trouble_burns_no_attempts(bus, happen):
    relay = Relay(AwayBus(bus), "relay-1")
    happen(1)
    for _ in range(8):
        with pytest.raises(BusUnavailable):
            relay.relay_batch()

    row = OutboxEvent.objects.get()
    assert (row.status, row.attempt_count) == ("PENDING", 0)
    relay.bus = bus
    drain(relay)
    assert entries(bus) == [("t1", 1)]


def test_a_full_redis_takes_a_whole_batch_or_nothing_of_it(own_valkey, happen):
    bus = RedisStreams(own_valkey)
    relay = Relay(bus, "relay-1")
    relay.relay_batch()
    happen(*range(50))
    own_valkey.config_set("maxmemory", 1)
    with pytest.raises(BusUnavailable, match="maxmemory"):
        relay.relay_batch()
    own_valkey.config_set("maxmemory", 0)

    assert own_valkey.xlen("axiom:events") == 0
    drain(relay)
    assert entries(bus) == [("t1", n) for n in range(50)]


def test_back_off_doubles_to_a_minute_with_jitter():
    for trouble, middle in [(0, 0.5), (1, 1), (2, 2), (7, 60), (50, 60)]:
        assert middle * 0.8 <= backoff(trouble) <= middle * 1.2


class TestAfterTheBusLostItsData:
    def test_what_no_group_confirmed_is_sent_again_before_anything_newer(
        self, relay, bus, happen, handle
    ):
        handle(lambda message: None, "TEST_THING_HAPPENED")
        happen(1, 2)
        drain(relay)
        happen(3)
        _wipe(bus)
        drain(relay)

        assert entries(bus) == [("t1", 1), ("t1", 2), ("t1", 3)]

    def test_what_every_group_confirmed_is_not_sent_again(self, relay, bus, happen, handle):
        handle(lambda message: None, "TEST_THING_HAPPENED")
        first, _ = happen(1, 2)
        drain(relay)
        # Beside the test's own handler there are those that take every event.
        for group in {name for name, _, kind in readers() if kind in ("TEST_THING_HAPPENED", "*")}:
            InboxEntry.objects.create(event_id=first, group=group)
        _wipe(bus)
        happen(3)
        drain(relay)

        assert entries(bus) == [("t1", 2), ("t1", 3)]

    def test_a_relay_that_did_not_notice_looks_at_everything_again(
        self, relay, bus, happen, handle
    ):
        handle(lambda message: None, "TEST_THING_HAPPENED")
        other = Relay(bus, "relay-2")
        happen(1)
        drain(relay)
        drain(other)
        _wipe(bus)
        happen(2)
        drain(other)
        drain(relay)

        assert entries(bus) == [("t1", 1), ("t1", 2)]
        assert relay._outbox.epoch == other._outbox.epoch == BusState.objects.get().epoch

    def test_it_is_sent_again_though_nothing_new_is_published(self, relay, bus, happen, handle):
        handle(lambda message: None, "TEST_THING_HAPPENED")
        happen(1)
        drain(relay)
        _wipe(bus)
        drain(relay)

        assert entries(bus) == [("t1", 1)]

    def test_healing_that_died_half_way_is_finished_by_the_next(self, relay, bus, happen):
        drain(relay)
        BusState.objects.update(healing=True)
        happen(1)
        drain(relay)

        assert entries(bus) == [("t1", 1)]
        assert not BusState.objects.get().healing


def _wipe(bus):
    if hasattr(bus, "wipe"):
        bus.wipe()
    else:
        bus.client.flushdb()


def test_a_full_batch_costs_a_handful_of_statements_and_one_round_trip(
    redis_bus, happen, monkeypatch
):
    relay = Relay(redis_bus, "relay-1")
    happen(0)
    relay.relay_batch()  # connects
    relay._outbox.floor.every_seconds = 60  # its own statements are few per second, not per batch
    happen(*range(500))
    statements = []
    execute = claims.execute
    monkeypatch.setattr(
        claims, "execute", lambda *a, **k: statements.append(a[1]) or execute(*a, **k)
    )
    trips = []
    exchange = redis_bus._exchange
    redis_bus._exchange = lambda *a: trips.append(1) or exchange(*a)

    assert relay.relay_batch() == 500
    assert len(statements) <= 4
    assert len(trips) == 1


def test_the_relays_statements_are_planned_once_and_find_events_by_number(relay, happen):
    """A plan made for an empty slice would read it from end to end once it has filled."""
    for _ in range(3):
        happen(*range(20))
        drain(relay)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT max(generic_plans), sum(custom_plans) FROM pg_prepared_statements"
            " WHERE statement LIKE '%%claimed AS%%' OR statement LIKE '%%published_at = now()%%'"
        )
        again, anew = cursor.fetchone()
        cursor.execute(f"EXPLAIN {claims._CLAIM}", _any_claim(relay))
        plan = "".join(line for (line,) in cursor.fetchall())

    assert (again >= 3, anew) == (True, 0)
    assert "Seq Scan on event_outbox" not in plan


def _any_claim(relay):
    return {"limit": 1, "owner": "", "lease": 1, "token": uuid4(), **relay._outbox._place}


def test_an_event_published_in_a_rolled_back_savepoint_is_not_sent(
    relay, bus, thing_happened, tenant
):
    with transaction.atomic():
        publish(thing_happened(thing_id="kept"))
        sid = transaction.savepoint()
        publish(thing_happened(thing_id="taken back"))
        transaction.savepoint_rollback(sid)
    drain(relay)

    assert entries(bus) == [("kept", 0)]


def test_unfenced_settling_would_be_noticed(relay, happen, monkeypatch):
    """The negative control of the lease test above: without the token a stale relay succeeds."""
    monkeypatch.setattr(
        claims, "_SETTLE", claims._SETTLE.replace("AND o.claim_token = %(token)s", "")
    )
    relay.relay_batch()
    happen(1)
    slow = Outbox(relay._outbox.connection, "slow", lease=0)
    slow.begin_epoch(relay._outbox.epoch)
    stale = slow.claim(10)
    fast = Outbox(relay._outbox.connection, "fast", lease=30)
    fast.begin_epoch(relay._outbox.epoch)
    fast.claim(10)

    assert slow.settle(stale, stale.rows, ["1-0"]) == 1
