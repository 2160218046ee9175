"""How fast a large database is read into the catalog, for the first time and when little changed."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import psycopg
from django.db import connection
from django.test import Client

from apps.accounts.models import Membership, Tenant, User
from apps.events.context import acting
from apps.events.message import Message
from apps.events.models import OutboxEvent
from apps.metadata import introspection, services
from apps.metadata.introspection import Address
from apps.metadata.models import CatalogTable, DataSource, ExtractionRun
from apps.oracle import services as oracle
from apps.oracle.consumers import follow_the_catalog

from . import servers
from .figure import Figure, Size, quantile
from .stage import Stage, stage

TABLES, COLUMNS = 17_000, 8
AT_ONCE = 500
"""Tables in one transaction: each holds locks until its end."""
NAME = "large"
REQUESTS = 30
_PAGES = {
    "all sources": "browse/",
    "a table": "browse/?source=large&schema=erp&table={middle}",
    "a portion of tables": "branch/?source=large&schema=erp&after={middle}",
    "search, one table": "browse/?q={middle}",
    "search, everything": "browse/?q=t",
    "search, a Korean word": "browse/?q=청구 금액",
    "impact": "impact/?source=large&schema=erp&table={middle}",
}
_TRANSACTION = "SELECT pg_current_xact_id()::text::bigint"

_TABLE = """
CREATE TABLE erp.t{n} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, code varchar(20) NOT NULL,
    owner_id bigint{link}, amount numeric(12, 2) DEFAULT 0, kind smallint NOT NULL DEFAULT 1,
    happened_at timestamptz, is_open boolean NOT NULL DEFAULT true, day date);
CREATE INDEX t{n}_code ON erp.t{n} (code);
"""
# What any reader of the catalogs has to ask at the least, answers as they come.
_BARE = [
    (
        "SELECT c.oid, n.nspname, c.relname, c.relkind, c.reltuples FROM pg_class c"
        " JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'erp' AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
    ),
    (
        "SELECT a.attrelid, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,"
        " pg_get_expr(d.adbin, d.adrelid), t.description FROM pg_attribute a"
        " JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
        " LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum"
        " LEFT JOIN pg_description t ON t.objoid = a.attrelid AND t.objsubid = a.attnum"
        " WHERE n.nspname = 'erp' AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
        " AND a.attnum > 0 AND NOT a.attisdropped"
    ),
    (
        "SELECT k.conrelid, k.conname, k.contype, pg_get_constraintdef(k.oid) FROM pg_constraint k"
        " JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'erp' AND k.contype IN ('p', 'f')"
    ),
    (
        "SELECT i.indrelid, i.indisunique, pg_get_indexdef(i.indexrelid) FROM pg_index i"
        " JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'erp' AND NOT i.indisprimary"
    ),
]


def metadata_extract(size: Size) -> Iterator[Figure]:
    """17,000 tables with 136,000 columns: first, unchanged, and with one changed column."""
    count = size.of(TABLES, 50)
    with stage("here", 0) as place:
        source = _large(count)
        tenant = Tenant.objects.create(name="Bench", slug="bench")
        with acting(tenant_id=tenant.pk, actor="bench"):
            datasource = services.add_datasource(name=NAME, **source)
            connection.close()
            yield from _runs(place, datasource, count)
            yield _reading(datasource, size)
            yield from _pages(tenant, count, size.of(REQUESTS, 3))
    servers.drop_database(f"axiom_bench_{NAME}")


def _runs(place: Stage, datasource: DataSource, count: int) -> Iterator[Figure]:
    first, memory = _extract(place)
    assert CatalogTable.objects.count() == count
    yield _seconds("metadata_first_run", first, most=60)
    yield _at_most("metadata_first_run_memory", memory / 1024, "MiB", 1024)
    unchanged, _ = _extract(place)
    yield _seconds("metadata_unchanged_run", unchanged, most=10)
    oracle.reindex()
    _run("ALTER TABLE erp.t7 ALTER code TYPE varchar(40)")
    place.connection.execute("TRUNCATE event_outbox")
    changed, _ = _extract(place)
    written = place.count("metadata_tableversion WHERE until IS NOT NULL")
    told = place.count("event_outbox WHERE event_type = 'metadata.column.modified'")
    assert (written, told) == (1, 1)
    yield _seconds("metadata_one_change", changed, most=10)
    yield _seconds("metadata_one_change_indexed", _indexed(place), most=1)


def _indexed(place: Stage) -> float:
    """Seconds until the reader has that one column indexed again, and no other."""
    (before,) = place.connection.execute(_TRANSACTION).fetchone()  # type: ignore[misc]
    messages = [_message(row) for row in OutboxEvent.objects.order_by("seq")]
    seconds = _timed(lambda: follow_the_catalog(messages))
    assert place.count(f"oracle_indexentry WHERE xmin::text::bigint >= {before}") == 1
    assert oracle.reindex().differences == 0
    return seconds


def _message(row: OutboxEvent) -> Message:
    fields = {
        "event_id": str(row.event_id), "event_type": row.event_type,
        "tenant_id": str(row.tenant_id), "aggregate_type": row.aggregate_type,
        "aggregate_id": row.aggregate_id, "trace_id": "", "payload": row.payload,
    }  # fmt: skip
    return Message.of_fields(row.stream, "1-1", fields)


def _pages(tenant: Tenant, count: int, times: int) -> Iterator[Figure]:
    """Pages of the console with all of it behind them."""
    client = _console(tenant)
    for name, path in _PAGES.items():
        path = path.format(middle=f"t{count // 2}")
        _opened(client, path)  # The first of all finds no template compiled.
        spent = [1000 * _timed(partial(_opened, client, path)) for _ in range(times)]
        slow = quantile(spent, 0.95)
        yield Figure(
            "catalog_pages", slow, f"ms p95, {name}", "the bar", 300, slow / 300, "<= 300 ms",
            slow <= 300, quantile(spent, 0.5), quantile(spent, 0.99),
        )  # fmt: skip


def _console(tenant: Tenant) -> Client:
    user = User.objects.create_user("alice@bench.example", "correct horse", is_staff=True)
    Membership.objects.create(tenant=tenant, user=user, role="admin")
    client = Client()
    client.force_login(user)
    return client


def _opened(client: Client, path: str) -> None:
    answer = client.get(f"/admin/catalog/{path}")
    assert answer.status_code == 200, answer.content


def _extract(place: Stage) -> tuple[float, float]:
    """Seconds of the run and KiB of memory at most, in a process of its own."""
    command = [sys.executable, "manage.py", "extract_metadata", NAME]
    environment = os.environ | place.environment
    process = subprocess.Popen(
        command, cwd=servers.ROOT, env=environment, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    run = ExtractionRun.objects.latest("created_at")
    assert (run.state, process.returncode) == ("DONE", 0), run.error
    servers.checkpoint()
    return run.duration_ms / 1000, used.ru_maxrss


def _reading(datasource: DataSource, size: Size) -> Figure:
    """Reading the catalogs into facts, against asking them and dropping the answers."""
    address = Address.of(datasource)
    rounds = [
        (_timed(lambda: introspection.read(address)), _timed(_bare)) for _ in range(size.rounds(5))
    ]
    ours, theirs = median(o for o, _ in rounds), median(t for _, t in rounds)
    ratio = median(o / t for o, t in rounds)
    return Figure(
        "metadata_reading", ours, "s", "bare catalog queries", theirs, ratio, "ratio <= 3",
        ratio <= 3,
    )  # fmt: skip


def _timed(do: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    do()
    return time.perf_counter() - begin


def _bare() -> None:
    with psycopg.connect(_url()) as source:
        for query in _BARE:
            source.execute(query).fetchall()


def _large(count: int) -> dict[str, Any]:
    """A database with so many tables; returns where it is."""
    servers.create_database(f"axiom_bench_{NAME}", "template0")
    _run("CREATE SCHEMA erp")
    for start in range(0, count, AT_ONCE):
        _run("".join(map(_statements, range(start, min(start + AT_ONCE, count)))))
    _run("ANALYZE")
    parts = urlsplit(_url())
    return {
        "engine": "postgresql", "host": parts.hostname, "port": parts.port,
        "database": f"axiom_bench_{NAME}", "username": parts.username,
        "password": parts.password or "", "schemas": ["erp"],
    }  # fmt: skip


def _statements(number: int) -> str:
    link = f" REFERENCES erp.t{number - 1}" if number % 4 == 1 else ""
    return _TABLE.format(n=number, link=link)


def _run(statements: str) -> None:
    with psycopg.connect(_url(), autocommit=True) as source:
        source.execute(statements)


def _url() -> str:
    return servers.database_url(f"axiom_bench_{NAME}")


def _seconds(name: str, value: float, *, most: float) -> Figure:
    return _at_most(name, value, "s", most)


def _at_most(name: str, value: float, unit: str, most: float) -> Figure:
    bar = f"<= {most:g} {unit}"
    return Figure(name, value, unit, "the bar", most, value / most, bar, value <= most)
