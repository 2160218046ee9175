"""Starts the tests' own servers before Django reads its settings (a pytest plugin).

DATABASE_URL, REDIS_URL and AXIOM_DIR of your shell are left alone: tests empty what they use.
AXIOM_TEST_DIR, TEST_DATABASE_URL and TEST_REDIS_URL name another directory, or servers to spare.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from axiom import embedded

ROOT = Path(__file__).resolve().parent.parent
DIRECTORY = Path(os.environ.get("AXIOM_TEST_DIR", ROOT / ".axiom-test"))
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
# Rolled back with each test, rows leave their files behind: these are emptied at the end.
DOCUMENTS = DIRECTORY / "documents" / (WORKER or "main")
GIVEN = {"TEST_DATABASE_URL", "TEST_REDIS_URL"} <= os.environ.keys()

OURS = "AXIOM_TESTS_OWN_SERVERS"
"""Tells the workers of a run that the servers they find are its own."""

_leaving = contextlib.ExitStack()


def _start_servers() -> None:
    urls = embedded.start(DIRECTORY)
    _hurry(embedded.Postgres(DIRECTORY))
    os.environ.setdefault("TEST_DATABASE_URL", urls.database)
    os.environ.setdefault("TEST_REDIS_URL", urls.redis)
    if os.environ["TEST_DATABASE_URL"] == urls.database:
        os.environ[OURS] = "1"


def _hurry(postgres: embedded.Postgres) -> None:
    """Tests kill processes, never the machine: the system's memory is durable enough for them."""
    with psycopg.connect(postgres.superuser_url(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")


def _point_django_at_them() -> None:
    """A Redis database per worker; pytest-django gives each its own PostgreSQL database."""
    os.environ["AXIOM_DIR"] = str(DIRECTORY)
    os.environ["DOCUMENTS_DIR"] = str(DOCUMENTS)
    os.environ["DATABASE_URL"] = os.environ["TEST_DATABASE_URL"]
    number = int(WORKER.removeprefix("gw") or 0)
    redis = urlsplit(os.environ["TEST_REDIS_URL"])._replace(path=f"/{number}")
    os.environ["REDIS_URL"] = redis.geturl()


@contextlib.contextmanager
def _in_use() -> Iterator[None]:
    """The last test run to leave stops the servers, unless `embedded start` keeps them."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with (DIRECTORY / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not embedded.kept_by_hand(DIRECTORY).exists():
                embedded.stop(DIRECTORY)


# The first process starts the servers; the workers it starts find them in the environment.
if not GIVEN:
    _leaving.enter_context(_in_use())
    _start_servers()
_point_django_at_them()

# Tests call faster than any person; those about throttling set rates of their own.
for _scope in ("ANON", "USER", "LOGIN"):
    os.environ.setdefault(f"THROTTLE_{_scope}", "1000000/min")


def pytest_unconfigure() -> None:
    shutil.rmtree(DOCUMENTS, ignore_errors=True)
    _leaving.close()
