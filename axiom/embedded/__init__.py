"""Real PostgreSQL and Valkey servers that live under one directory and need no installation."""

from pathlib import Path

from .errors import EmbeddedError
from .postgres import Postgres
from .server import Server
from .state import Urls, one_at_a_time
from .valkey import Valkey

__all__ = [
    "EmbeddedError",
    "Postgres",
    "Server",
    "Urls",
    "Valkey",
    "kept_by_hand",
    "read_urls",
    "servers",
    "start",
    "stop",
]


def servers(directory: Path) -> tuple[Postgres, Valkey]:
    """The two servers of a data directory, running or not."""
    return Postgres(directory), Valkey(directory)


def start(directory: Path) -> Urls:
    """Start what does not run yet and say where to reach it."""
    with one_at_a_time(directory):
        postgres, valkey = servers(directory)
        return Urls(database=postgres.start(), redis=valkey.start())


def stop(directory: Path) -> None:
    with one_at_a_time(directory):
        for server in reversed(servers(directory)):
            server.stop()


def read_urls(directory: Path) -> Urls:
    """Where the servers of this directory listen or last listened."""
    postgres, valkey = servers(directory)
    return Urls(database=postgres.remembered_url(), redis=valkey.remembered_url())


def kept_by_hand(directory: Path) -> Path:
    """The mark of `embedded start`: who only borrows the servers does not stop them."""
    return directory / "servers.kept"
