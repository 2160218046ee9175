"""Cached queries: a change invalidates exactly those that use what changed."""

import pytest
from django.core.exceptions import ValidationError

from apps.metadata.selectors import impact
from apps.oracle import services
from apps.oracle.models import CachedQuery

pytestmark = pytest.mark.django_db

QUERIES = {
    "total": "SELECT sum(total) FROM orders",
    "star": "SELECT * FROM orders",
    "join": "SELECT c.region, count(*) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY 1",
    "cte": "WITH late AS (SELECT id, status FROM orders) SELECT count(*) FROM late",
    "archive": "SELECT total FROM archive.orders",
    "rows": "SELECT count(*) FROM orders",
}  # fmt: skip


@pytest.fixture
def queries(catalog):
    return {
        name: services.cache_query(datasource_name="erp_db", question=name, sql=sql)
        for name, sql in QUERIES.items()
    }


def invalid():
    rows = CachedQuery.objects.filter(status="INVALID")
    return set(rows.values_list("question", flat=True))


CHANGES = {
    "a column that a star shows": (
        lambda catalog: catalog.drop_column("public.orders", "placed_at"), {"star"},
    ),
    "a column that two name": (
        lambda catalog: catalog.drop_column("public.orders", "total"), {"total", "star"},
    ),
    "a column inside a CTE": (
        lambda catalog: catalog.drop_column("public.orders", "status"), {"cte", "star"},
    ),
    "a column of a join": (
        lambda catalog: catalog.drop_column("public.orders", "customer_id"), {"join", "star"},
    ),
    "the same column elsewhere": (
        lambda catalog: catalog.drop_column("archive.orders", "total"), {"archive"},
    ),
    "a column that nobody uses": (
        lambda catalog: catalog.drop_column("public.customers", "name"), set(),
    ),
    "a column that is new": (
        lambda catalog: catalog.add_column("public.orders", "note", "text"), set(),
    ),
    "a type of another kind": (
        lambda catalog: catalog.retype("public.orders", "total", "text"), {"total", "star"},
    ),
    "a type of the same kind": (
        lambda catalog: catalog.retype("public.orders", "total", "bigint"), set(),
    ),
    "a table": (
        lambda catalog: catalog.drop("public.orders"), {"total", "star", "join", "cte", "rows"},
    ),
    "a table renamed": (
        lambda catalog: catalog.rename("public.customers", "public.clients"), {"join"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_invalidates_exactly_the_queries_that_use_it(readers, catalog, queries, change):
    happens, hit = CHANGES[change]
    happens(catalog)
    readers.run()
    assert invalid() == hit


def test_a_query_is_valid_again_when_its_table_returns(readers, catalog, queries):
    catalog.drop("public.orders")
    readers.run()
    catalog.add("public.orders", id="integer", total="numeric", customer_id="integer",
                placed_at="date", status="text")  # fmt: skip
    readers.run()
    assert invalid() == {"star"}  # Its time of day is gone.
    catalog.retype("public.orders", "placed_at", "timestamptz")
    readers.run()
    assert invalid() == set()


def test_a_star_learns_the_columns_of_a_table_that_returned(readers, catalog):
    star = services.cache_query(
        datasource_name="erp_db", question="stock", sql="SELECT * FROM stock"
    )
    assert star.status == "INVALID"
    catalog.add("public.stock", place="text")
    readers.run()
    assert invalid() == set()
    catalog.drop_column("public.stock", "place")
    readers.run()
    assert invalid() == {"stock"}


def test_who_asks_for_the_impact_learns_how_many_queries_use_a_table(queries):
    counted = impact.queries_on("erp_db", [("public", "orders"), ("archive", "orders")])
    assert counted == {("public", "orders"): 5, ("archive", "orders"): 1}


def test_a_query_that_writes_or_cannot_be_read_is_refused(catalog, alice_api):
    with pytest.raises(ValidationError):
        services.cache_query(datasource_name="erp_db", question="?", sql="DELETE FROM orders")
    wrong = {"datasource_name": "erp_db", "question": "?", "sql": "SELEC"}
    answer = alice_api.post("/api/v1/text2sql/queries/", wrong, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "#/sql")


def test_the_api_keeps_queries(alice_api, catalog):
    right = {"datasource_name": "erp_db", "question": "총 매출", "sql": QUERIES["total"]}
    made = alice_api.post("/api/v1/text2sql/queries/", right, format="json")
    assert (made.status_code, made.json()["status"]) == (201, "VALID")
    again = alice_api.post("/api/v1/text2sql/queries/", right, format="json")
    assert again.status_code == 400
    found = alice_api.get("/api/v1/text2sql/queries/", {"q": "매출", "status": "VALID"}).json()
    assert len(found["results"]) == 1
