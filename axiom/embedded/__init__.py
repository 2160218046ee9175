"""Real PostgreSQL and Valkey servers that live under one directory and need no installation."""

from pathlib import Path

from .errors import EmbeddedError
from .postgres import Postgres
from .state import Urls, read_urls, write_urls
from .valkey import Valkey

__all__ = ["EmbeddedError", "Postgres", "Urls", "Valkey", "read_urls", "servers", "start", "stop"]


def servers(directory: Path) -> tuple[Postgres, Valkey]:
    """The two servers of a data directory, running or not."""
    return Postgres(directory), Valkey(directory)


def start(directory: Path) -> Urls:
    """Start what does not run yet and say where to reach it."""
    directory.mkdir(parents=True, exist_ok=True)
    postgres, valkey = servers(directory)
    urls = Urls(database=postgres.start(), redis=valkey.start())
    write_urls(directory, urls)
    return urls


def stop(directory: Path) -> None:
    for server in reversed(servers(directory)):
        server.stop()
