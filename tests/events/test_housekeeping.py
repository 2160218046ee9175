"""Housekeeping: sizes are kept, and nothing that somebody needs is taken."""

from datetime import date, timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.events import partitions
from apps.events.connections import postgres_connection
from apps.events.housekeeping import Housekeeper
from apps.events.keys import Stream
from apps.events.models import InboxEntry, OutboxEvent
from apps.events.outbox import publish

GROUP = "notification_group"


def slices():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits "
            "WHERE inhparent = 'event_outbox'::regclass"
        )
        return {name for (name,) in cursor.fetchall()}


def partition_of(day):
    return f"event_outbox_{day:%Y%m%d}"


@pytest.mark.django_db
class TestSlices:
    def test_the_coming_days_have_theirs(self):
        today = timezone.now().date()
        assert {partition_of(today), partition_of(today + timedelta(days=3))} <= slices()

    def test_making_them_again_changes_nothing(self):
        with connection.cursor() as cursor:
            assert partitions.ensure_partitions(cursor, timezone.now().date()) == []

    def test_an_old_one_goes_when_everything_in_it_is_settled(self):
        with connection.cursor() as cursor:
            partitions.ensure_partitions(cursor, date(2020, 1, 1))
            dropped = partitions.drop_partitions(cursor, before=date(2020, 1, 3))

        assert dropped == ["event_outbox_20200101", "event_outbox_20200102"]
        assert "event_outbox_20200103" in slices()

    def test_an_old_one_stays_while_something_waits_in_it(self, tenant, thing_happened):
        with connection.cursor() as cursor:
            partitions.ensure_partitions(cursor, date(2020, 1, 1))
            publish(thing_happened(thing_id="late"))
            cursor.execute("UPDATE event_outbox SET created_at = '2020-01-01 12:00+00'")
            assert partitions.drop_partitions(cursor, before=date(2020, 1, 2)) == []

        assert OutboxEvent.objects.count() == 1

    def test_an_event_finds_a_place_on_a_day_that_nobody_prepared(self, tenant, thing_happened):
        publish(thing_happened(thing_id="far"))
        with connection.cursor() as cursor:
            cursor.execute("UPDATE event_outbox SET created_at = '2099-01-01 12:00+00'")
            assert partitions.ensure_partitions(cursor, date(2099, 1, 1))[0] == (
                "event_outbox_20990102"
            )

        assert OutboxEvent.objects.count() == 1


@pytest.mark.django_db(transaction=True)
class TestWhoPublishesDoesNotWait:
    """A slice is made and dropped while the whole house writes into the table."""

    @pytest.fixture(autouse=True)
    def _old_slice(self):
        with connection.cursor() as cursor:
            partitions.ensure_partitions(cursor, date(2020, 1, 1))
        yield
        with connection.cursor() as cursor:
            partitions.drop_partitions(cursor, before=date(2020, 2, 1))

    @pytest.fixture
    def somebody(self):
        with postgres_connection() as other:
            yield other

    def test_behind_a_slice_that_cannot_be_dropped_now(self, redis_bus, somebody):
        somebody.execute("BEGIN")
        somebody.execute("SELECT count(*) FROM event_outbox")  # a backup, say
        Housekeeper(redis_bus).keep_tables()
        assert "event_outbox_20200101" in slices()

        somebody.execute("COMMIT")
        Housekeeper(redis_bus).keep_tables()
        assert "event_outbox_20200101" not in slices()

    def test_behind_the_chores_that_follow(self, redis_bus, somebody):
        housekeeper, waited = Housekeeper(redis_bus), []

        def publish_meanwhile():
            somebody.execute("SET lock_timeout = '5s'")
            somebody.execute("LOCK TABLE event_outbox IN ROW EXCLUSIVE MODE")
            waited.append(False)

        housekeeper.purge_inbox = publish_meanwhile
        somebody.execute("BEGIN")
        somebody.execute("SELECT 1")
        housekeeper._do(housekeeper.keep_tables)

        assert waited == [False]
        assert "event_outbox_20200101" not in slices()

    def test_a_letter_that_is_sent_again_meanwhile_keeps_its_slice(self, tenant, thing_happened):
        with transaction.atomic():
            publish(thing_happened(thing_id="late"))
        OutboxEvent.objects.update(
            created_at="2020-01-01 12:00+00", status="DEAD", next_retry_at=timezone.now()
        )
        with connection.cursor() as cursor:
            dropped = partitions.drop_partitions(cursor, before=date(2020, 1, 2))

        assert dropped == []
        assert OutboxEvent.objects.count() == 1
        OutboxEvent.objects.update(next_retry_at=None)


@pytest.mark.django_db
def test_proofs_are_forgotten_after_a_fortnight(redis_bus):
    for days in (13, 15):
        InboxEntry.objects.create(
            event_id=f"00000000-0000-7000-8000-0000000000{days}", group=GROUP,
            processed_at=timezone.now() - timedelta(days=days),
        )  # fmt: skip

    assert Housekeeper(redis_bus).purge_inbox() == 1
    assert str(InboxEntry.objects.get().event_id).endswith("13")


@pytest.mark.django_db(transaction=True)
def test_only_one_housekeeper_works_at_a_time(redis_bus):
    done = []
    with postgres_connection() as other, other.transaction():
        other.execute("SELECT pg_advisory_xact_lock(hashtext('axiom.housekeeping'))")
        Housekeeper(redis_bus)._do(lambda: done.append("too early"))
    Housekeeper(redis_bus)._do(lambda: done.append("now"))

    assert done == ["now"]


class TestTrimming:
    """A stream of workers keeps 50,000 entries; these tests make that 100."""

    @pytest.fixture(autouse=True)
    def _short(self, monkeypatch, nobody_else, handle):
        monkeypatch.setattr(Stream, "max_length", property(lambda self: 100))
        handle(lambda message: None, "TEST_THING_HAPPENED", group="worker_group")

    @pytest.fixture
    def keeper(self, redis_bus):
        redis_bus.begin_epoch("e1", {str(Stream.WORKERS): ["worker_group"]})
        return Housekeeper(redis_bus)

    def _grow(self, bus, count):
        bus.append([(str(Stream.WORKERS), ("n", str(n))) for n in range(count)], bus.identity())

    def _consume(self, bus, count, ack=True):
        entries = bus.read("worker_group", "w1", [str(Stream.WORKERS)], count, 0)
        if ack:
            bus.ack("worker_group", entries)
        return entries

    def _rounds(self, keeper, bus, consume=True):
        for _ in range(30):
            self._grow(bus, 50)
            if consume:
                self._consume(bus, 50)
            keeper.trim_stream(Stream.WORKERS)

    def test_keeps_about_the_wanted_length(self, keeper, redis_bus):
        self._rounds(keeper, redis_bus)

        assert 100 <= redis_bus.state(Stream.WORKERS).length <= 300

    def test_never_takes_what_a_group_has_not_read(self, keeper, redis_bus):
        self._rounds(keeper, redis_bus, consume=False)

        assert redis_bus.state(Stream.WORKERS).length == 1500

    def test_never_takes_what_a_group_has_not_acknowledged(self, keeper, redis_bus):
        self._grow(redis_bus, 10)
        (kept, *_) = self._consume(redis_bus, 10, ack=False)
        self._rounds(keeper, redis_bus)

        first = redis_bus.client.xrange(str(Stream.WORKERS), count=1)[0][0].decode()
        assert first == kept.entry_id

    def test_never_takes_anything_from_a_group_that_vanished(self, keeper, redis_bus):
        self._rounds(keeper, redis_bus)
        length = redis_bus.state(Stream.WORKERS).length
        redis_bus.client.xgroup_destroy(str(Stream.WORKERS), "worker_group")
        self._rounds(keeper, redis_bus, consume=False)

        state = redis_bus.state(Stream.WORKERS)
        assert state.length == length + 1500
        assert [(group.group, group.lag) for group in state.groups] == [
            ("worker_group", state.length)
        ]

    def test_does_not_wait_for_a_group_that_the_code_forgot(self, keeper, redis_bus):
        redis_bus.ensure_group(str(Stream.WORKERS), "of an older release")
        self._rounds(keeper, redis_bus)

        assert redis_bus.state(Stream.WORKERS).length <= 300

    def test_takes_what_the_inbox_will_soon_forget(self, keeper, redis_bus, settings):
        """Were the group lost and made anew at 0, it would handle those a second time."""
        self._grow(redis_bus, 5)
        self._consume(redis_bus, 3)
        settings.EVENTS_INBOX_DAYS = 1 - 1 / 86_400  # entries of this second are too old
        keeper.trim_stream(Stream.WORKERS)

        assert redis_bus.state(Stream.WORKERS).length == 2


@pytest.mark.parametrize(("delivered", "lag"), [(0, 3), (1, 2), (2, 2), (3, 1), (4, 0)])
def test_a_lag_that_the_server_does_not_know_is_counted(redis_bus, redis_client, delivered, lag):
    """After an entry was deleted, Redis tells no lag; that is not the same as none."""
    stream = str(Stream.WORKERS)
    redis_bus.begin_epoch("e1", {stream: ["worker_group"]})
    ids = [redis_client.xadd(stream, {"n": n}) for n in range(4)]
    redis_client.xgroup_setid(stream, "worker_group", ids[delivered - 1] if delivered else "0")
    redis_client.xdel(stream, ids[1])
    (group,) = redis_bus.state(stream).groups

    assert group.lag == lag
