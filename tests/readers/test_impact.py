"""Who would be affected by a change: everything that uses it, and whoever watches such changes."""

import pytest

from apps.metadata.selectors import impact
from apps.oracle.services import cache_query
from apps.synapse.services import add_node, link_node
from apps.vision.services import define_cube
from apps.watch.services import subscribe
from tests.readers.test_cubes import DEFINITION

pytestmark = pytest.mark.django_db


def test_all_kinds_are_told_at_once(catalog, alice):
    where = {"datasource_name": "erp_db"}
    define_cube(**where, name="Sales", definition=DEFINITION)
    cache_query(**where, question="How much?", sql="SELECT total FROM orders")
    cache_query(**where, question="Who?", sql="SELECT name FROM customers")
    node = add_node(layer="measure", name="Revenue")
    link_node(**where, node=node, schema_name="public", table_name="orders", column_name="total")
    for name, event_type in (("Broken", "metadata.column.modified"), ("Money", "PAYMENT_DUE")):
        subscribe(name=name, user=alice, event_types=[event_type], rule={"type": "always"})

    found = impact.affected_by("erp_db", [("public", "orders", "total")])
    assert {(each.kind, each.name) for each in found} == {
        ("cube", "Sales"), ("query", "How much?"), ("link", "Revenue"), ("subscription", "Broken"),
    }  # fmt: skip
