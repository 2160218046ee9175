"""From DDL in a real database to what every reader says of it, and to the browser."""

import orjson
import pytest

from apps.events import keys
from apps.events.bus.memory import MemoryBus
from apps.oracle import selectors, services
from apps.synapse.services import bind_event_log
from apps.vision.services import define_cube
from tests.metadata.conftest import add_source, erp, extract  # noqa: F401  (fixtures)
from tests.readers.conftest import READERS, Readers
from tests.readers.test_cubes import DEFINITION

pytestmark = pytest.mark.django_db(transaction=True)

SCHEMA = """
CREATE TABLE customers (id int PRIMARY KEY, name text, region text);
CREATE TABLE orders (
    id int PRIMARY KEY, customer_id int REFERENCES customers, total numeric(12, 2),
    status varchar(20), placed_at timestamptz);
COMMENT ON TABLE customers IS '거래처 기본 정보';
"""


@pytest.fixture
def world(erp, add_source, extract, redis_client):  # noqa: F811
    """A database that was read, and things that stand on it."""
    erp.run(SCHEMA)
    source = add_source(erp.address)
    extract(source)
    cube = define_cube(datasource_name="erp_db", name="Sales", definition=DEFINITION)
    query = services.cache_query(
        datasource_name="erp_db", question="Total?", sql="SELECT sum(total) FROM orders"
    )
    binding = bind_event_log(
        name="Log", datasource_name="erp_db", schema_name="public", table_name="orders",
        case_column="id", activity_column="status", timestamp_column="placed_at",
    )  # fmt: skip
    readers = Readers(MemoryBus(), *READERS, "canvas-bridge")
    readers.run()

    def change(statement):
        erp.run(statement)
        extract(source)
        readers.run()
        for row in (cube, query, binding):
            row.refresh_from_db()
        return [row.reason for row in (cube, query, binding)]

    yield change
    readers.end()


def test_every_change_of_the_database_is_what_the_readers_say(world):
    assert world("CREATE TABLE unrelated (id int)") == ["", "", ""]
    assert world("ALTER TABLE orders ALTER total TYPE numeric(20, 4)") == ["", "", ""]
    assert world("ALTER TABLE customers RENAME TO clients") == [
        "Table public.customers is now called public.clients.", "", "",
    ]  # fmt: skip
    assert world("ALTER TABLE clients RENAME TO customers") == ["", "", ""]
    assert world("ALTER TABLE orders RENAME COLUMN total TO amount")[1] == (
        "Column total of table public.orders is now called amount."
    )
    world("ALTER TABLE orders RENAME COLUMN amount TO total")
    assert world("ALTER TABLE orders ALTER placed_at TYPE text") == [
        "", "",
        "Column placed_at of table public.orders was timestamp with time zone and is text.",
    ]  # fmt: skip
    assert world("DROP TABLE orders") == ["Table public.orders is not there."] * 3
    assert world(
        "CREATE TABLE orders (id int, customer_id int, total real, status text, placed_at timestamp)"
    ) == ["", "", ""]


def test_what_the_database_says_of_itself_is_found(world):
    (first, *_rest) = selectors.search("거래처", datasource_name="erp_db")
    assert (first.table_name, first.column_name) == ("customers", "")
    world("COMMENT ON TABLE orders IS '주문 내역'")
    (first, *_rest) = selectors.search("주문 내역", datasource_name="erp_db")
    assert first.table_name == "orders"


def test_browsers_of_the_tenant_are_told(world, redis_client, in_acme):
    world("ALTER TABLE orders ADD COLUMN note text")
    rows = redis_client.xrange(keys.notifications(in_acme.pk))
    told = {row[b"event"].decode(): orjson.loads(row[b"data"]) for _id, row in rows}
    assert told["metadata.column.modified"]["payload"]["column_name"] == "note"
