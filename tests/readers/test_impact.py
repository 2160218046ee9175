"""Who would be affected by a change: everything that uses it, and nothing else."""

import pytest

from apps.metadata.selectors import impact
from apps.oracle.services import cache_query
from apps.synapse.services import add_node, link_node
from apps.vision.services import define_cube
from tests.readers.test_cubes import DEFINITION

pytestmark = pytest.mark.django_db


def test_all_kinds_are_told_at_once(catalog):
    where = {"datasource_name": "erp_db"}
    define_cube(**where, name="Sales", definition=DEFINITION)
    cache_query(**where, question="How much?", sql="SELECT total FROM orders")
    cache_query(**where, question="Who?", sql="SELECT name FROM customers")
    node = add_node(layer="measure", name="Revenue")
    link_node(**where, node=node, schema_name="public", table_name="orders", column_name="total")

    found = impact.affected_by("erp_db", [("public", "orders", "total")])
    assert {(each.kind, each.name) for each in found} == {
        ("cube", "Sales"), ("query", "How much?"), ("link", "Revenue"),
    }  # fmt: skip
