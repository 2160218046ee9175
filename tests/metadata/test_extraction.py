"""A real PostgreSQL is read, changed by DDL and read again: every change is told as what it is."""

import pytest

from apps.metadata import services
from apps.metadata.models import CatalogChange, CatalogTable, ExtractionRun, TableVersion

pytestmark = pytest.mark.django_db

SCHEMA = """
CREATE SCHEMA sales;
CREATE TABLE sales.customers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name varchar(100) NOT NULL,
    grade smallint NOT NULL DEFAULT 1
);
COMMENT ON TABLE sales.customers IS '고객';
CREATE TABLE sales.orders (
    id bigint PRIMARY KEY,
    customer_id bigint REFERENCES sales.customers ON DELETE CASCADE,
    total numeric(10, 2),
    note text
);
CREATE UNIQUE INDEX orders_note ON sales.orders (note) WHERE note IS NOT NULL;
CREATE INDEX orders_lower ON sales.orders (lower(note));
CREATE VIEW sales.totals AS SELECT customer_id, count(*) AS total FROM sales.orders GROUP BY 1;
CREATE TABLE public.log (at timestamptz, line text);
"""


@pytest.fixture
def datasource(erp, add_source):
    erp.run(SCHEMA)
    return add_source(erp.address)


@pytest.fixture
def read(datasource, extract, hush):
    """The source read once, and what was said about that forgotten."""
    assert extract(datasource).state == "DONE"
    hush()
    CatalogChange.objects.all().delete()
    return datasource


def changes():
    found = CatalogChange.objects.order_by("schema", "table", "name", "kind")
    return [(c.kind, f"{c.schema}.{c.table}", c.name, c.breaking) for c in found]


def test_the_first_reading_fills_the_catalog(datasource, extract, said):
    run = extract(datasource)
    assert (run.state, run.tables_count, run.added_count) == ("DONE", 4, 4)
    orders = CatalogTable.objects.get(name="orders")
    assert orders.primary_key == ["id"]
    assert orders.foreign_keys == [
        {"name": "orders_customer_id_fkey", "columns": ["customer_id"], "schema": "sales",
         "table": "customers", "referred": ["id"], "on_update": "", "on_delete": "CASCADE"}
    ]  # fmt: skip
    assert orders.indexes == [
        {"name": "orders_lower", "columns": ["lower(note)"], "unique": False, "method": "btree",
         "where": ""},
        {"name": "orders_note", "columns": ["note"], "unique": True, "method": "btree",
         "where": "(note IS NOT NULL)"},
    ]  # fmt: skip
    columns = orders.columns.order_by("position").values_list("name", "dtype", "nullable")
    assert list(columns) == [
        ("id", "bigint", False), ("customer_id", "bigint", True), ("total", "numeric(10,2)", True),
        ("note", "text", True),
    ]  # fmt: skip
    assert CatalogTable.objects.get(name="customers").comment == "고객"
    assert CatalogTable.objects.get(name="totals").kind == "VIEW"
    added = [payload["table_name"] for payload in said("metadata.table.added")]
    assert sorted(added) == ["customers", "log", "orders", "totals"]
    (summary,) = said("metadata.extracted")
    assert (summary["tables_count"], summary["columns_count"], summary["schemas_count"]) == (
        4, 11, 2,
    )  # fmt: skip
    assert summary["foreign_keys_count"] == 1


def test_a_reading_without_changes_writes_and_tells_nothing(read, extract, said):
    before = list(TableVersion.objects.values_list("pk", "until"))
    run = extract(read)
    assert (run.state, run.changed_count, read.version) == ("DONE", 0, 1)
    assert [kind for kind, _ in said()] == ["metadata.extracted"]
    assert said("metadata.extracted")[0]["diff"]["tables_unchanged"] == 4
    assert list(TableVersion.objects.values_list("pk", "until")) == before


DDL = [
    ("ALTER TABLE sales.orders ALTER total TYPE numeric(12, 2)",
     [("type_changed", "sales.orders", "total", False)]),
    ("ALTER TABLE sales.customers ALTER name TYPE varchar(50)",
     [("type_changed", "sales.customers", "name", True)]),
    ("ALTER TABLE sales.customers ALTER name DROP NOT NULL",
     [("nullable_changed", "sales.customers", "name", False)]),
    ("ALTER TABLE sales.orders ALTER note SET NOT NULL",
     [("nullable_changed", "sales.orders", "note", True)]),
    ("ALTER TABLE sales.customers ALTER grade DROP DEFAULT",
     [("default_changed", "sales.customers", "grade", True)]),
    ("ALTER TABLE sales.customers ALTER grade SET DEFAULT 2",
     [("default_changed", "sales.customers", "grade", False)]),
    ("ALTER TABLE public.log ADD COLUMN level text",
     [("column_added", "public.log", "level", False)]),
    ("ALTER TABLE public.log ADD COLUMN level text NOT NULL",
     [("column_added", "public.log", "level", True)]),
    ("ALTER TABLE public.log DROP COLUMN line", [("column_removed", "public.log", "line", True)]),
    ("ALTER TABLE public.log RENAME COLUMN line TO message",
     [("column_renamed", "public.log", "message", True)]),
    ("ALTER TABLE public.log RENAME TO journal",
     [("table_renamed", "public.journal", "", True)]),
    ("ALTER TABLE sales.customers SET SCHEMA public",
     [("table_renamed", "public.customers", "", True)]),
    ("ALTER TABLE sales.orders RENAME COLUMN note TO memo",
     [("column_renamed", "sales.orders", "memo", True)]),
    (("ALTER TABLE public.log RENAME COLUMN at TO x;"
     "ALTER TABLE public.log RENAME COLUMN line TO at;"
     "ALTER TABLE public.log RENAME COLUMN x TO line"),
     [("column_renamed", "public.log", "at", True), ("column_renamed", "public.log", "line", True)]),
    ("DROP TABLE public.log", [("table_removed", "public.log", "", True)]),
    ("CREATE TABLE public.new (x int)", [("table_added", "public.new", "", False)]),
    ("ALTER TABLE public.log ADD PRIMARY KEY (at)",
     [("primary_key_changed", "public.log", "", False),
      ("nullable_changed", "public.log", "at", True)]),
    ("ALTER TABLE sales.orders DROP CONSTRAINT orders_customer_id_fkey",
     [("foreign_key_removed", "sales.orders", "orders_customer_id_fkey", False)]),
    ("ALTER TABLE sales.orders ADD FOREIGN KEY (id) REFERENCES sales.customers",
     [("foreign_key_added", "sales.orders", "orders_id_fkey", True)]),
    (("ALTER TABLE sales.orders DROP CONSTRAINT orders_customer_id_fkey,"
     " ADD CONSTRAINT orders_customer_id_fkey FOREIGN KEY (customer_id)"
     " REFERENCES sales.customers ON DELETE SET NULL"),
     [("foreign_key_changed", "sales.orders", "orders_customer_id_fkey", True)]),
    ("COMMENT ON TABLE sales.orders IS 'What was bought'",
     [("comment_changed", "sales.orders", "", False)]),
    ("ALTER TABLE public.log ADD level int GENERATED ALWAYS AS (length(line)) STORED NOT NULL",
     [("column_added", "public.log", "level", False)]),
    ("CREATE MATERIALIZED VIEW public.lines AS SELECT line FROM public.log",
     [("table_added", "public.lines", "", False)]),
    ("DROP INDEX sales.orders_lower", [("index_removed", "sales.orders", "orders_lower", False)]),
    ("DROP INDEX sales.orders_note", [("index_removed", "sales.orders", "orders_note", True)]),
    ("CREATE INDEX log_at ON public.log (at)", [("index_added", "public.log", "log_at", False)]),
    ("ALTER INDEX sales.orders_lower RENAME TO x",
     [("index_changed", "sales.orders", "x", False)]),
    ("COMMENT ON COLUMN public.log.line IS 'what happened'",
     [("comment_changed", "public.log", "line", False)]),
    (("CREATE OR REPLACE VIEW sales.totals AS"
     " SELECT customer_id, max(id) AS total FROM sales.orders GROUP BY 1"),
     [("definition_changed", "sales.totals", "", False)]),
    ("DROP VIEW sales.totals; CREATE TABLE sales.totals (customer_id bigint, total bigint)",
     [("definition_changed", "sales.totals", "", False), ("kind_changed", "sales.totals", "", True)]),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "expected"), DDL, ids=[ddl for ddl, _ in DDL])
def test_a_change_by_ddl_is_told_as_what_it_is(read, erp, extract, statement, expected):
    erp.run(statement)
    run = extract(read)
    assert run.state == "DONE", run.error
    # Views follow their tables: their text changes with the names in it.
    assert [each for each in changes() if each[1] != "sales.totals" or each in expected] == expected
    assert {each[0] for each in changes() if each not in expected} <= {"definition_changed"}


def test_a_renamed_column_keeps_its_row_its_description_and_its_tags(read, erp, extract):
    column = CatalogTable.objects.get(name="orders").columns.get(name="note")
    column.description, column.tags = "written by hand", {"pii": True}
    column.save()
    erp.run("ALTER TABLE sales.orders RENAME COLUMN note TO memo")
    erp.run("ALTER TABLE sales.orders RENAME TO purchases")
    extract(read)
    column.refresh_from_db()
    assert (column.name, column.table.name) == ("memo", "purchases")
    assert (column.description, column.tags) == ("written by hand", {"pii": True})


def test_events_tell_columns_with_all_that_happened_to_them(read, erp, extract, said):
    erp.run("""
        ALTER TABLE sales.orders ALTER total TYPE numeric(12, 2), ALTER total SET NOT NULL;
        CREATE INDEX orders_total ON sales.orders (total);
        ALTER TABLE sales.orders DROP CONSTRAINT orders_customer_id_fkey;
    """)
    extract(read)
    told = {event["column_name"]: event for event in said("metadata.column.modified")}
    assert told["total"]["changes"] == {
        "dtype": {"old": "numeric(10,2)", "new": "numeric(12,2)"},
        "nullable": {"old": True, "new": False},
        "indexes": {"old": [], "new": ["orders_total"]},
    }
    assert (told["total"]["breaking"], told["total"]["change"]) == (True, "modified")
    assert told["customer_id"]["changes"] == {
        "foreign_key": {"old": "sales.customers.id", "new": None}
    }
    assert told["customer_id"]["breaking"] is False


def test_a_rename_is_told_as_one_table_that_went_and_came(read, erp, extract, said):
    erp.run("ALTER TABLE public.log RENAME TO journal")
    extract(read)
    (gone,), (come,) = said("metadata.table.removed"), said("metadata.table.added")
    assert (gone["table_name"], gone["renamed_to"]) == ("log", "public.journal")
    assert (come["table_name"], come["renamed_from"]) == ("journal", "public.log")


def test_a_comment_is_a_description_until_somebody_writes_one(read, erp, extract, said):
    erp.run("COMMENT ON TABLE sales.orders IS 'Orders'; COMMENT ON TABLE sales.customers IS 'x'")
    CatalogTable.objects.filter(name="customers").update(description="by hand")
    extract(read)
    (told,) = said("metadata.description.updated")
    assert (told["table_name"], told["new_description"], told["source"]) == (
        "orders", "Orders", "database",
    )  # fmt: skip


def test_only_the_changed_table_is_written(read, erp, extract):
    erp.run("ALTER TABLE public.log ADD COLUMN level text")
    before = set(TableVersion.objects.filter(until=None).values_list("pk", flat=True))
    extract(read)
    after = set(TableVersion.objects.filter(until=None).values_list("pk", flat=True))
    assert (len(before - after), len(after - before)) == (1, 1)


def test_too_many_removals_are_held_until_somebody_approves(read, erp, extract, said):
    erp.run("DROP SCHEMA sales CASCADE")
    run = extract(read)
    assert (run.state, run.removals) == (
        "HELD", ["sales.customers", "sales.orders", "sales.totals"],
    )  # fmt: skip
    assert {each["kind"] for each in run.pending} == {"table_removed"}
    assert (CatalogTable.objects.count(), said()) == (4, [])
    again = services.run_extraction(services.approve(run=run, note="planned").pk)
    assert (again.state, again.trigger) == ("DONE", "approval")
    assert CatalogTable.objects.count() == 1
    run.refresh_from_db()
    assert (run.state, run.decided_by, run.note) == ("APPROVED", "alice@acme.example", "planned")


def test_an_approval_is_for_what_was_shown(read, erp, extract):
    erp.run("DROP SCHEMA sales CASCADE")
    run = extract(read)
    erp.run("DROP TABLE public.log")
    again = services.run_extraction(services.approve(run=run).pk)
    assert (again.state, CatalogTable.objects.count()) == ("HELD", 4)
    assert "public.log" in again.removals


def test_a_rejected_run_changes_nothing_and_cannot_be_approved(read, erp, extract):
    erp.run("DROP SCHEMA sales CASCADE")
    run = services.reject(run=extract(read), note="a mistake")
    assert (run.state, CatalogTable.objects.count()) == ("REJECTED", 4)
    with pytest.raises(services.extract.NotHeld):
        services.approve(run=run)


def test_the_wrong_database_deletes_nothing(read, erp, extract):
    read.database = "postgres"
    read.save()
    run = extract(read)
    assert (run.state, run.removed_count, CatalogTable.objects.count()) == ("HELD", 4, 4)


def test_a_schema_that_cannot_be_seen_is_held(read, extract):
    read.schemas, read.tolerated_removals = ["public", "gone"], 1.0
    read.save()
    run = extract(read)
    assert (run.state, "gone" in run.held_because, CatalogTable.objects.count()) == (
        "HELD", True, 4,
    )  # fmt: skip


def test_a_copy_of_the_database_gives_identities_to_others(read, erp, extract):
    """Two tables exchange their oids, as after a dump and restore: no rename happened."""
    read.identity_scope = "another server"
    read.save()
    one, two = CatalogTable.objects.get(name="log"), CatalogTable.objects.get(name="orders")
    CatalogTable.objects.filter(pk=one.pk).update(identity=two.identity, fingerprint="")
    CatalogTable.objects.filter(pk=two.pk).update(identity=one.identity, fingerprint="")
    extract(read)
    assert changes() == []


def test_one_reading_at_a_time(datasource):
    services.request_extraction(datasource=datasource)
    with pytest.raises(services.extract.AlreadyRunning):
        services.request_extraction(datasource=datasource)
    assert ExtractionRun.objects.count() == 1
