"""Publishing: with the change or not at all."""

import json
import math

import pytest
import redis
from django.db import connection, transaction

from apps.accounts.models import Tenant
from apps.events import keys, nudging
from apps.events.catalog import Event
from apps.events.errors import (
    EventRefused,
    EventWithoutTenant,
    NotInTransaction,
    PayloadTooLarge,
    UnknownEventType,
)
from apps.events.models import OutboxEvent
from apps.events.nudging import _Line, nudge
from apps.events.outbox import publish, publish_many
from tests.programs import eventually

pytestmark = pytest.mark.django_db


def test_an_event_is_written_with_everything_a_reader_needs(tenant, thing_happened):
    event_id = publish(thing_happened(thing_id="t1", number=3))

    row = OutboxEvent.objects.get(event_id=event_id)
    assert (row.stream, row.event_type, row.schema_version) == (
        "axiom:events", "TEST_THING_HAPPENED", 1,
    )  # fmt: skip
    assert (row.aggregate_type, row.aggregate_id, row.tenant_id) == ("thing", "t1", tenant)
    assert (row.actor, row.trace_id, row.status) == ("alice@example.com", "a" * 32, "PENDING")
    assert json.loads(row.payload) == {"thing_id": "t1", "number": 3, "note": ""}


def test_the_insert_is_prepared_once_and_run_often(tenant, thing_happened):
    """Django switches prepared statements off for the whole connection; this one is worth it."""
    for number in range(3):
        publish(thing_happened(thing_id="t1", number=number))

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT generic_plans + custom_plans FROM pg_prepared_statements"
            " WHERE statement LIKE '%INSERT INTO event_outbox%'"
        )
        (times,) = cursor.fetchone()
    assert times >= 3


@pytest.mark.django_db(transaction=True)
def test_publishing_outside_a_transaction_is_refused(tenant, thing_happened):
    with pytest.raises(NotInTransaction):
        publish(thing_happened(thing_id="t1"))


@pytest.mark.django_db(transaction=True)
def test_a_refused_event_takes_the_business_change_back(tenant, thing_happened):
    @transaction.atomic
    def open_business():
        Tenant.objects.create(name="Hanbit", slug="hanbit")
        publish(thing_happened(thing_id="t1", note="x" * 262_144))

    with pytest.raises(PayloadTooLarge):
        open_business()

    assert not Tenant.objects.filter(slug="hanbit").exists()


@pytest.mark.django_db(transaction=True)
def test_an_event_that_nobody_declared_takes_the_business_change_back(tenant):
    class Undeclared(Event):
        thing_id: str

    @transaction.atomic
    def open_business():
        Tenant.objects.create(name="Hanbit", slug="hanbit")
        publish(Undeclared(thing_id="t1"))

    with pytest.raises(UnknownEventType, match="Undeclared"):
        open_business()

    assert not Tenant.objects.filter(slug="hanbit").exists()


def test_a_payload_just_below_the_limit_is_accepted(tenant, thing_happened):
    fitting = thing_happened(thing_id="t1", note="x" * (262_144 - 50))
    assert publish(fitting)


def test_the_limit_counts_bytes_not_characters(tenant, thing_happened):
    with pytest.raises(PayloadTooLarge):
        publish(thing_happened(thing_id="t1", note="한" * 100_000))


def test_an_event_without_a_tenant_is_refused(thing_happened):
    with pytest.raises(EventWithoutTenant):
        publish(thing_happened(thing_id="t1"))


def test_a_number_that_json_lacks_is_refused(tenant, free_form):
    with pytest.raises(EventRefused, match="NaN"):
        publish(free_form(thing_id="t1", facts={"ratio": math.nan}))


def test_the_word_infinity_is_only_a_word(tenant, thing_happened):
    assert publish(thing_happened(thing_id="t1", note="to Infinity and NaN"))


def test_a_value_that_is_not_json_is_refused(tenant, free_form):
    with pytest.raises(EventRefused, match="not JSON"):
        publish(free_form(thing_id="t1", facts={"when": object()}))


def test_many_events_are_one_statement_and_keep_their_order(
    tenant, thing_happened, django_assert_num_queries
):
    events = [thing_happened(thing_id="t1", number=n) for n in range(500)]
    with django_assert_num_queries(1):
        ids = publish_many(events)

    stored = OutboxEvent.objects.order_by("seq").values_list("event_id", flat=True)
    assert list(stored) == ids


@pytest.fixture
def nobody_nudged(redis_client):
    """What tests before this one said to Redis has arrived there, and is gone."""
    wire = nudging._line()._connection
    wire.send_command("ECHO", "done")
    eventually(lambda: wire.read_response() == b"done")
    redis_client.delete(keys.NUDGE)


@pytest.mark.django_db(transaction=True)
def test_the_relay_is_nudged_once_per_transaction(
    tenant, thing_happened, redis_client, nobody_nudged
):
    with transaction.atomic():
        for number in range(10):
            publish(thing_happened(thing_id="t1", number=number))
        assert len(connection.run_on_commit) == 1
        assert not redis_client.exists(keys.NUDGE)

    # Nobody waited for Redis to hear of it.
    eventually(lambda: redis_client.llen(keys.NUDGE))
    assert redis_client.llen(keys.NUDGE) == 1


@pytest.mark.django_db(transaction=True)
def test_nudges_do_not_pile_up_while_no_relay_is_there(redis_client):
    redis_client.lpush(keys.NUDGE, *range(keys.NUDGES_AT_MOST))
    # That it was too much is read when the next one is sent.
    eventually(lambda: nudge() or redis_client.llen(keys.NUDGE) <= 2)


@pytest.fixture
def line(own_valkey):
    """A line whose owner would notice soon that Redis does not answer."""
    options = own_valkey.connection_pool.connection_kwargs | {"socket_timeout": 0.2}
    pool = redis.ConnectionPool(own_valkey.connection_pool.connection_class, **options)
    return _Line(redis.Redis(connection_pool=pool))


def test_a_nudge_survives_that_the_connection_was_cut(line, own_valkey):
    line.send()
    eventually(lambda: own_valkey.llen(keys.NUDGE) == 1)
    own_valkey.client_kill_filter(_type="normal", skipme=True)
    line.send()
    eventually(lambda: own_valkey.llen(keys.NUDGE) == 2)


def test_nobody_waits_for_redis_to_answer_a_nudge(line, own_valkey):
    """A server that is paused answers nothing; whoever waited for it would get a timeout."""
    line.send()
    own_valkey.client_pause(1_000)
    for _ in range(20):
        line.send()
    eventually(lambda: own_valkey.llen(keys.NUDGE) == 21)


def test_nobody_is_nudged_by_a_transaction_that_rolls_back(
    tenant, thing_happened, redis_client, nobody_nudged
):
    @transaction.atomic
    def fail_after_publishing():
        publish(thing_happened(thing_id="t1"))
        1 / 0

    with pytest.raises(ZeroDivisionError):
        fail_after_publishing()

    assert not redis_client.exists(keys.NUDGE)
    assert not OutboxEvent.objects.exists()
