"""Which columns a query uses, in every way of writing it that people use."""

from dataclasses import dataclass

import pytest

from apps.oracle.errors import QueryRefused
from apps.oracle.sql import uses_of
from axiom.references import dotted


@dataclass(frozen=True)
class Column:
    name: str
    dtype: str = "text"


@dataclass(frozen=True)
class Table:
    schema: str
    name: str
    columns: tuple


def table(schema, name, *columns):
    return Table(schema, name, tuple(Column(each) for each in columns))


CATALOG = [
    table("public", "orders", "id", "total", "customer_id", "placed_at"),
    table("public", "customers", "id", "name", "매출등급"),
    table("public", "Order Items", "Qty", "order_id"),
    table("archive", "orders", "id", "region"),
]


def used(sql, engine="postgresql", catalog=CATALOG):
    def look_up(only):
        return [t for t in catalog if only is None or (t.schema, t.name) in only]

    default = "main" if engine == "sqlite" else "public"
    found = uses_of(sql, engine=engine, default_schema=default, look_up=look_up)
    return {dotted(use) for use in found if use.column}


O, C, I, A = "public.orders.", "public.customers.", "public.Order Items.", "archive.orders."


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT total FROM orders", {O + "total"}),
        ("SELECT * FROM orders", {O + "id", O + "total", O + "customer_id", O + "placed_at"}),
        ("SELECT count(*) FROM orders", set()),
        ("SELECT id FROM archive.orders", {A + "id"}),
        ("SELECT ORDERS.Total FROM Orders", {O + "total"}),
        ('SELECT "Qty" FROM "Order Items"', {I + "Qty"}),
        ("SELECT i.\"Qty\" FROM \"Order Items\" AS i", {I + "Qty"}),
        ("SELECT o.total AS t FROM orders o ORDER BY t", {O + "total"}),
        (
            "SELECT o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id",
            {O + "total", O + "customer_id", C + "name", C + "id"},
        ),
        (
            "SELECT total, name FROM orders JOIN customers ON customer_id = customers.id",
            {O + "total", O + "customer_id", C + "name", C + "id"},
        ),
        ("SELECT c.*, o.id FROM orders o, customers c", {O + "id", C + "id", C + "name", C + "매출등급"}),
        ("SELECT 매출등급 FROM customers", {C + "매출등급"}),
        ("WITH t AS (SELECT id, total FROM orders) SELECT total FROM t", {O + "id", O + "total"}),
        (
            "WITH orders AS (SELECT id FROM archive.orders) SELECT id FROM orders",
            {A + "id"},
        ),
        ("SELECT s.x FROM (SELECT total AS x FROM orders) s", {O + "total"}),
        (
            "SELECT id FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE total > 1)",
            {C + "id", O + "customer_id", O + "total"},
        ),
        (
            "SELECT (SELECT max(name) FROM customers c WHERE c.id = o.customer_id) FROM orders o",
            {C + "name", C + "id", O + "customer_id"},
        ),
        ("SELECT id FROM orders UNION ALL SELECT id FROM archive.orders", {O + "id", A + "id"}),
        (
            "SELECT sum(total) OVER (PARTITION BY customer_id ORDER BY placed_at) FROM orders",
            {O + "total", O + "customer_id", O + "placed_at"},
        ),
        ("SELECT customer_id, sum(total) FROM orders GROUP BY 1 HAVING max(id) > 3",
         {O + "customer_id", O + "total", O + "id"}),
        (
            "WITH RECURSIVE r AS (SELECT id FROM orders UNION ALL SELECT r.id FROM r) SELECT * FROM r",
            {O + "id"},
        ),
        (
            ("SELECT l.name FROM orders o, LATERAL (SELECT name FROM customers c "
            "WHERE c.id = o.customer_id) l"),
            {C + "name", C + "id", O + "customer_id"},
        ),
        ("SELECT o FROM orders o", {O + "id", O + "total", O + "customer_id", O + "placed_at"}),
        ("SELECT n FROM generate_series(1, 3) AS n", set()),
        ("SELECT price FROM orders", {O + "price"}),
        ("SELECT price FROM gone", {"public.gone.price"}),
        ("SELECT total, price FROM orders, gone", {O + "total", "public.gone.price"}),
        ("SELECT * FROM gone", set()),
    ],
)  # fmt: skip
def test_exactly_the_columns_that_it_uses(sql, columns):
    assert used(sql) == columns


def test_a_table_is_used_even_if_no_column_is():
    found = uses_of(
        "SELECT count(*) FROM orders", engine="postgresql", default_schema="public",
        look_up=lambda only: CATALOG,
    )  # fmt: skip
    assert {dotted(use) for use in found} == {"public.orders"}


@pytest.mark.parametrize("engine", ["sqlite", "mysql"])
def test_where_case_is_ignored_the_catalogs_names_are_found(engine):
    catalog = [
        table("main", "Track", "TrackId", "Name"),
        table("public", "Track", "TrackId", "Name"),
    ]
    (use,) = used("SELECT NAME FROM track", engine, catalog)
    assert use.endswith(".Track.Name")


def test_backticks_are_quotes_in_mysql():
    assert used("SELECT `o`.`total` FROM `orders` AS `o`", "mysql") == {O + "total"}


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELEC 1",
        "DROP TABLE orders",
        "DELETE FROM orders",
        "SELECT 1; SELECT 2",
        "WITH gone AS (DELETE FROM orders RETURNING id) SELECT id FROM gone",
        "SELECT id INTO copy FROM orders",
        "SELECT nowhere FROM orders, customers",
        "SELECT 1 " + "-" * 60_000,
        "SELECT " + "a" * 201 + " FROM orders",
        "SELECT " + "(" * 3_000 + "1" + ")" * 3_000,
    ],
)
def test_what_is_not_one_readable_select_is_refused(sql):
    with pytest.raises(QueryRefused):
        used(sql)
