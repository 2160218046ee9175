"""Events of the tests' own, and a tenant to publish them for."""

from typing import Any
from uuid import UUID

import pytest
import redis
from django.db import connection, transaction

from apps.events import catalog
from apps.events.bus.memory import MemoryBus
from apps.events.bus.redis_streams import RedisStreams
from apps.events.catalog import Event
from apps.events.context import acting
from apps.events.handlers import forget, on
from apps.events.message import Message
from apps.events.outbox import publish_many
from apps.events.relay import Relay
from axiom.embedded import Valkey

TENANT = UUID("018f2d1c-0000-7000-8000-000000000001")


@pytest.fixture
def tenant():
    """A tenant to act for."""
    with acting(tenant_id=TENANT, actor="alice@example.com", trace_id="a" * 32):
        yield TENANT


@pytest.fixture(scope="session", autouse=True)
def thing_happened():
    class ThingHappened(Event, type="TEST_THING_HAPPENED", aggregate="thing", key="thing_id"):
        thing_id: str
        number: int = 0
        note: str = ""

        example = {"thing_id": "t1", "number": 1, "note": ""}

    yield ThingHappened
    catalog.forget(ThingHappened)


@pytest.fixture(scope="session")
def free_form():
    class FreeForm(Event, type="TEST_FREE_FORM", aggregate="thing", key="thing_id"):
        thing_id: str
        facts: dict[str, Any]

    yield FreeForm
    catalog.forget(FreeForm)


@pytest.fixture
def declared():
    """Forgets the event types that a test declares."""
    classes = []
    yield lambda *more: classes.extend(more)
    for event_class in classes:
        catalog.forget(event_class)


@pytest.fixture
def leases_end(transactional_db):
    """Who leads an ordered group leads it as long as its connection lives, and tests share one."""
    yield
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock_all()")


@pytest.fixture(params=["redis", "memory"])
def bus(request, redis_client):
    """Both buses, because what holds on one must hold on the other."""
    return RedisStreams(redis_client) if request.param == "redis" else MemoryBus()


@pytest.fixture
def connect(bus):
    """Another connection to the same bus, as another process has one."""
    return lambda: RedisStreams(bus.client) if isinstance(bus, RedisStreams) else bus


@pytest.fixture
def redis_bus(redis_client):
    return RedisStreams(redis_client)


@pytest.fixture
def relay(bus):
    return Relay(bus, "relay-1")


@pytest.fixture
def handle():
    """Registers handlers for a test: `handle(function, ThingHappened)`."""
    registered = []

    def register(function, *events, group="notification_group", **options):
        registered.append(function)
        return on(*events, group=group, **options)(function)

    yield register
    for function in registered:
        forget(function)


@pytest.fixture
def happen(thing_happened, tenant):
    """Publishes things in a committed transaction; returns their event ids."""

    def publish_things(*numbers, thing_id="t1"):
        with transaction.atomic():
            return publish_many([thing_happened(thing_id=thing_id, number=n) for n in numbers])

    return publish_things


def entries(bus, stream="axiom:events"):
    """What a stream holds, as (thing, number), read by a group of the test's own."""
    bus.ensure_group(stream, "reader")
    found = bus.read("reader", "reader", [stream], 100_000, 0)
    messages = [Message.parse(e.stream, e.entry_id, e.raw) for e in found]
    return [(m.aggregate_id, m.payload["number"]) for m in messages]


@pytest.fixture
def own_valkey(tmp_path):
    """A Valkey that no other test sees, to be starved, stopped or wiped."""
    server = Valkey(tmp_path)
    with redis.Redis.from_url(server.start()) as client:
        yield client
    server.stop()


@pytest.fixture
def nobody_else():
    """No group takes events but those of the test."""
    from apps.events.handlers import _handlers

    known = {group: dict(handlers) for group, handlers in _handlers.items()}
    _handlers.clear()
    yield
    _handlers.clear()
    _handlers.update(known)
