"""The ontology: links and bindings, invalid with a reason, repaired when the table returns."""

import pytest

from apps.metadata.selectors import impact
from apps.synapse import services
from apps.synapse.models import EventLogBinding, OntologyLink

pytestmark = pytest.mark.django_db

RECONCILE = "/api/v1/ontology/reconcile/"


@pytest.fixture
def link(catalog):
    node = services.add_node(layer="measure", name="매출")
    return services.link_node(
        node=node, datasource_name="erp_db", schema_name="public", table_name="orders",
        column_name="total",
    )  # fmt: skip


@pytest.fixture
def binding(catalog):
    return services.bind_event_log(
        name="Order to cash", datasource_name="erp_db", schema_name="public", table_name="orders",
        case_column="id", activity_column="status", timestamp_column="placed_at",
    )  # fmt: skip


def state(row):
    row.refresh_from_db()
    return row.status, row.reason


def test_links_and_bindings_break_with_a_reason_and_heal_by_themselves(
    readers, catalog, link, binding
):
    catalog.drop("public.orders")
    readers.run()
    assert state(link) == state(binding) == ("INVALID", "Table public.orders is not there.")
    catalog.add("public.orders", id="integer", total="numeric", status="text",
                placed_at="timestamp")  # fmt: skip
    readers.run()
    assert state(link) == state(binding) == ("VALID", "")


def test_only_what_uses_the_column_breaks(readers, catalog, link, binding):
    catalog.drop_column("public.orders", "placed_at")
    readers.run()
    assert state(link) == ("VALID", "")
    assert state(binding) == ("INVALID", "Column placed_at of table public.orders is not there.")


def test_a_time_that_became_a_text_orders_no_log(readers, catalog, binding):
    catalog.retype("public.orders", "placed_at", "text")
    readers.run()
    assert state(binding)[0] == "INVALID"


def test_what_refers_to_nothing_yet_is_kept_and_waits(readers, catalog):
    node = services.add_node(layer="resource", name="Warehouse")
    link = services.link_node(
        node=node, datasource_name="erp_db", schema_name="public", table_name="stock",
        column_name="place",
    )  # fmt: skip
    assert link.status == "INVALID"
    catalog.add("public.stock", place="text")
    readers.run()
    assert state(link)[0] == "VALID"
    catalog.retype("public.stock", "place", "integer")
    readers.run()
    assert state(link)[0] == "INVALID"  # The type it had at first was learned.


def test_reconciling_mends_whatever_was_corrupted(catalog, link, binding, alice_api):
    OntologyLink.objects.update(status="INVALID", troubles=[])
    EventLogBinding.objects.update(status="INVALID", troubles=[{"code": "table_missing"}])
    report = alice_api.post(RECONCILE, {}, format="json").json()
    assert (report["checked"], report["mended"], report["broken"]) == (2, 2, 0)
    again = alice_api.post(RECONCILE, {"datasource_name": "erp_db"}, format="json").json()
    assert (again["checked"], again["changed"]) == (2, [])


def test_a_source_that_is_gone_leaves_nothing_valid(catalog, link, binding):
    catalog.source.delete()
    assert len(services.reconcile().broken) == 2


def test_who_asks_for_the_impact_learns_of_links_and_bindings(link, binding):
    found = impact.affected_by("erp_db", [("public", "orders", "total")])
    assert [(each.kind, each.name) for each in found] == [("link", "매출")]
    found = impact.affected_by("erp_db", [("public", "orders", None)], ["link", "binding"])
    assert {each.kind for each in found} == {"link", "binding"}


def test_the_api_writes_the_ontology(alice_api, catalog):
    node = alice_api.post(
        "/api/v1/ontology/nodes/", {"layer": "process", "name": "Order"}, format="json"
    ).json()
    where = {"datasource_name": "erp_db", "schema_name": "public", "table_name": "orders"}
    link = alice_api.post("/api/v1/ontology/links/", {"node": node["id"], **where}, format="json")
    assert (link.status_code, link.json()["status"]) == (201, "VALID")
    unknown = alice_api.post(
        "/api/v1/ontology/links/", {"node": str(catalog.source.pk), **where}, format="json"
    )
    assert unknown.status_code == 400
    columns = {"case_column": "id", "activity_column": "statu", "timestamp_column": "placed_at"}
    binding = alice_api.post(
        "/api/v1/ontology/bindings/", {"name": "Log", **where, **columns}, format="json"
    ).json()
    assert (binding["status"], "statu" in binding["reason"]) == ("INVALID", True)
