"""The catalog for programs: sources, runs, tables, words, snapshots and impact over HTTP."""

import pytest

from apps.metadata import services
from apps.metadata.models import CatalogTable, DataSource, ExtractionRun

URL = "/api/v1/metadata/"

pytestmark = pytest.mark.django_db

SCHEMA = """
CREATE TABLE customers (id int PRIMARY KEY, name text);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customers, total int);
"""


@pytest.fixture
def source(erp, add_source, extract):
    erp.run(SCHEMA)
    datasource = add_source(erp.address)
    extract(datasource)
    return datasource


def at(kind, row, *more):
    return URL + "/".join([kind, str(getattr(row, "pk", row)), *more, ""])


def test_a_source_is_named_read_changed_and_forgotten(erp, alice_api):
    erp.run(SCHEMA)
    made = alice_api.post(URL + "data-sources/", {"name": "erp_db", **erp.address})
    assert made.status_code == 201, made.json()
    assert (made.json()["has_password"], "password" in made.json()) == (True, False)
    answer = alice_api.post(made["Location"] + "extract/")
    assert (answer.status_code, answer.json()["state"]) == (202, "QUEUED")
    assert alice_api.post(made["Location"] + "extract/").json()["code"] == "already_running"
    services.run_extraction(answer.json()["id"])
    run = alice_api.get(at("runs", answer.json()["id"])).json()
    assert (run["state"], run["tables_count"], run["step"]) == ("DONE", 2, "over")
    shown = alice_api.get(made["Location"])
    changed = alice_api.patch(
        made["Location"], {"title": "ERP"}, headers={"If-Match": shown["ETag"]}
    )
    assert (changed.status_code, changed.json()["title"]) == (200, "ERP")
    gone = alice_api.delete(made["Location"], headers={"If-Match": changed["ETag"]})
    assert (gone.status_code, CatalogTable.across_tenants.count()) == (204, 0)


def test_a_password_never_comes_out(erp, alice_api, caplog):
    body = {"name": "erp_db", **erp.address, "password": "s3cret-pa55", "username": "nobody_here"}
    made = alice_api.post(URL + "data-sources/", body)
    answers = [made, alice_api.get(made["Location"]), alice_api.get(URL + "data-sources/"),
               alice_api.post(made["Location"] + "test/")]  # fmt: skip
    assert answers[-1].json()["code"] == "source_refused"
    told = caplog.text + "".join(answer.content.decode() for answer in answers)
    assert "s3cret-pa55" not in told
    assert "sealed" not in told


def test_a_connection_is_tried(source, alice_api):
    answer = alice_api.post(at("data-sources", source, "test"))
    assert (answer.status_code, "PostgreSQL" in answer.json()["server"]) == (200, True)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": "Not A Name", "engine": "sqlite", "database": "x"}, "#/name"),
        ({"name": "x", "engine": "oracle", "database": "x"}, "#/engine"),
        ({"name": "x", "engine": "sqlite"}, "#/database"),
        ({"name": "x", "engine": "sqlite", "database": "x",
          "case_id": "018f2d1c-0000-7000-8000-000000000001"}, "#/case_id"),
        ({"name": "x", "engine": "sqlite", "database": "x", "port": 0}, "#/port"),
        ({"name": "x", "engine": "sqlite", "database": "x", "every_minutes": 1}, "#/every_minutes"),
        ({"name": "x", "engine": "sqlite", "database": "x", "tolerated_removals": 2},
         "#/tolerated_removals"),
    ],
)  # fmt: skip
def test_bad_input_is_told(alice_api, body, pointer):
    answer = alice_api.post(URL + "data-sources/", body)
    assert answer.status_code == 400
    assert pointer in [fault["pointer"] for fault in answer.json()["errors"]]
    assert DataSource.across_tenants.count() == 0


def test_a_held_run_shows_what_would_change_and_is_decided(source, erp, extract, alice_api):
    erp.run("DROP TABLE customers, orders")
    held = extract(source)
    shown = alice_api.get(at("runs", held)).json()
    assert (shown["state"], shown["removals"]) == ("HELD", ["public.customers", "public.orders"])
    assert {each["kind"] for each in shown["pending"]} == {"table_removed"}
    affected = alice_api.get(at("runs", held, "impact")).json()
    assert [each["kind"] for each in affected] == ["foreign_key"]
    assert alice_api.get(URL + "impact/", {"run": str(held.pk)}).json() == affected
    answer = alice_api.post(at("runs", held, "approve"), {"note": "planned"})
    assert (answer.status_code, answer.json()["trigger"]) == (202, "approval")
    services.run_extraction(answer.json()["id"])
    assert alice_api.get(URL + "tables/").json()["results"] == []
    assert alice_api.post(at("runs", held, "reject")).json()["code"] == "run_not_held"


def test_a_run_is_cancelled(source, alice_api):
    run = services.request_extraction(datasource=source)
    assert alice_api.post(at("runs", run, "cancel")).json()["state"] == "CANCELLED"
    assert alice_api.post(at("runs", run, "cancel")).json()["code"] == "run_not_open"


def test_tables_and_columns_are_found_by_name(source, alice_api):
    (found,) = alice_api.get(URL + "tables/", {"q": "CUST", "datasource": "erp_db"}).json()[
        "results"
    ]
    shown = alice_api.get(at("tables", found["id"])).json()
    assert [column["name"] for column in shown["columns"]] == ["id", "name"]
    assert shown["primary_key"] == ["id"]
    columns = alice_api.get(URL + "columns/", {"q": "customer"}).json()["results"]
    assert [(each["table"], each["name"]) for each in columns] == [("orders", "customer_id")]
    assert alice_api.get(URL + "tables/", {"datasource": "none"}).json()["results"] == []


def test_words_are_added(source, alice_api):
    table = CatalogTable.objects.get(name="orders")
    shown = alice_api.post(at("tables", table, "describe"), {"description": "주문"}).json()
    assert (shown["description"], shown["description_source"]) == ("주문", "manual")
    shown = alice_api.post(at("tables", table, "tag"), {"name": "pii"}).json()
    assert shown["tags"] == {"pii": True}
    assert alice_api.get(URL + "tables/", {"tag": "pii"}).json()["results"][0]["name"] == "orders"
    assert alice_api.post(at("tables", table, "untag"), {"name": "pii"}).json()["tags"] == {}
    column = table.columns.get(name="total")
    shown = alice_api.post(at("columns", column, "describe"), {"description": "합계"}).json()
    assert shown["description"] == "합계"
    changes = alice_api.get(URL + "changes/", {"table": "orders", "kind": "description_changed"})
    assert [(c["name"], c["after"]) for c in changes.json()["results"]] == [
        ("total", "합계"), ("", "주문"),
    ]  # fmt: skip
    assert alice_api.post(at("tables", table, "generate")).json()["code"] == "no_generator"


@pytest.mark.parametrize("value", [{"a": 1}, [1], "a\0b", "x" * 501])
def test_a_tag_is_something_plain(source, alice_api, value):
    table = CatalogTable.objects.get(name="orders")
    answer = alice_api.post(at("tables", table, "tag"), {"name": "pii", "value": value})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "#/value")


def test_terms_are_kept(source, alice_api):
    body = {"datasource": "erp_db", "term": "매출", "definition": "수익", "synonyms": ["revenue"],
            "related_columns": ["public.orders.total"]}  # fmt: skip
    made = alice_api.post(URL + "glossary/", body)
    assert made.status_code == 201
    changed = alice_api.patch(
        made["Location"], {"definition": "수익 총액"}, headers={"If-Match": made["ETag"]}
    )
    assert (changed.json()["definition"], changed.json()["synonyms"]) == ("수익 총액", ["revenue"])
    found = alice_api.get(URL + "glossary/", {"q": "reven"}).json()["results"]
    assert [each["term"] for each in found] == ["매출"]
    gone = alice_api.delete(made["Location"], headers={"If-Match": changed["ETag"]})
    assert gone.status_code == 204
    missing = alice_api.post(URL + "glossary/", body | {"related_columns": ["a.b.c"]})
    assert missing.json()["code"] == "no_such_column"
    unknown = alice_api.post(URL + "glossary/", body | {"datasource": "none"})
    assert unknown.json()["errors"][0]["pointer"] == "#/datasource"


def test_snapshots_are_kept_compared_and_restored(source, erp, extract, alice_api):
    made = alice_api.post(URL + "snapshots/", {"datasource": "erp_db", "label": "before"})
    assert made.status_code == 201
    erp.run("ALTER TABLE orders ADD note text")
    extract(source)
    after = alice_api.post(URL + "snapshots/", {"datasource": "erp_db"}).json()
    compared = alice_api.get(made["Location"] + "compare/", {"to": after["id"]}).json()
    assert [(each["kind"], each["name"]) for each in compared] == [("column_added", "note")]
    assert compared == alice_api.get(made["Location"] + "compare/").json()
    restored = alice_api.post(made["Location"] + "restore/").json()
    assert [(each["kind"], each["name"]) for each in restored] == [("column_removed", "note")]
    assert alice_api.get(made["Location"] + "compare/").json() == []


def test_impact_is_told(source, alice_api):
    where = {"datasource": "erp_db", "schema": "public", "table": "customers"}
    (found,) = alice_api.get(URL + "impact/", where).json()
    assert found["name"] == "public.orders.orders_customer_id_fkey"
    assert alice_api.get(URL + "impact/", where | {"column": "name"}).json() == []
    bad = alice_api.get(URL + "impact/", {"datasource": "erp_db"})
    assert (bad.status_code, [fault["parameter"] for fault in bad.json()["errors"]]) == (
        400, ["schema", "table"],
    )  # fmt: skip


def test_the_impact_of_a_run_is_its_tenants_business(source, erp, extract, charlie_api):
    erp.run("DROP TABLE customers, orders")
    held = extract(source)
    assert charlie_api.get(URL + "impact/", {"run": str(held.pk)}).status_code == 400


def test_viewers_look_and_do_not_touch(source, bob_api):
    assert bob_api.get(URL + "tables/").status_code == 200
    table = CatalogTable.objects.get(name="orders")
    for url in (at("tables", table, "describe"), at("data-sources", source, "extract"),
                URL + "glossary/", URL + "snapshots/"):  # fmt: skip
        assert bob_api.post(url, {}).status_code == 403
    assert ExtractionRun.objects.count() == 1


def test_who_works_with_cases_does_not_decide_what_is_read(source, acme, member_of, api_of):
    eve, frank = member_of(acme, "eve", "attorney"), member_of(acme, "frank", "engineer")
    assert api_of(eve).post(at("data-sources", source, "extract")).status_code == 403
    assert api_of(frank).post(at("data-sources", source, "extract")).status_code == 202
