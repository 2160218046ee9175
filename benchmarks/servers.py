"""Servers of the benchmarks' own, as durable as in production."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import django
import psycopg
from psycopg import sql

from axiom import embedded
from axiom.startup import settle_garbage

ROOT = Path(__file__).resolve().parent.parent
DIRECTORY = Path(os.environ.get("AXIOM_BENCH_DIR", ROOT / ".axiom-bench"))
TEMPLATE, HERE = "axiom_bench", "axiom_bench_here"
"""What every database is a copy of, and the one that this process itself works with."""


def start() -> None:
    """Start the servers, make the tables anew, and point this process at them."""
    urls = embedded.start(DIRECTORY)
    _calm()
    os.environ |= {
        "AXIOM_DIR": str(DIRECTORY), "DATABASE_URL": database_url(HERE), "REDIS_URL": urls.redis,
        "DJANGO_SETTINGS_MODULE": "benchmarks.settings", "LOG_LEVEL": "WARNING",
    }  # fmt: skip
    create_database(TEMPLATE, "template1")
    _migrate(TEMPLATE)
    create_database(HERE)
    django.setup()
    # As `runworker` does: what is measured in this process is a worker's work.
    settle_garbage()


def stop() -> None:
    embedded.stop(DIRECTORY)


def _calm() -> None:
    """Nothing that PostgreSQL does by the clock may fall into a measurement."""
    for setting in ("autovacuum = off", "max_wal_size = '8GB'", "checkpoint_timeout = '30min'"):
        as_superuser(f"ALTER SYSTEM SET {setting}")
    as_superuser("SELECT pg_reload_conf()")


def _migrate(database: str) -> None:
    """In a process of its own: a template must have no visitors when it is copied."""
    command = [sys.executable, "manage.py", "migrate", "--run-syncdb", "--verbosity", "0"]
    environment = os.environ | {"DATABASE_URL": database_url(database)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


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
