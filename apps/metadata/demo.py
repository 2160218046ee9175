"""A small database of each of the demo's companies, read into the catalog and explained."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings

from apps.accounts import selectors as accounts
from apps.events.context import acting
from apps.metadata import services
from apps.metadata.introspection import Address
from apps.metadata.models import CatalogColumn, CatalogTable, DataSource, Engine

NAME = "demo_erp"
SCHEMA = """
CREATE TABLE customers (
    id INTEGER PRIMARY KEY, name VARCHAR(100) NOT NULL, region VARCHAR(20), since DATE NOT NULL);
CREATE TABLE products (
    id INTEGER PRIMARY KEY, name VARCHAR(100) NOT NULL, price NUMERIC(12, 2) NOT NULL);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id),
    ordered_at TIMESTAMP NOT NULL, status VARCHAR(10) NOT NULL DEFAULT 'open',
    total NUMERIC(12, 2));
CREATE TABLE order_lines (
    order_id INTEGER NOT NULL REFERENCES orders (id), line INTEGER NOT NULL,
    product_id INTEGER NOT NULL REFERENCES products (id), quantity INTEGER NOT NULL,
    PRIMARY KEY (order_id, line));
CREATE TABLE import_log (at TIMESTAMP, message TEXT);
CREATE INDEX orders_by_customer ON orders (customer_id, ordered_at);
CREATE VIEW monthly_sales AS
    SELECT strftime('%Y-%m', ordered_at) AS month, sum(total) AS sales FROM orders GROUP BY 1;
"""
# What changed since: wider, breaking, new and gone.
EVOLUTION = """
DROP VIEW monthly_sales;
DROP INDEX orders_by_customer;
ALTER TABLE customers ADD COLUMN email VARCHAR(200);
ALTER TABLE products DROP COLUMN price;
ALTER TABLE products ADD COLUMN unit_price NUMERIC(14, 2) NOT NULL DEFAULT 0;
DROP TABLE import_log;
CREATE TABLE payments (
    id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id),
    paid_at TIMESTAMP NOT NULL, amount NUMERIC(12, 2) NOT NULL);
CREATE INDEX orders_by_customer ON orders (customer_id);
CREATE VIEW monthly_sales AS
    SELECT strftime('%Y-%m', paid_at) AS month, sum(amount) AS sales FROM payments GROUP BY 1;
"""


class Story(NamedTuple):
    """What a company says about its database."""

    title: str
    tables: dict[str, str]
    columns: dict[tuple[str, str], str]
    terms: list[tuple[str, str, list[str], list[str]]]
    label: str


KOREAN = Story(
    "한빛 ERP",
    {
        "customers": "거래처. 회생 절차에서는 채권자와 대조한다.",
        "orders": "주문. 취소된 주문은 status가 void이다.",
        "order_lines": "주문 품목. 한 주문에 여러 줄이 있다.",
        "payments": "입금 내역. 매출은 이 표에서 집계한다.",
        "monthly_sales": "월별 매출.",
    },
    {
        ("customers", "since"): "거래를 시작한 날",
        ("orders", "total"): "부가세를 포함한 주문 금액",
        ("payments", "amount"): "입금액",
    },
    [
        ("매출", "상품과 서비스 판매로 발생한 수익 총액", ["수익", "매출액", "revenue"],
         ["main.payments.amount", "main.monthly_sales.sales"]),
        ("거래처", "상품을 사는 회사나 사람", ["고객", "customer"], ["main.customers.name"]),
    ],
    "분기 마감",
)  # fmt: skip
ENGLISH = Story(
    "Harbor ERP",
    {
        "customers": "Who buys from us; creditors are matched against it.",
        "orders": "Orders. A cancelled one has the status void.",
        "order_lines": "What was ordered, line by line.",
        "payments": "Money that came in; sales are counted here.",
        "monthly_sales": "Sales by month.",
    },
    {
        ("customers", "since"): "The day they first bought something",
        ("orders", "total"): "With VAT",
        ("payments", "amount"): "What was paid",
    },
    [
        ("sales", "All that was earned by selling goods and services.", ["revenue", "turnover"],
         ["main.payments.amount", "main.monthly_sales.sales"]),
        ("customer", "A company or a person that buys from us.", ["buyer"],
         ["main.customers.name"]),
    ],
    "End of the quarter",
)  # fmt: skip
COMPANIES = {"hanbit": KOREAN, "harbor": ENGLISH}


def load() -> None:
    """A company that has data sources already keeps what it has."""
    for tenant in accounts.active_tenants().filter(slug__in=COMPANIES):
        with acting(tenant_id=tenant.pk, actor="demo"):
            if not DataSource.objects.exists():
                # Several installations may keep their files in one place, as tests do.
                _tell(COMPANIES[tenant.slug], f"demo_erp_{tenant.pk}.sqlite")


def clear() -> None:
    """The rows go with their tenants; these are the files."""
    for datasource in DataSource.across_tenants.filter(
        tenant__slug__in=COMPANIES, name=NAME, engine=Engine.SQLITE
    ):
        Address(Engine.SQLITE, datasource.database).file.unlink(missing_ok=True)


def _tell(story: Story, file: str) -> None:
    path = Path(settings.METADATA_FILES_DIR) / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    _run(path, SCHEMA)
    datasource = services.add_datasource(
        name=NAME, title=story.title, engine="sqlite", database=file, every_minutes=60
    )
    _read(datasource)
    services.create_snapshot(datasource=datasource, label=story.label)
    _run(path, EVOLUTION)
    _read(datasource)
    _explain(datasource, story)


def _run(path: Path, statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(statements)


def _read(datasource: DataSource) -> None:
    run = services.request_extraction(datasource=datasource, here=True)
    services.run_extraction(run.pk)
    datasource.refresh_from_db()


def _explain(datasource: DataSource, story: Story) -> None:
    tables: dict[str, Any] = {
        table.name: table for table in CatalogTable.objects.filter(datasource=datasource)
    }
    for name, description in story.tables.items():
        services.describe(target=tables[name], description=description)
    for (name, column), description in story.columns.items():
        target = CatalogColumn.objects.get(table=tables[name], name=column)
        services.describe(target=target, description=description)
    services.tag(target=tables["customers"], name="personal_data")
    services.tag(target=tables["order_lines"], name="text_to_sql_is_valid", value=False)
    for term, definition, synonyms, columns in story.terms:
        services.define_term(
            datasource=datasource, term=term, definition=definition, synonyms=synonyms,
            related_columns=columns,
        )  # fmt: skip
