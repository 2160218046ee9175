"""Dead letters: sent again, edited, tried, discarded, and nothing of it forgotten."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction

from apps.accounts.models import Membership, Tenant
from apps.events import context, services
from apps.events.bus.redis_streams import RedisStreams
from apps.events.connections import postgres_connection
from apps.events.errors import (
    EventWithoutTenant,
    LetterNotOpen,
    LetterUnreadable,
    NobodyHandles,
    NothingToTry,
    PayloadDoesNotFit,
    ReasonMissing,
    RedriveNotRunning,
)
from apps.events.handlers import GiveUp, forget
from apps.events.housekeeping import Housekeeper
from apps.events.models import (
    DeadLetter,
    DeadLetterAct,
    FailedAttempt,
    InboxEntry,
    OutboxEvent,
    Redrive,
    Retry,
)
from apps.events.outbox import publish
from apps.events.relay import Relay
from apps.events.selectors.letters import LetterFilter

from .backbone import GROUP, ORDERED, Log, drain, open_letters, worker
from .conftest import TENANT, entries

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("leases_end")]

ALICE = "alice@example.com"
OTHER = "vision_group"


@pytest.fixture
def relay(redis_bus):
    return Relay(redis_bus, "relay-1")


@pytest.fixture
def log(handle, thing_happened):
    log = Log()
    handle(log, thing_happened, group=GROUP)
    return log


@pytest.fixture
def bury(log, relay, redis_bus, happen):
    """Lets events end as dead letters of the group; returns the letters."""

    def give_up_on(*numbers, thing_id="t1"):
        log.trouble = {(thing_id, n): GiveUp("no such case") for n in numbers}
        happen(*numbers, thing_id=thing_id)
        drain(relay)
        worker(redis_bus).step()
        log.trouble = {}
        return list(open_letters())

    return give_up_on


@pytest.fixture
def letter(bury):
    (letter,) = bury(1)
    return letter


@pytest.fixture
def unreadable(log, relay, redis_bus, redis_client):
    relay.relay_batch()
    redis_client.xadd("axiom:events", {"event_id": b"\xff\xfe", "what": "ever"})
    worker(redis_bus).step()
    return DeadLetter.objects.get()


@pytest.fixture
def refused(relay, redis_client, happen):
    """A letter of the relay: the stream was something else, and Redis refused five times."""
    drain(relay)
    redis_client.rename("axiom:events", "axiom:kept")
    redis_client.set("axiom:events", "not a stream")
    happen(1)
    letter = _refuse_for_good(relay)
    redis_client.rename("axiom:kept", "axiom:events")
    return letter


def _refuse_for_good(relay):
    while not DeadLetter.objects.exists():
        OutboxEvent.objects.filter(status="PENDING").update(next_retry_at="2020-01-01T00:00Z")
        relay.relay_batch()
    return DeadLetter.objects.get()


def acts(letter):
    return [(act.kind, act.actor, act.reason) for act in letter.acts.order_by("id")]


def lose_everything(redis_client, relay):
    redis_client.flushdb()
    drain(relay)


class TestRedriving:
    def test_hands_the_event_to_the_group_again(self, letter, log, redis_bus):
        services.redrive(letter, by=ALICE, reason="fixed")
        worker(redis_bus).step()

        letter.refresh_from_db()
        assert log == [("t1", 1)]
        assert letter.status == "redriven"
        assert InboxEntry.objects.get().outcome == "done"
        assert acts(letter) == [("redriven", ALICE, "fixed")]

    def test_reaches_no_group_that_handled_it(self, bury, handle, redis_bus, thing_happened):
        other = Log()
        handle(other, thing_happened, group=OTHER)
        (letter,) = bury(1)
        worker(redis_bus, group=OTHER).step()
        services.redrive(letter, by=ALICE)
        worker(redis_bus).step()
        worker(redis_bus, group=OTHER).step()

        assert other == [("t1", 1)]

    def test_that_fails_again_is_a_new_letter_and_the_old_one_stays(self, letter, log, redis_bus):
        services.redrive(letter, by=ALICE)
        log.trouble = {("t1", 1): GiveUp("still no such case")}
        worker(redis_bus).step()

        first, second = DeadLetter.objects.order_by("created_at")
        assert (first.status, second.status) == ("redriven", "open")
        assert first.event_id == second.event_id
        assert InboxEntry.objects.get().outcome == "dead"

    def test_begins_with_a_full_set_of_attempts(self, letter, log, redis_bus):
        services.redrive(letter, by=ALICE)
        log.trouble = {("t1", 1): RuntimeError("bad weather")}
        worker(redis_bus).step()

        assert Retry.objects.get().attempts == 1
        assert not open_letters()

    def test_twice_is_refused(self, letter):
        services.redrive(letter, by=ALICE)
        with pytest.raises(LetterNotOpen):
            services.redrive(letter, by=ALICE)

        assert len(acts(letter)) == 1

    def test_changes_nothing_when_it_cannot_be_remembered(self, letter):
        with pytest.raises(IntegrityError):
            services.redrive(letter, by=None)

        letter.refresh_from_db()
        assert letter.status == "open"
        assert InboxEntry.objects.get().outcome == "dead"
        assert not Retry.objects.exists()

    def test_is_refused_when_no_handler_is_left(self, letter, log):
        forget(log)
        with pytest.raises(NobodyHandles):
            services.redrive(letter, by=ALICE)

    def test_of_what_nobody_can_read_is_refused(self, unreadable):
        with pytest.raises(LetterUnreadable):
            services.redrive(unreadable, by=ALICE)

        assert acts(unreadable) == []

    def test_survives_a_redelivery_of_the_entry(self, letter, log, redis_bus, relay):
        """A relay that died may have sent the event twice; the second entry comes meanwhile."""
        OutboxEvent.objects.update(status="PENDING")
        relay._outbox.begin_epoch(relay._outbox.epoch)
        services.redrive(letter, by=ALICE)
        drain(relay)
        worker(redis_bus).step()
        worker(redis_bus).step()

        assert log == [("t1", 1)]


def _explode(*args, **kwargs):
    return 1 // 0


class TestRedrivingInAnOrderedGroup:
    @pytest.fixture
    def log(self, handle, thing_happened):
        log = Log()
        handle(log, thing_happened, group=ORDERED)
        return log

    @pytest.fixture
    def ordered(self, redis_bus):
        return worker(redis_bus, group=ORDERED)

    def test_goes_before_what_waits_and_was_later(self, log, relay, ordered, happen):
        log.trouble = {("a", 1): GiveUp("never"), ("a", 2): RuntimeError("later")}
        happen(1, 2, 3, thing_id="a")
        drain(relay)
        ordered.step()
        log.trouble = {}
        services.redrive(open_letters().get(), by=ALICE)
        Retry.objects.filter(attempts=1).update(due_at="2020-01-01T00:00Z")
        ordered.delivery.retry_due()

        assert log == [("a", 1), ("a", 2), ("a", 3)]

    def test_of_several_keeps_their_order_even_when_one_failed_twice(
        self, log, relay, ordered, happen
    ):
        log.trouble = {("a", n): GiveUp("never") for n in (1, 2, 3)}
        happen(1, 2, 3, thing_id="a")
        drain(relay)
        ordered.step()
        services.redrive(open_letters().first(), by=ALICE)
        ordered.delivery.retry_due()  # number 1 fails again, and its letter is the youngest now
        log.trouble = {}
        redrive = start(LetterFilter(group=ORDERED), rate=1)
        for second in (1, 2, 3, 4):
            services.advance_redrives(redrive.stepped_at + timedelta(seconds=second))
            ordered.delivery.retry_due()

        assert log == [("a", 1), ("a", 2), ("a", 3)]

    def test_makes_followers_wait_behind_it(self, log, relay, ordered, happen):
        log.trouble = {("a", 1): GiveUp("never")}
        happen(1, thing_id="a")
        drain(relay)
        ordered.step()
        log.trouble = {("a", 1): RuntimeError("not yet")}
        services.redrive(open_letters().get(), by=ALICE)
        ordered.delivery.retry_due()
        happen(2, thing_id="a")
        drain(relay)
        ordered.step()
        assert log == []

        log.trouble = {}
        Retry.objects.update(due_at="2020-01-01T00:00Z")
        ordered.delivery.retry_due()
        assert log == [("a", 1), ("a", 2)]


class TestALetterOfTheRelay:
    def test_is_recorded_with_its_attempts(self, refused):
        assert (refused.group, refused.attempts) == ("relay", 5)
        assert OutboxEvent.objects.get().status == "DEAD"
        assert FailedAttempt.objects.filter(event_id=refused.event_id).count() == 5

    def test_is_sent_again_under_its_own_id(self, refused, relay, redis_bus):
        services.redrive(refused, by=ALICE)
        drain(relay)

        row = OutboxEvent.objects.get()
        assert (row.status, row.event_id) == ("PUBLISHED", refused.event_id)
        assert entries(redis_bus) == [("t1", 1)]

    def test_is_written_anew_when_its_slice_is_gone(self, refused, relay, redis_bus):
        OutboxEvent.objects.all().delete()
        services.redrive(refused, by=ALICE)
        drain(relay)

        row = OutboxEvent.objects.get()
        assert (row.status, row.event_id) == ("PUBLISHED", refused.event_id)
        assert (row.tenant_id, row.trace_id, row.actor) == (TENANT, "a" * 32, ALICE)
        assert json.loads(row.payload)["number"] == 1
        assert entries(redis_bus) == [("t1", 1)]

    def test_written_anew_it_still_knows_where_it_came_from(self, relay, redis_client, happen):
        drain(relay)
        redis_client.delete("axiom:events")
        redis_client.set("axiom:events", "not a stream")
        cause, replaced = uuid4(), uuid4()
        happen(1)
        origin = {"request_id": "r-1", "source": "web"}
        OutboxEvent.objects.update(**origin, causation_id=cause, replaces_id=replaced)
        letter = _refuse_for_good(relay)
        OutboxEvent.objects.all().delete()
        services.redrive(letter, by=ALICE)

        row = OutboxEvent.objects.get()
        assert (row.request_id, row.source) == ("r-1", "web")
        assert (row.causation_id, row.replaces_id) == (cause, replaced)

    def test_of_another_day_is_found_though_nobody_publishes(self, refused, relay, redis_bus):
        self._rise(relay, above=refused)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE event_outbox SET created_at = now() - interval '3 days'")
        services.redrive(refused, by=ALICE)
        relay.relay_batch()  # finds nothing yet, and then looks further back
        drain(relay)

        assert entries(redis_bus) == [("t1", 1)]

    def _rise(self, relay, above):
        """Let the relay's floor pass the letter's row, as it does within a second of nothing."""
        relay.relay_batch()
        relay._outbox.floor.every_seconds = 0
        dead = OutboxEvent.objects.get(event_id=above.event_id).seq
        deadline = time.monotonic() + 90  # transactions of other databases have to end first
        while relay._outbox.floor.seq <= dead and time.monotonic() < deadline:
            relay.relay_batch()
        relay.relay_batch()
        assert relay._outbox.floor.seq > dead

    def test_is_found_below_the_floor_of_a_running_relay(self, refused, relay, redis_bus, happen):
        happen(*range(2, 10), thing_id="t2")
        drain(relay)
        self._rise(relay, above=refused)

        services.redrive(refused, by=ALICE)
        drain(relay)
        assert entries(redis_bus)[-1] == ("t1", 1)

    def test_fails_anew_from_the_first_attempt(self, refused, relay, redis_client):
        redis_client.rename("axiom:events", "axiom:kept")
        redis_client.set("axiom:events", "not a stream")
        services.redrive(refused, by=ALICE)
        relay.relay_batch()

        row = OutboxEvent.objects.get()
        assert (row.status, row.attempt_count) == ("PENDING", 1)

    def test_waits_for_a_claim_in_progress(self, refused):
        """Whatever makes an event PENDING takes the lock of the claims, or order would break."""
        with postgres_connection() as claiming, claiming.transaction():
            claiming.execute("SELECT pg_advisory_xact_lock(hashtext('axiom.outbox.claim'))")
            with pytest.raises(OperationalError, match="lock timeout"):
                _redrive_impatiently(refused)

    def test_has_no_handler_to_try(self, refused):
        with pytest.raises(NothingToTry):
            services.dry_run(refused, by=ALICE)

    def test_edited_takes_the_way_of_every_event(self, refused, relay, redis_bus):
        letter = services.edit_and_redrive(
            refused, payload={"thing_id": "t1", "number": 7}, by=ALICE, reason="typo"
        )
        drain(relay)

        copy = OutboxEvent.objects.get(event_id=letter.replaced_by)
        assert (copy.replaces_id, copy.status) == (refused.event_id, "PUBLISHED")
        assert entries(redis_bus) == [("t1", 7)]
        assert OutboxEvent.objects.get(event_id=refused.event_id).status == "DEAD"


@transaction.atomic
def _redrive_impatiently(letter):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '100ms'")
    services.redrive(letter, by=ALICE)


def start(which, rate=100, tenant_id=None):
    return services.start_redrive(which, tenant_id=tenant_id, rate=rate, by=ALICE, reason="fixed")


def step(redrive, seconds):
    services.advance_redrives(redrive.created_at + timedelta(seconds=seconds))
    redrive.refresh_from_db()
    return redrive.sent


class TestRedrivingMany:
    def test_sends_what_matches_and_nothing_else(self, bury, log, redis_bus):
        first, second = bury(1, 2)
        DeadLetter.objects.filter(pk=second.pk).update(fingerprint="another")
        redrive = start(LetterFilter(fingerprint=first.fingerprint))
        step(redrive, 1)
        worker(redis_bus).step()

        assert log == [("t1", 1)]
        assert (redrive.status, redrive.total, redrive.sent) == ("done", 1, 1)
        assert acts(DeadLetter.objects.get(status="redriven")) == [("redriven", ALICE, "fixed")]

    @pytest.mark.parametrize(
        "which",
        [
            LetterFilter(group=OTHER),
            LetterFilter(stream="axiom:watches"),
            LetterFilter(event_type="CASE_CREATED"),
            LetterFilter(tenant_id=UUID(int=1)),
            LetterFilter(ids=(UUID(int=1),)),
            LetterFilter(until=datetime(2020, 1, 1, tzinfo=UTC)),
            LetterFilter(since=datetime(2999, 1, 1, tzinfo=UTC)),
        ],
    )
    def test_is_narrowed_by_every_filter(self, bury, which):
        bury(1)
        told = which.as_json()
        assert start(LetterFilter.of_json(told)).total == 0
        assert LetterFilter.of_json(told).as_json() == told

    def test_keeps_to_its_rate(self, bury):
        bury(*range(30))
        redrive = start(LetterFilter(), rate=10)

        assert [step(redrive, seconds) for seconds in (0.05, 0.5, 1, 1.05, 2)] == [0, 5, 10, 10, 20]
        assert redrive.status == "running"

    def test_does_not_catch_up_in_a_burst_after_a_pause(self, bury):
        bury(*range(30))
        redrive = start(LetterFilter(), rate=5)

        assert step(redrive, 3600) == 10

    def test_stops_when_told(self, bury):
        bury(*range(10))
        redrive = start(LetterFilter(), rate=2)
        step(redrive, 1)
        services.stop_redrive(redrive, by="bob@example.com")
        step(redrive, 2)

        assert (redrive.status, redrive.sent) == ("stopped", 2)
        assert redrive.stopped_by == "bob@example.com"
        assert open_letters().count() == 8
        with pytest.raises(RedriveNotRunning):
            services.stop_redrive(redrive, by=ALICE)

    def test_takes_what_fails_again_only_once(self, bury, log, redis_bus):
        bury(1, 2)
        log.trouble = {("t1", n): GiveUp("still") for n in (1, 2)}
        redrive = start(LetterFilter(), rate=1)
        for second in range(1, 6):
            step(redrive, second)
            worker(redis_bus).step()

        assert (redrive.status, redrive.sent) == ("done", 2)
        assert open_letters().count() == 2

    def test_leaves_alone_what_cannot_be_sent(self, unreadable, bury):
        bury(1)
        redrive = start(LetterFilter())
        step(redrive, 1)

        assert (redrive.sent, redrive.skipped, redrive.status) == (1, 1, "done")
        assert open_letters().get() == unreadable

    def test_sends_selected_ones(self, bury):
        letters = bury(1, 2, 3)
        redrive = start(LetterFilter(ids=(letters[0].pk, letters[2].pk)))
        step(redrive, 1)

        assert open_letters().get() == letters[1]

    def test_of_a_tenant_leaves_others_alone(self, bury):
        bury(1, 2)
        DeadLetter.objects.filter(pk=open_letters()[0].pk).update(tenant_id=UUID(int=7))
        redrive = start(LetterFilter(), tenant_id=TENANT)
        step(redrive, 1)

        assert redrive.total == 1
        assert open_letters().get().tenant_id == UUID(int=7)

    def test_is_stepped_by_one_process_at_a_time(self, bury):
        bury(1)
        redrive = start(LetterFilter())
        with postgres_connection() as other, other.transaction():
            other.execute("SELECT FROM event_redrive FOR UPDATE")
            assert step(redrive, 1) == 0

        assert step(redrive, 1) == 1

    def test_goes_past_a_letter_that_somebody_acts_on(self, bury):
        first, _ = bury(1, 2)
        redrive = start(LetterFilter())
        with postgres_connection() as other, other.transaction():
            other.execute("SELECT FROM event_dead_letter WHERE id = %s FOR UPDATE", [first.pk])
            assert step(redrive, 1) == 1

        assert open_letters().get() == first

    def test_a_step_that_dies_half_way_leaves_nothing_behind(self, bury, redis_bus, log):
        bury(1, 2)
        redrive = start(LetterFilter())
        with transaction.atomic():
            services.advance_redrives(redrive.created_at + timedelta(seconds=1))
            transaction.set_rollback(True)
        redrive.refresh_from_db()
        assert (redrive.sent, open_letters().count(), Retry.objects.count()) == (0, 2, 0)

        step(redrive, 1)
        worker(redis_bus).step()
        assert log == [("t1", 1), ("t1", 2)]

    def test_an_error_of_ours_stops_it_and_no_other(self, bury):
        bury(1)
        broken = start(LetterFilter())
        Redrive.objects.filter(pk=broken.pk).update(filters={"ids": ["not an id"]})
        redrive = start(LetterFilter())
        step(redrive, 1)
        broken.refresh_from_db()

        assert (broken.status, redrive.status) == ("stopped", "done")
        assert "badly formed" in broken.error

    def test_is_the_housekeepers_work(self, bury, redis_bus):
        bury(1)
        redrive = start(LetterFilter())
        Redrive.objects.update(stepped_at=redrive.stepped_at - timedelta(seconds=1))
        Housekeeper(redis_bus).redrive()

        assert not open_letters()

    def test_of_thousands_takes_a_handful_of_statements_per_step(
        self, letter, django_assert_max_num_queries
    ):
        fields = {f.attname: getattr(letter, f.attname) for f in DeadLetter._meta.fields}
        DeadLetter.objects.bulk_create(
            DeadLetter(**fields | {"id": UUID(int=n), "event_id": UUID(int=n)})
            for n in range(1, 2001)
        )
        redrive = start(LetterFilter(), rate=1000)
        with django_assert_max_num_queries(12):
            services.advance_redrives(redrive.created_at + timedelta(seconds=1))

        assert Retry.objects.count() == 1000


class TestAnEditedCopy:
    EDITED = {"thing_id": "t1", "number": 7, "note": "고침"}

    def edit(self, letter, **changes):
        given = {"payload": self.EDITED, "by": ALICE, "reason": "typo"} | changes
        return services.edit_and_redrive(letter, **given)

    def test_is_handled_by_the_group_under_a_new_id(self, letter, log, redis_bus):
        edited = self.edit(letter)
        worker(redis_bus).step()

        assert log == [("t1", 7)]
        assert edited.status == "replaced"
        assert edited.replaced_by not in (None, letter.event_id)
        outcomes = dict(InboxEntry.objects.values_list("event_id", "outcome"))
        assert outcomes == {letter.event_id: "replaced", edited.replaced_by: "done"}

    def test_reaches_no_other_group_not_even_after_redis_lost_everything(
        self, bury, log, handle, relay, redis_bus, redis_client, thing_happened
    ):
        other = Log()
        handle(other, thing_happened, group=OTHER)
        (letter,) = bury(1)
        worker(redis_bus, group=OTHER).step()
        self.edit(letter)
        drain(relay)
        lose_everything(redis_client, relay)
        for group in (GROUP, OTHER):
            worker(redis_bus, group=group).step()

        assert other == [("t1", 1)]
        assert log == [("t1", 7)]

    def test_is_linked_to_the_original_and_keeps_its_circumstances(self, letter):
        edited = self.edit(letter)
        copy = OutboxEvent.objects.get(event_id=edited.replaced_by)
        original = OutboxEvent.objects.get(event_id=letter.event_id)

        assert copy.replaces_id == letter.event_id
        assert copy.status == "PUBLISHED"
        for name in ("tenant_id", "actor", "trace_id", "occurred_at", "causation_id", "stream"):
            assert getattr(copy, name) == getattr(original, name)

    def test_is_remembered_with_what_changed_and_why(self, letter):
        edited = self.edit(letter)
        (act,) = edited.acts.all()

        assert (act.kind, act.actor, act.reason) == ("replaced", ALICE, "typo")
        assert '-  "number": 1,' in act.diff.splitlines()
        assert '+  "number": 7,' in act.diff.splitlines()
        assert '+  "note": "고침",' in act.diff.splitlines()
        assert act.facts == {"replaced_by": str(edited.replaced_by)}

    def test_must_fit_the_schema_and_says_where_it_does_not(self, letter):
        with pytest.raises(PayloadDoesNotFit) as refusal:
            self.edit(letter, payload={"thing_id": "t1", "number": "many", "colour": "red"})

        assert [fault["pointer"] for fault in refusal.value.facts["errors"]] == [
            "#/payload/number",
            "#/payload/colour",
        ]
        letter.refresh_from_db()
        assert letter.status == "open"
        assert OutboxEvent.objects.count() == 1

    def test_needs_a_reason(self, letter):
        with pytest.raises(ReasonMissing):
            self.edit(letter, reason="  ")

    def test_that_fails_is_a_letter_of_its_own(self, letter, log, redis_bus):
        log.trouble = {("t1", 7): GiveUp("no better")}
        edited = self.edit(letter)
        worker(redis_bus).step()

        assert open_letters().get().event_id == edited.replaced_by

    def test_keeps_the_place_of_the_original_in_an_ordered_group(
        self, handle, thing_happened, relay, redis_bus, happen
    ):
        log = Log()
        handle(log, thing_happened, group=ORDERED)
        log.trouble = {("a", 1): GiveUp("never"), ("a", 2): RuntimeError("later")}
        happen(1, 2, thing_id="a")
        drain(relay)
        consumer = worker(redis_bus, group=ORDERED)
        consumer.step()
        log.trouble = {}
        self.edit(open_letters().get(), payload={"thing_id": "a", "number": 7})
        Retry.objects.update(due_at="2020-01-01T00:00Z")
        consumer.delivery.retry_due()

        assert log == [("a", 7), ("a", 2)]

    def test_gives_an_unreadable_entry_a_meaning(self, unreadable, log, redis_bus):
        edited = self.edit(unreadable, event_type="TEST_THING_HAPPENED", tenant_id=TENANT)
        worker(redis_bus).step()

        assert log == [("t1", 7)]
        assert "-what=ever" in edited.acts.get().diff.splitlines()

    def test_of_an_unreadable_entry_needs_a_tenant(self, unreadable):
        with pytest.raises(EventWithoutTenant), context.fresh():
            self.edit(unreadable, event_type="TEST_THING_HAPPENED")

    def test_cannot_be_given_to_another_tenant(self, letter):
        edited = self.edit(letter, tenant_id=UUID(int=7))

        assert OutboxEvent.objects.get(event_id=edited.replaced_by).tenant_id == TENANT

    def test_begins_with_the_payload_in_its_current_version(self, letter, declared):
        from apps.events.catalog import Event

        class Grown(Event, type="TEST_GROWN", aggregate="thing", key="thing_id", version=2):
            thing_id: str
            size: int

            upcasters = {1: lambda old: {"thing_id": old["thing_id"], "size": old["number"]}}

        declared(Grown)
        letter.event_type = "TEST_GROWN"

        assert services.draft(letter) == {"thing_id": "t1", "size": 1}

    def test_begins_with_the_payload_as_it_is_when_it_cannot_be_upcast(self, letter):
        letter.event_type = "NO_LONGER_DECLARED"

        assert services.draft(letter)["number"] == 1


class TestADryRun:
    def try_out(self, letter, handle, handler, **options):
        handle(handler, "TEST_THING_HAPPENED", group=OTHER, **options.pop("options", {}))
        letter.group = OTHER
        return services.dry_run(letter, by=ALICE, **options)

    def test_tells_what_would_happen_and_does_nothing(self, letter, handle, thing_happened):
        after_commit = []

        def work(message):
            tenant = Tenant.objects.create(name="New", slug="new")
            publish(thing_happened(thing_id=str(tenant.slug), number=2))
            transaction.on_commit(lambda: after_commit.append("mailed"))

        rehearsal = self.try_out(letter, handle, work)

        assert (rehearsal.outcome, rehearsal.queries) == ("ok", 2)
        assert [event.aggregate_id for event in rehearsal.published] == ["new"]
        assert 0 < rehearsal.seconds < 30
        assert not Tenant.objects.exists()
        assert OutboxEvent.objects.count() == 1
        assert after_commit == []
        assert InboxEntry.objects.get().outcome == "dead"

    def test_wakes_no_relay(self, letter, handle, thing_happened, redis_client):
        redis_client.delete("axiom:nudge")
        self.try_out(letter, handle, lambda message: publish(thing_happened(thing_id="x")))

        assert not redis_client.exists("axiom:nudge")

    def test_does_nothing_inside_a_transaction_either(self, letter, handle, thing_happened):
        with transaction.atomic():
            rehearsal = self.try_out(
                letter, handle, lambda message: publish(thing_happened(thing_id="x"))
            )

        assert len(rehearsal.published) == 1
        assert OutboxEvent.objects.count() == 1

    def test_tells_how_a_handler_fails(self, letter, handle):
        rehearsal = self.try_out(letter, handle, _explode)

        assert (rehearsal.outcome, rehearsal.error_type) == ("failed", "ZeroDivisionError")
        assert "in _explode" in rehearsal.stack

    def test_tells_a_failing_query_from_a_broken_transaction(self, letter, handle):
        def insert_twice(message):
            Tenant.objects.create(name="One", slug="same")
            Tenant.objects.create(name="Two", slug="same")

        assert self.try_out(letter, handle, insert_twice).error_type == "IntegrityError"

    def test_finds_what_only_a_commit_would_refuse(self, letter, handle):
        def point_nowhere(message):
            Membership.objects.create(tenant_id=UUID(int=1), user_id=UUID(int=1), role="viewer")

        assert self.try_out(letter, handle, point_nowhere).error_type == "IntegrityError"

    def test_tells_a_handler_that_gives_up(self, letter, handle):
        def give_up(message):
            raise GiveUp("no such case")

        assert self.try_out(letter, handle, give_up).outcome == "gave_up"

    def test_ends_a_handler_that_hangs(self, letter, handle, settings):
        settings.EVENTS_DRY_RUN_SECONDS = 0.1

        def hang(message):
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(60)")

        began = time.monotonic()
        assert self.try_out(letter, handle, hang).outcome == "timed_out"
        assert time.monotonic() - began < 30

    def test_acts_for_the_tenant_and_says_that_it_rehearses(self, letter, handle):
        seen = []
        self.try_out(letter, handle, lambda message: seen.append(context.current()))

        (during,) = seen
        assert (during.tenant_id, during.causation_id) == (TENANT, letter.event_id)
        assert during.rehearsing
        assert not context.current().rehearsing

    def test_hands_a_list_to_a_handler_of_batches(self, letter, handle):
        sizes = []
        self.try_out(letter, handle, lambda messages: sizes.append(len(messages)),
                     options={"batch": True})  # fmt: skip

        assert sizes == [1]

    def test_takes_an_edited_payload(self, letter, handle):
        seen = []
        rehearsal = self.try_out(
            letter, handle, lambda message: seen.append((message.aggregate_id, message.event)),
            payload={"thing_id": "t9", "number": 7},
        )  # fmt: skip

        ((aggregate_id, event),) = seen
        assert (aggregate_id, event.thing_id, event.number) == ("t9", "t9", 7)
        assert '+  "number": 7,' in rehearsal.diff or '+  "number": 7' in rehearsal.diff

    def test_is_remembered(self, letter, handle):
        self.try_out(letter, handle, _explode)
        (act,) = letter.acts.all()

        assert (act.kind, act.actor, act.facts["outcome"]) == ("tried", ALICE, "failed")

    def test_of_what_nobody_can_read_is_refused(self, unreadable):
        with pytest.raises(LetterUnreadable):
            services.dry_run(unreadable, by=ALICE)


class TestDiscarding:
    def test_closes_the_letter_with_its_reason(self, letter, log, redis_bus):
        services.discard(letter, by=ALICE, reason="a duplicate")
        worker(redis_bus).step()

        letter.refresh_from_db()
        assert letter.status == "discarded"
        assert InboxEntry.objects.get().outcome == "discarded"
        assert acts(letter) == [("discarded", ALICE, "a duplicate")]
        assert log == []

    def test_needs_a_reason(self, letter):
        with pytest.raises(ReasonMissing):
            services.discard(letter, by=ALICE, reason=" ")

    def test_is_not_undone_by_a_redrive(self, letter):
        services.discard(letter, by=ALICE, reason="a duplicate")
        with pytest.raises(LetterNotOpen):
            services.redrive(letter, by=ALICE)

    def test_is_what_remains_for_an_unreadable_entry(self, unreadable):
        services.discard(unreadable, by=ALICE, reason="noise")

        assert DeadLetter.objects.get().status == "discarded"

    def test_is_respected_when_redis_lost_everything(
        self, letter, log, relay, redis_client, redis_bus
    ):
        services.discard(letter, by=ALICE, reason="a duplicate")
        lose_everything(redis_client, relay)
        worker(redis_bus).step()

        assert log == []


class TestWhatWasDone:
    def test_cannot_be_rewritten(self, letter):
        services.discard(letter, by=ALICE, reason="a duplicate")
        with pytest.raises(IntegrityError, match="stays as it was"):
            DeadLetterAct.objects.update(actor="nobody")

    def test_cannot_be_deleted(self, letter):
        services.discard(letter, by=ALICE, reason="a duplicate")
        with pytest.raises(IntegrityError, match="stays as it was"):
            DeadLetterAct.objects.all()._raw_delete("default")
        with pytest.raises(Exception, match="protected"):
            letter.delete()


def test_two_people_who_act_at_once_act_once(letter):
    with ThreadPoolExecutor() as threads, postgres_connection() as bob:
        with bob.transaction():
            bob.execute("UPDATE event_dead_letter SET status = 'discarded'")
            alice = threads.submit(_redrive_elsewhere, letter)
            _until_somebody_waits_for(bob)
        with pytest.raises(LetterNotOpen):
            alice.result(timeout=60)

    assert not Retry.objects.exists()


def _redrive_elsewhere(letter):
    try:
        services.redrive(letter, by=ALICE)
    finally:
        connection.close()


def _until_somebody_waits_for(other):
    deadline = time.monotonic() + 60
    waits = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
    while not other.execute(waits, [other.info.backend_pid]).fetchone()[0]:
        assert time.monotonic() < deadline
        # Within a transaction PostgreSQL shows the sessions that it saw first.
        other.execute("SELECT pg_stat_clear_snapshot()")


def test_a_redriven_letter_survives_a_wiped_redis(letter, log, relay, redis_client):
    services.redrive(letter, by=ALICE)
    lose_everything(redis_client, relay)
    bus = RedisStreams(redis_client)
    worker(bus).step()
    worker(bus).step()

    assert log == [("t1", 1)]
