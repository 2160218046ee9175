"""Servers of the benchmarks' own, as durable as in production."""

import os
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from axiom import embedded

ROOT = Path(__file__).resolve().parent.parent
DIRECTORY = Path(os.environ.get("AXIOM_BENCH_DIR", ROOT / ".axiom-bench"))
TEMPLATE = "axiom_bench"


def start() -> None:
    """Start the servers, make the tables anew, and point this process at them."""
    urls = embedded.start(DIRECTORY)
    os.environ |= {
        "AXIOM_DIR": str(DIRECTORY), "DATABASE_URL": database_url(TEMPLATE),
        "REDIS_URL": urls.redis, "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
        "LOG_LEVEL": "WARNING",
    }  # fmt: skip
    for setting in ("autovacuum = off", "max_wal_size = '8GB'", "checkpoint_timeout = '30min'"):
        as_superuser(f"ALTER SYSTEM SET {setting}")
    as_superuser("SELECT pg_reload_conf()")
    create_database(TEMPLATE, "template1")
    _migrate()


def stop() -> None:
    embedded.stop(DIRECTORY)


def _migrate() -> None:
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)
    connection.close()  # A template must have no visitors when it is copied.


def create_database(name: str, template: str = TEMPLATE) -> str:
    """Make a database anew, as a copy of another; returns its URL."""
    drop_database(name)
    as_superuser(_named("CREATE DATABASE {} TEMPLATE {} OWNER axiom", name, template))
    return database_url(name)


def drop_database(name: str) -> None:
    as_superuser(_named("DROP DATABASE IF EXISTS {} WITH (FORCE)", name))


def checkpoint() -> None:
    """Write everything out now, so that no checkpoint falls into the next measurement."""
    as_superuser("CHECKPOINT")


def database_url(name: str) -> str:
    return urlsplit(embedded.Postgres(DIRECTORY).url())._replace(path=f"/{name}").geturl()


def redis_url(number: int) -> str:
    return embedded.Valkey(DIRECTORY).url(number)


def as_superuser(statement: str | sql.Composed) -> None:
    url = embedded.Postgres(DIRECTORY).superuser_url()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)  # type: ignore[call-overload]


def _named(statement: str, *names: str) -> sql.Composed:
    return sql.SQL(statement).format(*map(sql.Identifier, names))
