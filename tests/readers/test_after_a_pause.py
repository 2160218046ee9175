"""Readers that stood still while a thousand things changed, and a Redis that lost everything."""

import random

import orjson
import pytest

from apps.events import keys
from apps.events.bus.redis_streams import RedisStreams
from apps.events.models import InboxEntry, OutboxEvent
from apps.oracle import services as oracle
from apps.oracle.models import CachedQuery, IndexEntry
from apps.synapse import services as synapse
from apps.synapse.models import EventLogBinding
from apps.vision import services as vision
from apps.vision.models import Cube
from tests.readers.conftest import READERS

ALL_FOUR = (*READERS, "canvas-bridge")
TABLES, CHANGES = 60, 1_000
COLUMNS = {"a": "integer", "b": "numeric", "c": "timestamp", "d": "text"}
KINDS = {"integer": "number", "bigint": "number", "numeric": "number", "timestamp": "moment",
         "text": "text"}  # fmt: skip
# What each refers to: exactly these columns, of the table of its number.
USES = {CachedQuery: "ab", Cube: "bd", EventLogBinding: "acd"}


class World:
    """The catalog, changed at random, and a plain account of what is in it."""

    def __init__(self, catalog, seed):
        self.catalog, self.random = catalog, random.Random(seed)
        self.tables = {f"public.t{number}": dict(COLUMNS) for number in range(TABLES)}
        catalog.add_many(self.tables)

    def change(self):
        path = f"public.t{self.random.randrange(TABLES)}"
        columns = self.tables.get(path)
        if columns is None:
            self.tables[path] = dict(COLUMNS)
            self.catalog.add(path, **COLUMNS)
        else:
            self.random.choice([self.drop, self.drop_column, self.retype, self.describe])(path)

    def drop(self, path):
        del self.tables[path]
        self.catalog.drop(path)

    def drop_column(self, path):
        columns = self.tables[path]
        name = self.random.choice(list(COLUMNS))
        if name in columns:
            del columns[name]
            self.catalog.drop_column(path, name)
        else:
            columns[name] = COLUMNS[name]
            self.catalog.add_column(path, name, COLUMNS[name])

    def retype(self, path):
        columns = self.tables[path]
        if columns:
            name = self.random.choice(list(columns))
            columns[name] = self.random.choice(list(KINDS))
            self.catalog.retype(path, name, columns[name])

    def describe(self, path):
        self.catalog.describe(path, f"Description {self.random.random()}")

    def works(self, path, names):
        columns = self.tables.get(path, {})
        return path in self.tables and all(
            KINDS.get(columns.get(name)) == KINDS[COLUMNS[name]] for name in names
        )

    def indexed(self):
        return {path for path in self.tables} | {
            f"{path}.{name}" for path, columns in self.tables.items() for name in columns
        }


def refer_to(number):
    where = {"schema_name": "public", "table_name": f"t{number}"}
    common = {"datasource_name": "erp_db"}
    oracle.cache_query(
        **common, question=f"public.t{number}", sql=f"SELECT a FROM t{number} WHERE b > 1"
    )
    level = {"name": "D", "column": "d"}
    vision.define_cube(
        **common, name=f"public.t{number}",
        definition={"fact": where, "dimensions": [{"name": "D", "levels": [level]}],
                    "measures": [{"name": "B", "column": "b"}]},
    )  # fmt: skip
    synapse.bind_event_log(
        **common, **where, name=f"public.t{number}", case_column="a", activity_column="d",
        timestamp_column="c",
    )  # fmt: skip


def name_of(row):
    return row.question if isinstance(row, CachedQuery) else row.name


def is_true(world):
    """Whether what every reader keeps is what the plain account says."""
    for model, names in USES.items():
        shown = {name_of(row): row.status == "VALID" for row in model.objects.all()}
        assert shown == {path: world.works(path, names) for path in shown}, model
    entries = {str(entry) for entry in IndexEntry.objects.filter(schema_name="public")}
    known = {"public.orders", "public.customers"}
    assert {e for e in entries if ".".join(e.split(".")[:2]) not in known} == world.indexed()
    return True


@pytest.fixture
def world(readers, catalog, redis_client):
    readers.groups = ALL_FOUR
    readers.use(RedisStreams(redis_client))
    world = World(catalog, seed=20260105)
    for number in range(TABLES):
        refer_to(number)
    readers.run()
    assert is_true(world)
    return world


def browsers_know(redis_client, tenant):
    """Every change reached the bridge once, and its last word is the last change, or to look anew."""
    events = OutboxEvent.objects.filter(stream=keys.Stream.METADATA_CHANGES)
    handled = InboxEntry.objects.filter(group="canvas-bridge").values_list("event_id", flat=True)
    assert set(handled) == set(events.values_list("event_id", flat=True))
    ((_id, frame),) = redis_client.xrevrange(keys.notifications(tenant.pk), count=1)
    last = orjson.loads(frame[b"data"]).get("event_id")
    assert frame[b"event"] == b"resync" or last == str(events.latest("seq").event_id)
    return True


def test_readers_that_stood_still_know_everything_when_they_go_on(
    world, readers, redis_client, acme
):
    for _ in range(CHANGES):
        world.change()
    readers.run()
    assert is_true(world)
    assert browsers_know(redis_client, acme)
    assert oracle.reindex().differences == 0
    assert vision.validate_all().changed == synapse.reconcile().changed == []


def test_a_redis_that_lost_everything_in_between_makes_no_difference(
    world, readers, redis_client, acme
):
    for _ in range(CHANGES // 2):
        world.change()
    while readers.relay.relay_batch():
        continue
    redis_client.flushdb()
    for _ in range(CHANGES // 2):
        world.change()
    readers.run()
    assert is_true(world)
    assert browsers_know(redis_client, acme)
    assert oracle.reindex().differences == 0


def test_any_order_and_any_repetition_ends_in_the_truth(world, readers):
    """Handlers ask the catalog, so even events that overtook each other do no harm."""
    from apps.events.context import acting
    from apps.events.message import Message
    from apps.oracle.consumers import follow_the_catalog
    from apps.vision.consumers import hold_cubes_against_the_catalog

    first = OutboxEvent.objects.latest("seq").seq
    for _ in range(100):
        world.change()
    rows = list(OutboxEvent.objects.filter(seq__gt=first))
    world.random.shuffle(rows)
    messages = [
        Message.of_fields(
            row.stream, "1-1",
            {"event_id": str(row.event_id), "event_type": row.event_type,
             "tenant_id": str(row.tenant_id), "aggregate_type": row.aggregate_type,
             "aggregate_id": row.aggregate_id, "trace_id": "", "payload": row.payload},
        )
        for row in rows
    ]  # fmt: skip
    with acting(tenant_id=None):
        for at in range(0, len(messages), 7):
            follow_the_catalog(messages[at : at + 9])
            hold_cubes_against_the_catalog(messages[at : at + 9])
    synapse.reconcile()
    assert is_true(world)
