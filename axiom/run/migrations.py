"""Whether there can be anything to migrate: asking Django takes as long as starting a process."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import psycopg

from axiom.embedded.state import write_private
from axiom.startup import BASE_DIR


def settled(directory: Path, database_url: str) -> bool:
    """True when code and database are as they were after the last migration."""
    path = _path(directory)
    return path.exists() and path.read_text() == _state(database_url)


def remember(directory: Path, database_url: str) -> None:
    """Note how code and database are now, right after a migration."""
    write_private(_path(directory), _state(database_url))


def _path(directory: Path) -> Path:
    return directory / "run" / "migrated"


def _state(database_url: str) -> str:
    return f"{_code()} {_database(database_url)}"


def _code() -> str:
    """A number for all code and requirements; whatever changes, Django is asked."""
    told = "".join(f"{path}{path.stat().st_mtime_ns}{path.stat().st_size}" for path in _files())
    return hashlib.sha256(told.encode()).hexdigest()


def _files() -> Iterator[Path]:
    yield from sorted(BASE_DIR.glob("requirements*.txt"))
    for package in ("apps", "axiom"):
        yield from sorted((BASE_DIR / package).rglob("*.py"))


def _database(url: str) -> str:
    """Which migrations this database has had, and when; another database had them at other times."""
    try:
        with psycopg.connect(url) as connection:
            row = connection.execute("SELECT count(*), max(applied) FROM django_migrations")
            return str(row.fetchone())
    except psycopg.errors.UndefinedTable:
        return "none"
