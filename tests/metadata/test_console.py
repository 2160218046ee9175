"""The catalog in the console."""

import pytest
from django.urls import reverse

from apps.metadata import services
from apps.metadata.introspection import Address
from apps.metadata.models import CatalogTable, DataSource, ExtractionRun, GlossaryTerm, Snapshot

pytestmark = pytest.mark.django_db


@pytest.fixture
def console(client, alice):
    alice.is_staff = True
    alice.save()
    client.force_login(alice)
    return client


@pytest.fixture
def source(erp, add_source, extract):
    erp.run("CREATE TABLE customers (id int PRIMARY KEY); CREATE TABLE orders ("
            "id int PRIMARY KEY, customer_id int REFERENCES customers)")  # fmt: skip
    datasource = add_source(erp.address)
    extract(datasource)
    return datasource


def page(model, *args, of="changelist"):
    return reverse(f"admin:metadata_{model}_{of}", args=args)


MODELS = ["datasource", "extractionrun", "catalogtable", "catalogcolumn", "catalogchange",
          "glossaryterm", "snapshot"]  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_every_list_and_page_opens(console, source, model):
    from django.apps import apps

    services.define_term(datasource=source, term="x", definition="y")
    assert console.get(page(model)).status_code == 200
    row = apps.get_model("metadata", model).objects.first()
    assert console.get(page(model, row.pk, of="change")).status_code == 200


def facts(**given):
    blank = {"title": "", "port": "", "ssl_mode": "", "schemas": "", "case": "",
             "every_minutes": "", "tolerated_removals": "0.5", "is_active": "on", "username": ""}  # fmt: skip
    return blank | given


def test_a_source_is_added_and_its_password_never_shown(console, in_acme):
    body = facts(name="erp_db", engine="postgresql", host="db", database="x", password="s3cret")
    console.post(page("datasource", of="add"), body)
    source = DataSource.objects.get()
    assert Address.of(source).password == "s3cret"
    shown = console.get(page("datasource", source.pk, of="change")).content.decode()
    assert "s3cret" not in shown
    assert source.sealed_password not in shown
    body = facts(engine="postgresql", host="db", database="y", password="")
    console.post(page("datasource", source.pk, of="change"), body)
    source.refresh_from_db()
    assert (source.database, Address.of(source).password) == ("y", "s3cret")


def act(console, model, action, *rows):
    body = {"action": action, "_selected_action": [str(row.pk) for row in rows]}
    return console.post(page(model), body, follow=True)


def test_a_source_is_read_and_tried_by_hand(console, source):
    act(console, "datasource", "extract", source)
    assert ExtractionRun.objects.filter(state="QUEUED").count() == 1
    assert "PostgreSQL" in act(console, "datasource", "try_connection", source).content.decode()


def test_a_run_that_waits_is_stopped_from_the_list(console, source):
    run = services.request_extraction(datasource=source)
    act(console, "extractionrun", "cancel", run)
    run.refresh_from_db()
    assert run.state == "CANCELLED"


def test_a_table_is_described_and_tagged(console, source):
    table = CatalogTable.objects.get(name="orders")
    body = {"description": "주문", "tags": '{"pii": true}', "columns-TOTAL_FORMS": 0,
            "columns-INITIAL_FORMS": 0}  # fmt: skip
    console.post(page("catalogtable", table.pk, of="change"), body)
    table.refresh_from_db()
    assert (table.description, table.tags) == ("주문", {"pii": True})


def test_a_term_and_a_snapshot_are_made(console, source):
    body = {"datasource": str(source.pk), "term": "주문", "definition": "x", "synonyms": "order",
            "related_columns": "public.orders.id"}  # fmt: skip
    console.post(page("glossaryterm", of="add"), body)
    assert GlossaryTerm.objects.get().related_columns == ["public.orders.id"]
    console.post(page("snapshot", of="add"), {"datasource": str(source.pk), "label": "kept"})
    assert Snapshot.objects.get(label="kept").tables_count == 2


def test_snapshots_are_compared_and_restored_on_a_page_of_their_own(console, source):
    kept = [services.create_snapshot(datasource=source, label=label) for label in "ab"]
    compared = act(console, "snapshot", "compare", *kept)
    assert compared.redirect_chain[-1][0].endswith(f"?old={kept[0].pk}&new={kept[1].pk}")
    looked_at = act(console, "snapshot", "restore", kept[0])
    assert looked_at.redirect_chain[-1][0].endswith(f"?old={kept[0].pk}&new=now")
    assert "Choose one" in act(console, "snapshot", "restore", *kept).content.decode()
