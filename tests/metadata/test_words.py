"""Descriptions, tags, the glossary and snapshots: with history, and told."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from apps.metadata import selectors, services
from apps.metadata.errors import GeneratorFailed, NoGenerator, NoSuchColumn, SnapshotElsewhere
from apps.metadata.models import CatalogChange, CatalogTable, GlossaryTerm
from apps.metadata.selectors import impact

pytestmark = pytest.mark.django_db

SCHEMA = """
CREATE TABLE customers (id int PRIMARY KEY, name text);
COMMENT ON TABLE customers IS 'from the database';
CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customers, total int);
"""


@pytest.fixture
def source(erp, add_source, extract, hush):
    erp.run(SCHEMA)
    datasource = add_source(erp.address)
    extract(datasource)
    hush()
    CatalogChange.objects.all().delete()
    return datasource


@pytest.fixture
def customers(source):
    return CatalogTable.objects.get(name="customers")


def column(table, name):
    return CatalogTable.objects.get(name=table).columns.get(name=name)


def test_a_description_by_hand_is_kept_told_and_remembered(source, customers, said):
    services.describe(target=customers, description="거래처")
    (told,) = said("metadata.description.updated")
    assert (told["old_description"], told["new_description"], told["source"]) == (
        "from the database", "거래처", "manual",
    )  # fmt: skip
    change = CatalogChange.objects.get()
    assert (change.kind, change.before, change.after, change.actor) == (
        "description_changed", "", "거래처", "alice@acme.example",
    )  # fmt: skip
    (known,) = selectors.known_tables("erp_db", only=[("public", "customers")])
    assert known.description == "거래처"


def test_the_same_description_again_is_no_news(customers, said):
    services.describe(target=customers, description="x")
    services.describe(target=customers, description="x")
    assert len(said("metadata.description.updated")) == 1


def test_without_a_description_the_comment_speaks(customers, said):
    services.describe(target=customers, description="x")
    services.describe(target=customers, description="")
    assert said("metadata.description.updated")[1]["new_description"] == "from the database"


def test_tags_come_change_and_go(source, said):
    target = column("orders", "total")
    services.tag(target=target, name="unit", value="KRW")
    services.tag(target=target, name="unit", value="USD")
    services.tag(target=target, name="unit", value="USD")
    services.untag(target=target, name="unit")
    services.untag(target=target, name="unit")
    told = [(e["action"], e["old_value"], e["new_value"]) for e in said("metadata.tag.changed")]
    assert told == [("added", None, "KRW"), ("changed", "KRW", "USD"), ("removed", "USD", None)]
    assert CatalogChange.objects.filter(kind="tag_changed", name="total").count() == 3


def test_a_term_is_defined_redefined_and_deleted(source, said):
    define = {"datasource": source, "term": "매출", "synonyms": ["revenue"]}
    services.define_term(**define, definition="a", related_columns=["public.orders.total"])
    services.define_term(**define, definition="b", related_columns=["public.orders.total"])
    services.define_term(**define, definition="b", related_columns=["public.orders.total"])
    services.delete_term(term=GlossaryTerm.objects.get())
    told = said("metadata.glossary.updated")
    assert [(e["action"], e["definition"], e["previous_definition"]) for e in told] == [
        ("upsert", "a", None), ("upsert", "b", "a"), ("delete", None, "b"),
    ]  # fmt: skip
    assert CatalogChange.objects.filter(kind="term_changed").count() == 3


def test_a_term_points_at_columns_that_exist(source):
    with pytest.raises(NoSuchColumn, match=r"public\.orders\.nothing"):
        services.define_term(
            datasource=source, term="x", definition="y", related_columns=["public.orders.nothing"]
        )


def test_a_term_follows_a_rename(source, erp, extract):
    services.define_term(
        datasource=source, term="x", definition="y", related_columns=["public.orders.total"]
    )
    erp.run("ALTER TABLE orders RENAME total TO amount; ALTER TABLE orders RENAME TO purchases")
    extract(source)
    assert GlossaryTerm.objects.get().related_columns == ["public.purchases.amount"]


def test_who_refers_to_a_table_is_affected(source):
    services.define_term(
        datasource=source, term="거래처", definition="y", related_columns=["public.customers.name"]
    )
    found = impact.affected_by("erp_db", [("public", "customers", None)])
    assert [(each.kind, each.name) for each in found] == [
        ("foreign_key", "public.orders.orders_customer_id_fkey"), ("glossary_term", "거래처"),
    ]  # fmt: skip
    found = impact.affected_by("erp_db", [("public", "customers", "name")])
    assert [each.kind for each in found] == ["glossary_term"]


def test_who_watches_a_table_is_affected(source, alice):
    from apps.watch.services import subscribe

    about = lambda table: {
        "type": "all",
        "conditions": [
            {"type": "threshold", "field": "table_name", "operator": "==", "threshold": table}
        ],
    }
    watch = {"user": alice, "event_types": ["metadata.table.removed"]}
    subscribe(name="orders", rule=about("orders"), **watch)
    subscribe(name="customers", rule=about("customers"), **watch)
    subscribe(name="all", rule={"type": "always"}, **watch)
    found = impact.affected_by("erp_db", [("public", "orders", "total")], ["subscription"])
    assert sorted(each.name for each in found) == ["all", "orders"]


def test_a_held_run_says_who_would_be_affected(source, erp, extract):
    services.define_term(
        datasource=source, term="거래처", definition="y", related_columns=["public.customers.name"]
    )
    erp.run("DROP TABLE customers, orders")
    affected = selectors.affected_by_run(extract(source))
    assert "glossary_term" in {each.kind for each in affected}


class Writer(BaseHTTPRequestHandler):
    """An endpoint that speaks chat completions."""

    answer = {"table": "Who buys.", "columns": {"name": "Full name", "nonsense": "x"}}
    status, asked = 200, []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).asked.append((self.path, self.headers["Authorization"], body))
        self.send_response(self.status)
        self.end_headers()
        message = {"content": json.dumps(self.answer)}
        self.wfile.write(json.dumps({"choices": [{"message": message}]}).encode())

    def log_message(self, *args):
        """Quiet."""


@pytest.fixture
def writer(settings, monkeypatch):
    monkeypatch.setattr(Writer, "asked", [])
    server = HTTPServer(("127.0.0.1", 0), Writer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings.METADATA_GENERATOR_URL = f"http://127.0.0.1:{server.server_port}/v1"
    settings.METADATA_GENERATOR_KEY = "k3y"
    yield Writer
    server.shutdown()
    server.server_close()


def test_a_generator_describes_what_nobody_described(customers, writer, said):
    services.describe(target=column("customers", "name"), description="by hand")
    assert services.generate_descriptions(table=customers) == 1
    customers.refresh_from_db()
    assert (customers.description, customers.description_source) == ("Who buys.", "llm_enrichment")
    assert column("customers", "name").description == "by hand"
    assert said("metadata.description.updated")[-1]["source"] == "llm_enrichment"
    ((path, authorization, body),) = writer.asked
    assert (path, authorization) == ("/v1/chat/completions", "Bearer k3y")
    assert "from the database" in body["messages"][1]["content"]


@pytest.mark.parametrize(("status", "answer"), [(500, {}), (200, {"columns": "not a mapping"})])
def test_a_generator_that_fails_changes_nothing(customers, writer, monkeypatch, status, answer):
    monkeypatch.setattr(writer, "status", status)
    monkeypatch.setattr(writer, "answer", answer)
    with pytest.raises(GeneratorFailed):
        services.generate_descriptions(table=customers)
    assert CatalogTable.objects.get(pk=customers.pk).description == ""


def test_without_a_generator_nothing_is_generated(customers):
    with pytest.raises(NoGenerator):
        services.generate_descriptions(table=customers)


def told(changes):
    return sorted((c.kind, c.table, c.name) for c in changes)


def test_a_snapshot_is_compared_with_another_and_with_now(source, erp, extract, said, customers):
    first = services.create_snapshot(datasource=source, label="before")
    erp.run("ALTER TABLE orders RENAME TO purchases; ALTER TABLE purchases ADD note text")
    extract(source)
    services.describe(target=customers, description="x")
    second = services.create_snapshot(datasource=source, label="after")
    expected = [
        ("column_added", "purchases", "note"), ("description_changed", "customers", ""),
        ("table_renamed", "purchases", ""),
    ]  # fmt: skip
    assert told(services.compare_snapshots(old=first, new=second)) == expected
    assert told(services.compare_with_now(snapshot=first)) == expected
    assert services.compare_with_now(snapshot=second) == []
    assert told(services.compare_snapshots(old=second, new=first)) == [
        ("column_removed", "orders", "note"), ("description_changed", "customers", ""),
        ("table_renamed", "orders", ""),
    ]  # fmt: skip
    assert said("metadata.snapshot.created")[0]["label"] == "before"


def test_an_extraction_that_changed_something_is_kept_as_a_snapshot(source, erp, extract, said):
    extract(source)
    erp.run("ALTER TABLE orders ADD note text")
    extract(source)
    unchanged, changed = said("metadata.extracted")
    (kept,) = said("metadata.snapshot.created")
    assert (unchanged["snapshot_id"], changed["snapshot_id"]) == (None, kept["snapshot_id"])


def test_a_restored_snapshot_brings_structure_and_words_back(source, erp, extract, said, customers):
    services.describe(target=customers, description="거래처")
    services.tag(target=column("orders", "total"), name="unit", value="KRW")
    snapshot = services.create_snapshot(datasource=source)
    before = selectors.known_tables("erp_db")
    erp.run("DROP TABLE orders; ALTER TABLE customers DROP name; CREATE TABLE new (x int)")
    extract(source)
    services.describe(target=customers, description="otherwise")
    changes = services.restore_snapshot(snapshot=snapshot)
    assert selectors.known_tables("erp_db") == before
    assert told(changes) == [
        ("column_added", "customers", "name"), ("description_changed", "customers", ""),
        ("table_added", "orders", ""), ("table_removed", "new", ""),
    ]  # fmt: skip
    (event,) = said("metadata.snapshot.restored")
    assert event["diff_from_current"] == {
        "tables_added": 1, "tables_removed": 1, "columns_changed": 1,
    }  # fmt: skip
    assert (event["tables_count"], event["columns_count"]) == (2, 5)
    assert services.compare_with_now(snapshot=snapshot) == []


def test_after_a_restore_the_next_reading_tells_the_truth_again(source, erp, extract):
    snapshot = services.create_snapshot(datasource=source)
    erp.run("ALTER TABLE orders ADD note text")
    extract(source)
    services.restore_snapshot(snapshot=snapshot)
    assert told(extract(source).changes.all()) == [("column_added", "orders", "note")]


def test_snapshots_of_different_sources_are_not_compared(source, add_source):
    other = add_source({"engine": "postgresql", "database": "x"}, name="other")
    with pytest.raises(SnapshotElsewhere):
        services.compare_snapshots(
            old=services.create_snapshot(datasource=source),
            new=services.create_snapshot(datasource=other),
        )


def test_a_removed_table_says_how_many_queries_used_it(source, erp, extract, said, monkeypatch):
    uses = lambda datasource, targets: [
        impact.Affected("query", str(n), "a question", "uses it", ("public", "orders", None))
        for n in range(3)
    ]
    monkeypatch.setitem(impact._finders, "query", uses)
    erp.run("DROP TABLE orders")
    extract(source)
    (gone,) = said("metadata.table.removed")
    assert (gone["had_queries"], gone["affected_query_count"]) == (True, 3)


def test_a_worker_reads_and_has_described(source, customers, erp, writer):
    from apps.events.context import fresh
    from apps.metadata import tasks

    erp.run("CREATE TABLE new (x int)")
    run = services.request_extraction(datasource=source)
    with fresh():
        assert tasks.extract(str(run.pk)) == "DONE"
        assert tasks.generate(str(customers.tenant_id), str(customers.pk)) == 2
        assert tasks.start_due() == 0
    assert CatalogTable.objects.filter(name="new").exists()
