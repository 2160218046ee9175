"""Through the real backbone: outbox, relay, Redis Streams, the engine's worker, and two at once."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import connection, transaction

from apps.events.bus.redis_streams import RedisStreams
from apps.events.context import acting
from apps.events.relay import Relay
from apps.processes import services
from apps.processes.errors import WrongState
from apps.processes.models import ProcessInstance, ProcessTimer, WorkItem
from axiom.errors import AxiomError
from tests.events.backbone import ORDERED, drain, worker
from tests.processes import diagrams
from tests.processes.conftest import NOON, item_of, told
from tests.processes.diagrams import END, START, diagram, flow, timer, user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def leases_end():
    yield
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock_all()")


@pytest.fixture
def carry(redis_client, leases_end):
    """Carries what was published to the engine and back, until nothing is left."""
    bus = RedisStreams(redis_client)
    relay, engine = Relay(bus, "relay-1"), worker(bus, group=ORDERED)

    def go():
        for _round in range(4):
            drain(relay)
            engine.step()

    return go


def entries(redis_client):
    found = redis_client.xrange("axiom:events")
    return [fields[b"event_type"].decode() for _id, fields in found]


def test_every_event_of_a_process_is_on_its_stream_once_and_in_order(
    start, people, carry, redis_client
):
    instance = start(diagrams.both())
    for activity in ("right", "left"):
        item = item_of(instance, activity)
        services.complete_work(item=item, by=people["analyst"], result={activity: 1})
    carry()
    after = item_of(instance, "after")
    services.complete_work(item=after, by=people["analyst"], result={})
    carry()
    instance.refresh_from_db()
    assert (instance.status, instance.variables) == ("COMPLETED", {"left": 1, "right": 1})
    assert entries(redis_client) == [
        "PROCESS_STARTED", "WORKITEM_CREATED", "WORKITEM_CREATED", "WORKITEM_COMPLETED",
        "WORKITEM_COMPLETED", "WORKITEM_CREATED", "WORKITEM_COMPLETED", "PROCESS_COMPLETED",
    ]  # fmt: skip


def together(count, act, tenant_id):
    """The same act by several threads at the same moment; what each of them got."""
    gate, outcomes = threading.Barrier(count), []

    def one():
        try:
            with acting(tenant_id=tenant_id, actor="thread"):
                connection.ensure_connection()
                gate.wait(10)
                outcomes.append(act())
        except AxiomError as error:
            outcomes.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(outcomes) == count, "One of them broke: see the traceback above."
    return outcomes


def test_of_eight_who_finish_the_same_work_at_once_one_does(start, people, acme):
    item = item_of(start(diagrams.one_task()), "check")
    outcomes = together(
        8, lambda: services.complete_work(item=item, by=people["analyst"], result={}), acme.pk
    )
    assert sum(isinstance(each, WorkItem) for each in outcomes) == 1
    assert sum(isinstance(each, WrongState) for each in outcomes) == 7
    assert len(told("WORKITEM_COMPLETED")) == 1


def test_eight_scans_at_once_fire_a_timer_once(start, acme):
    pause = timer("intermediateCatchEvent", "pause", "PT1H")
    instance = start(
        diagram(START + pause + user("after") + END + flow("start", "pause", "after", "end"))
    )
    outcomes = together(8, lambda: services.fire_due_timers(now=NOON + timedelta(hours=1)), acme.pk)
    assert sorted(outcomes) == [0] * 7 + [1]
    assert instance.work_items.count() == 1
    assert ProcessTimer.objects.get().fired_at is not None
    assert len(told("WORKITEM_CREATED")) == 1


def test_a_second_engine_waits_for_the_first_and_finds_nothing_left(start, people, acme):
    instance = start(diagrams.decision())
    item = item_of(instance, "check")
    services.complete_work(item=item, by=people["attorney"], result={"amount": 5000})
    second = threading.Thread(
        target=lambda: outcomes.extend(together(1, lambda: services.advance(instance.pk), acme.pk))
    )
    outcomes = []
    with transaction.atomic():
        services.advance(instance.pk)
        second.start()
        until(somebody_waits_for_us)
    second.join(30)
    assert [each.pk for each in outcomes] == [instance.pk]
    assert instance.work_items.count() == 2
    assert len(told("WORKITEM_CREATED")) == 2
    assert ProcessInstance.objects.get().stands_at == ["decide"]


def until(happens):
    deadline = time.monotonic() + 20
    while not happens():
        assert time.monotonic() < deadline, f"{happens.__name__}: not yet"


def somebody_waits_for_us():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks"
            " WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        )
        return cursor.fetchone()[0] > 0


def test_terminated_while_somebody_finishes_it_is_one_or_the_other(start, people, acme):
    instance = start(diagrams.one_task())
    item, turns = item_of(instance, "check"), iter(range(8))

    def act():
        if next(turns) % 2:
            return services.terminate_process(instance=instance, reason="x")
        return services.complete_work(item=item, by=people["analyst"], result={})

    together(8, act, acme.pk)
    item.refresh_from_db()
    services.advance(instance.pk)
    instance.refresh_from_db()
    assert instance.status == "TERMINATED"
    assert item.status in {"DONE", "CANCELLED"}
    assert len(told("PROCESS_TERMINATED")) == 1
    assert told("PROCESS_COMPLETED") == []
