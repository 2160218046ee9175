"""Comment counts are exact: under many writers, after a loss of Redis, and wherever a process dies."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from apps.cases import services
from apps.cases.errors import CommentAlreadyDeleted, NotYourComment
from apps.cases.models import Case, Comment, CountBatch
from apps.cases.services import count_comments
from apps.cases.services.count_comments import (
    add_comment_deltas,
    add_once,
    purge_count_batches,
    recount,
    recover_comment_counts,
    take_deltas,
)
from apps.events import failpoints, keys
from apps.events.context import acting

pytestmark = pytest.mark.django_db(transaction=True)


class Died(BaseException):
    """The process ended here."""


def die():
    raise Died


@pytest.fixture(autouse=True)
def unarmed(redis_client):
    redis_client.set(keys.COMMENT_EPOCH, "1")
    yield
    failpoints.disarm()


@pytest.fixture
def comment(case, alice):
    def write(body="Please check the list."):
        return services.add_comment(case=case, author=alice, body=body)

    return write


def counted(case):
    return Case.across_tenants.get(pk=case.pk).comment_count


def there_are(case):
    return Comment.across_tenants.filter(case=case, deleted_at=None).count()


def test_a_comment_is_said_and_counted_with_the_next_batch(case, comment, said):
    first = comment("x" * 300)
    assert said("COMMENT_ADDED")[0]["excerpt"] == "x" * 200
    assert counted(case) == 0
    assert add_comment_deltas() == 1
    assert counted(case) == 1
    services.delete_comment(comment=first, by=first.author)
    assert said("COMMENT_DELETED")[0]["comment_id"] == str(first.pk)
    add_comment_deltas()
    assert counted(case) == 0
    assert Comment.objects.get().deleted_at


def test_the_delta_waits_under_its_documented_name(case, comment, redis_client):
    comment(), comment()
    key = f"count:comment:delta:{{{case.pk}}}"
    assert redis_client.hgetall(key) == {b"0": b"2"}


def test_a_comment_is_deleted_once_and_not_by_anybody(case, comment, alice, dana, member_of, acme):
    erin = member_of(acme, "erin", "analyst")
    written = comment()
    with pytest.raises(NotYourComment):
        services.delete_comment(comment=written, by=erin)
    services.delete_comment(comment=written, by=dana)
    with pytest.raises(CommentAlreadyDeleted):
        services.delete_comment(comment=written, by=alice)
    add_comment_deltas()
    assert counted(case) == 0


def test_what_is_rolled_back_is_not_counted(case, comment):
    with transaction.atomic():
        comment()
        transaction.set_rollback(True)
    add_comment_deltas()
    assert (counted(case), there_are(case)) == (0, 0)


def test_a_batch_records_how_far_it_came(case, comment):
    before = datetime.now(UTC)
    comment()
    add_comment_deltas()
    (batch,) = CountBatch.objects.all()
    assert (batch.kind, batch.case_ids) == ("added", [case.pk])
    assert before - timedelta(seconds=15) < batch.processed_to < datetime.now(UTC)
    assert add_comment_deltas() == 0
    assert CountBatch.objects.count() == 1


@pytest.mark.parametrize("place", ["count.taken", "count.batch_recorded", "count.added"])
def test_a_batch_that_dies_anywhere_is_finished_once_by_the_next(case, comment, place):
    comment(), comment()
    failpoints.arm(place, die)
    with pytest.raises(Died):
        add_comment_deltas()
    failpoints.disarm()
    comment()
    add_comment_deltas()
    add_comment_deltas()
    assert counted(case) == there_are(case) == 3


def test_a_writer_that_dies_before_it_tells_redis_is_found_by_recovery(case, comment):
    comment()
    failpoints.arm("count.committed", die)
    with pytest.raises(Died):
        comment()
    failpoints.disarm()
    add_comment_deltas()
    assert (counted(case), there_are(case)) == (1, 2)
    assert recover_comment_counts() == 1
    assert counted(case) == 2


def test_a_recovery_that_dies_is_repeated(case, comment):
    failpoints.arm("count.committed", die)
    with pytest.raises(Died):
        comment()
    failpoints.disarm()
    failpoints.arm("count.recounted", die)
    with pytest.raises(Died):
        recover_comment_counts()
    failpoints.disarm()
    recover_comment_counts()
    assert (counted(case), CountBatch.objects.count()) == (1, 1)


def test_after_a_loss_of_redis_the_next_batch_recounts(case, comment, redis_client):
    comment(), comment()
    redis_client.flushdb()
    comment()
    add_comment_deltas()
    add_comment_deltas()
    assert counted(case) == 3
    assert redis_client.exists(keys.COMMENT_EPOCH)


def test_a_delta_that_comes_after_the_recount_is_not_counted_twice(case, comment):
    comment()
    recover_comment_counts()
    assert counted(case) == 1
    add_comment_deltas()
    assert counted(case) == 1


def test_a_taken_batch_from_before_a_recount_is_not_counted_twice(case, comment, redis_client):
    comment()
    taken = take_deltas(redis_client)
    recount(case.pk)
    add_once(taken)
    assert counted(case) == 1


def test_deltas_that_a_restored_redis_brings_back_are_found(case, comment, redis_client):
    comment()
    key = keys.comment_delta(case.pk)
    saved = redis_client.dump(key)
    add_comment_deltas()
    recover_comment_counts()
    redis_client.restore(key, 0, saved)
    redis_client.sadd(keys.COMMENT_DELTAS, str(case.pk))
    add_comment_deltas()
    assert counted(case) == 2
    recover_comment_counts()
    assert counted(case) == 1


def test_recovery_looks_only_at_what_changed_since(case, comment, alice):
    comment()
    add_comment_deltas()
    recover_comment_counts()
    CountBatch.objects.update(processed_to=datetime.now(UTC) + timedelta(seconds=1))
    Case.objects.update(comment_count=99)
    assert recover_comment_counts() == 0
    assert counted(case) == 99, "it was counted although nothing had changed"


def test_a_comment_of_a_transaction_that_outlasts_a_recovery_is_not_overlooked(case, alice):
    written, recovered = threading.Event(), threading.Event()

    def write_slowly():
        try:
            with acting(tenant_id=case.tenant_id), transaction.atomic():
                services.add_comment(case=case, author=alice, body="slow")
                written.set()
                assert recovered.wait(20)
        except Died:
            return
        finally:
            connection.close()

    failpoints.arm("count.committed", die)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(write_slowly)
        assert written.wait(20)
        assert recover_comment_counts(margin=timedelta(0)) == 0
        recovered.set()
        done.result()
    assert CountBatch.objects.get().processed_to <= Comment.objects.get().changed_at
    assert recover_comment_counts(margin=timedelta(0)) == 1
    assert counted(case) == 1


def test_old_batches_are_forgotten_but_not_the_last_recovery(case, comment):
    comment()
    add_comment_deltas()
    recover_comment_counts()
    CountBatch.objects.filter(kind="added").update(processed_to=datetime(2020, 1, 1, tzinfo=UTC))
    assert purge_count_batches(datetime.now(UTC) + timedelta(days=30)) == 1
    assert CountBatch.objects.get().kind == "recounted"


def test_redis_away_does_not_stop_a_comment(case, comment, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    count_comments.redis_client.__globals__["_redis_client"].cache_clear()
    try:
        comment()
    finally:
        count_comments.redis_client.__globals__["_redis_client"].cache_clear()
    assert there_are(case) == 1


def test_a_hundred_writers_at_once_lose_nothing_and_never_lock_each_other_out(
    case, alice, acme, redis_client
):
    """A hundred threads with a connection each, while batches, recounts and changes go on."""
    other = services.open_case(title="Other", opened_by=alice)
    cases, writers, each = [case, other], 100, 4
    together, over = threading.Barrier(writers + 3), threading.Event()

    def in_own_connection(work):
        def run(number):
            try:
                with acting(tenant_id=acme.pk):
                    together.wait(60)
                    return work(number)
            finally:
                connection.close()

        return run

    def write(number):
        mine = [
            services.add_comment(case=cases[(number + i) % 2], author=alice, body=f"{number}.{i}")
            for i in range(each)
        ]
        services.delete_comment(comment=mine[0], by=alice)

    def until_over(step):
        def repeat(_):
            times = 0
            while not over.is_set():
                step()
                times += 1
            return times

        return repeat

    def change():
        case_now = cases[0]
        services.change_status(case=case_now, status="on_hold")
        services.change_status(case=case_now, status="in_progress")

    chores = [add_comment_deltas, recover_comment_counts, change]
    with ThreadPoolExecutor(writers + 3) as pool:
        busy = [pool.submit(in_own_connection(until_over(step)), 0) for step in chores]
        done = [pool.submit(in_own_connection(write), number) for number in range(writers)]
        try:
            for each_done in done:
                each_done.result(120)
        finally:
            over.set()
        assert all(each_busy.result(60) for each_busy in busy)
    add_comment_deltas()
    expected = {one.pk: there_are(one) for one in cases}
    assert sum(expected.values()) == writers * (each - 1)
    assert {one.pk: counted(one) for one in cases} == expected
    assert recover_comment_counts() == 0, "exact without a repair"


class Counting(RuleBasedStateMachine):
    """Whatever happens in whatever order: after a batch and a recovery, every count is true."""

    case = alice = client = None

    def __init__(self):
        super().__init__()
        self.taken, self.saved = [], None

    def attempt(self, work, place=None):
        if place:
            failpoints.arm(place, die)
        try:
            return work()
        except Died:
            return None
        finally:
            failpoints.disarm()

    @rule(dies=st.booleans())
    def write(self, dies):
        add = lambda: services.add_comment(case=self.case, author=self.alice, body="x")
        self.attempt(add, "count.committed" if dies else None)

    @rule(dies=st.booleans())
    def take_back(self, dies):
        written = Comment.objects.filter(deleted_at=None).first()
        if written:
            delete = lambda: services.delete_comment(comment=written, by=self.alice)
            self.attempt(delete, "count.committed" if dies else None)

    @rule(place=st.sampled_from([None, "count.taken", "count.batch_recorded", "count.added"]))
    def add_deltas(self, place):
        self.attempt(add_comment_deltas, place)

    @rule()
    def a_slow_worker_takes(self):
        taken = take_deltas(self.client)
        if taken:
            self.taken.append(taken)

    @rule()
    def the_slow_worker_adds(self):
        if self.taken:
            add_once(self.taken.pop())

    @rule(place=st.sampled_from([None, "count.recounted"]))
    def recover(self, place):
        self.attempt(recover_comment_counts, place)

    @rule()
    def lose_redis(self):
        self.client.flushdb()

    @rule()
    def redis_forgets_its_last_second(self):
        """It comes back with what it had: deltas that were taken meanwhile are there again."""
        keys_now = [
            k for k in self.client.keys("count:comment:*") if self.client.type(k) != b"none"
        ]
        before, self.saved = self.saved, {k: self.client.dump(k) for k in keys_now}
        if before is not None:
            self.client.flushdb()
            for key, value in before.items():
                self.client.restore(key, 0, value)

    def teardown(self):
        for taken in self.taken:
            add_once(taken)
        add_comment_deltas()
        add_comment_deltas()
        recover_comment_counts()
        assert counted(self.case) == there_are(self.case)
        assert recover_comment_counts() == 0
        Comment.objects.all().delete()
        CountBatch.objects.all().delete()
        Case.objects.update(comment_count=0)
        self.client.flushdb()

    @invariant()
    def a_generation_only_grows(self):
        now = Case.objects.get().count_generation
        assert now >= getattr(self, "generation", 0)
        self.generation = now


def test_after_any_history_every_count_is_true(case, alice, redis_client):
    machine = type("Machine", (Counting,), {"case": case, "alice": alice, "client": redis_client})
    calm = settings(
        max_examples=40,
        stateful_step_count=15,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=calm)
