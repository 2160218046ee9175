"""Starts the tests' own servers before Django reads its settings (a pytest plugin)."""

import fcntl
import os
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from axiom import embedded

ROOT = Path(__file__).resolve().parent.parent


def _worker_number() -> int:
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


def _start_servers() -> embedded.Urls:
    """Workers start at the same moment: the first one starts the servers, the others wait."""
    directory = Path(os.environ.get("AXIOM_DIR", ROOT / ".axiom-test"))
    directory.mkdir(parents=True, exist_ok=True)
    os.environ["AXIOM_DIR"] = str(directory)
    with (directory / "start.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        urls = embedded.start(directory)
        _hurry(embedded.Postgres(directory))
        return urls


def _hurry(postgres: embedded.Postgres) -> None:
    """Tests kill processes, never the machine: the system's memory is durable enough for them."""
    with psycopg.connect(postgres.superuser_url(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")


def _own_redis_database(url: str) -> str:
    """A Redis database per worker; pytest-django gives each its own PostgreSQL database."""
    return urlsplit(url)._replace(path=f"/{_worker_number()}").geturl()


# Workers inherit what the first process found out, so each goes by the original.
if "AXIOM_TEST_REDIS_URL" not in os.environ:
    if "DATABASE_URL" not in os.environ or "REDIS_URL" not in os.environ:
        urls = _start_servers()
        os.environ.setdefault("DATABASE_URL", urls.database)
        os.environ.setdefault("REDIS_URL", urls.redis)
    os.environ["AXIOM_TEST_REDIS_URL"] = os.environ["REDIS_URL"]
os.environ["REDIS_URL"] = _own_redis_database(os.environ["AXIOM_TEST_REDIS_URL"])

# Tests call faster than any person; those about throttling set rates of their own.
for _scope in ("ANON", "USER", "LOGIN"):
    os.environ.setdefault(f"THROTTLE_{_scope}", "1000000/min")
