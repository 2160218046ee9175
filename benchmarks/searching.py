"""The index of a large catalog: made, compared, changed in one place, and searched."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Tenant
from apps.events.context import acting
from apps.metadata import selectors as metadata
from apps.metadata.models import DataSource
from apps.oracle import selectors, services

from .figure import Figure, Size, quantile
from .stage import stage

TABLES, COLUMNS, QUESTIONS = 17_000, 8, 30
_NOUNS = [
    "order",
    "customer",
    "invoice",
    "payment",
    "shipment",
    "product",
    "contract",
    "claim",
    "deadline",
    "account",
]
_FACTS = ["id", "name", "status", "amount", "created_at", "region", "금액", "상태"]
_ASKED = ["customer order status", "청구 금액", "paymnt regoin", "invoice created", "contract 상태"]
_FILL_TABLES = """
INSERT INTO metadata_catalogtable
    (id, tenant_id, datasource_id, schema, name, kind, comment, description, description_source,
     tags, columns_count, partitions_count, primary_key, foreign_keys, indexes, definition,
     fingerprint)
SELECT gen_random_uuid(), %(tenant)s, %(source)s, 'app_' || n %% 20,
       (%(nouns)s::text[])[n %% 10 + 1] || '_' || (%(nouns)s::text[])[n / 10 %% 10 + 1] || '_' || n,
       'BASE TABLE', '', 'Holds what is known of number ' || n, '', '{}', %(columns)s, 0, '{}',
       '[]', '[]', '', ''
FROM generate_series(1, %(tables)s) AS n
"""
_FILL_COLUMNS = """
INSERT INTO metadata_catalogcolumn
    (id, tenant_id, table_id, name, position, dtype, nullable, comment, description,
     description_source, tags)
SELECT gen_random_uuid(), tenant_id, id, (%(facts)s::text[])[at] , at, 'text', true, '', '', '', '{}'
FROM metadata_catalogtable, generate_series(1, %(columns)s) AS at
"""


def catalog_index(size: Size) -> Iterator[Figure]:
    """17,000 tables with 136,000 columns: made, compared, and one column changed."""
    with stage("here", 0), _large_catalog(size) as count:
        reading = _seconds(lambda: len(metadata.known_tables("erp")) * (COLUMNS + 1) == count)
        first = _seconds(lambda: services.reindex().added == count)
        again = _seconds(lambda: services.reindex().differences == 0)
        one = _seconds(_change_one_column)
    read = "reading the catalog alone"
    yield _figure("catalog_index", first, "s, first", read, reading, 20)
    yield _figure("catalog_index", again, "s, nothing changed", read, reading, 3)
    yield _figure("catalog_index", one, "s, one column changed", "comparing all", again, 0.05)


def catalog_search(size: Size) -> Iterator[Figure]:
    """95 of 100 questions to that index, against their statement alone."""
    with stage("here", 0), _large_catalog(size):
        services.reindex()
        pairs = [_asked(_ASKED[n % len(_ASKED)]) for n in range(size.of(QUESTIONS, 10))]
    ours, bare = ([pair[side] * 1000 for pair in pairs] for side in (0, 1))
    figure = _figure(
        "catalog_search", quantile(ours, 0.95), "ms p95", "its statement alone",
        quantile(bare, 0.95), 3,
    )  # fmt: skip
    yield replace(figure, p50_ms=quantile(ours, 0.5), p99_ms=quantile(ours, 0.99))


@contextlib.contextmanager
def _large_catalog(size: Size) -> Iterator[int]:
    tenant = Tenant.objects.create(name="Bench", slug="bench")
    with acting(tenant_id=tenant.pk):
        yield _fill(size.of(TABLES, 50))


def _fill(tables: int) -> int:
    source = DataSource.objects.create(name="erp", engine="postgresql")
    given: dict[str, Any] = {
        "tenant": source.tenant_id, "source": source.pk, "tables": tables, "columns": COLUMNS,
        "nouns": _NOUNS, "facts": _FACTS,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_FILL_TABLES, given)
        cursor.execute(_FILL_COLUMNS, given)
        cursor.execute("ANALYZE")
    return tables * (COLUMNS + 1)


def _seconds(work: Callable[[], bool]) -> float:
    begin = time.perf_counter()
    assert work()
    return time.perf_counter() - begin


def _figure(
    bench: str, value: float, unit: str, against: str, against_value: float, most: float
) -> Figure:
    ratio = value / against_value
    return Figure(
        bench=bench, value=value, unit=unit, against=against, against_value=against_value,
        ratio=ratio, bar=f"ratio <= {most}", met=ratio <= most,
    )  # fmt: skip


def _change_one_column() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE metadata_catalogcolumn SET dtype = 'integer' WHERE id = "
            "(SELECT id FROM metadata_catalogcolumn LIMIT 1) "
            "RETURNING (SELECT (schema, name)::text FROM metadata_catalogtable WHERE id = table_id)"
        )
        (where,) = cursor.fetchone()
    schema, name = where.strip("()").split(",")
    return services.index_tables("erp", {(schema, name)}).differences == 1


def _asked(question: str) -> tuple[float, float]:
    with CaptureQueriesContext(connection) as captured:
        assert selectors.search(question, datasource_name="erp")
    statement = captured[-1]["sql"]
    ours = _seconds(lambda: bool(selectors.search(question, datasource_name="erp")))
    return ours, _seconds(lambda: bool(_run(statement)))


def _run(statement: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())
