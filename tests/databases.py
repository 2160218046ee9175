"""A database for each test worker, copied from one that was migrated once.

Migrating takes seconds of a core, copying a moment. The migrated one is kept beside the servers'
data until a migration, or a package that brings some, changes.
"""

import contextlib
import fcntl
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.management import create_permissions
from django.contrib.contenttypes.management import create_contenttypes
from django.core.management import call_command
from django.db import connection
from django.db.models.signals import post_migrate

from tests.environment import DIRECTORY, ROOT

_TEMPLATE = "axiom_template_"
_BUILDING = "axiom_template"


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: Any, django_db_modify_db_settings: Any, django_db_blocker: Any
) -> Iterator[None]:
    """Takes the place of pytest-django's, which migrates for every worker anew."""
    with django_db_blocker.unblock():
        mine = connection.creation._get_test_db_name()  # type: ignore[attr-defined]
        with _alone():
            _copy(_migrated(), mine)
        _use(mine)
        _empty_only_what_is_filled()
    yield
    with django_db_blocker.unblock():
        connection.close()
        _run(f'DROP DATABASE IF EXISTS "{mine}" WITH (FORCE)')


# Made with the template, the same for every test.
_KEPT = {"django_content_type", "auth_permission", "django_migrations"}


def _empty_only_what_is_filled() -> None:
    """After a test with transactions of its own: of some hundred tables it filled a few.

    Django truncates all of them and then makes content types and permissions anew, which takes
    longer than most tests.
    """
    # Of the class: beside the browser's event loop another connection is the one that empties them.
    operations: Any = type(connection.ops)
    empty = operations.sql_flush

    def sql_flush(ops: Any, style: Any, tables: Any, **options: Any) -> list[str]:
        # What refers to a filled table without being filled goes along.
        return empty(ops, style, _filled(set(tables) - _KEPT), **options | {"allow_cascade": True})

    operations.sql_flush = sql_flush
    post_migrate.disconnect(create_permissions, dispatch_uid=_PERMISSIONS)
    post_migrate.disconnect(create_contenttypes)


_PERMISSIONS = "django.contrib.auth.management.create_permissions"


def _filled(tables: set[str]) -> list[str]:
    looks = " UNION ALL ".join(
        f"SELECT '{table}' WHERE EXISTS (SELECT FROM \"{table}\")" for table in sorted(tables)
    )
    with connection.cursor() as cursor:
        cursor.execute(looks)
        return [table for (table,) in cursor.fetchall()]


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """A database that somebody is connected to cannot be copied: one worker at a time."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with (DIRECTORY / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _migrated() -> str:
    """The database that has every migration; made if there is none of today's."""
    wanted = _TEMPLATE + _fingerprint()
    there = _templates()
    if wanted not in there:
        for old in {*there, _BUILDING}:
            _run(f'DROP DATABASE IF EXISTS "{old}" WITH (FORCE)')
        _build(wanted)
    return wanted


def _build(wanted: str) -> None:
    """Renamed when it is whole: one that was left half done is never copied."""
    _run(f'CREATE DATABASE "{_BUILDING}"')
    _use(_BUILDING)
    call_command("migrate", run_syncdb=True, interactive=False, verbosity=0)
    with connection.cursor() as cursor:
        # Tests begin anew by TRUNCATE, which the history of alerts refuses everywhere else.
        cursor.execute("ALTER TABLE watch_alerthistory DISABLE TRIGGER stays_whole")
    connection.close()
    _run(f'ALTER DATABASE "{_BUILDING}" RENAME TO "{wanted}"')


def _copy(template: str, name: str) -> None:
    connection.close()
    _run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    _run(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')


def _use(name: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = name


def _templates() -> set[str]:
    with _elsewhere() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", [_TEMPLATE + "%"])
        return {name for (name,) in cursor.fetchall()}


def _run(statement: str) -> None:
    with _elsewhere() as cursor:
        cursor.execute(statement)


def _elsewhere() -> Any:
    """A cursor on no database of ours."""
    return connection._nodb_cursor()  # type: ignore[attr-defined]


def _fingerprint() -> str:
    """Changes with every file that a migrated database is made from."""
    digest = hashlib.sha256()
    for path in [Path(__file__), ROOT / "requirements.txt", *sorted(_sources())]:
        digest.update(path.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _sources() -> Iterator[Path]:
    yield from ROOT.glob("apps/*/migrations/*.py")
    yield from ROOT.glob("axiom/migrations/*.py")
    # Apps without migrations, of the tests alone, are made from their models; permissions and
    # content types from all models.
    yield from ROOT.glob("tests/**/models.py")
    yield from ROOT.glob("apps/*/models.py")
    yield from ROOT.glob("apps/*/models/*.py")
