"""Starts the tests' own servers before Django reads its settings (a pytest plugin)."""

import fcntl
import os
from pathlib import Path

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
        return embedded.start(directory)


if "DATABASE_URL" not in os.environ or "REDIS_URL" not in os.environ:
    urls = _start_servers()
    os.environ.setdefault("DATABASE_URL", urls.database)
    # A Redis database per worker; pytest-django gives each its own PostgreSQL database.
    os.environ.setdefault("REDIS_URL", urls.redis.removesuffix("/0") + f"/{_worker_number()}")
