"""The outbox in slices of a day: yesterday's week goes with one DROP and leaves no bloat.

Making or dropping a slice takes the outbox away from everybody for a moment. Whoever publishes
queues behind who waits for that, so it is done at once or not now: a report or a backup that reads
the outbox for an hour must not stop the house for an hour.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import structlog
from django.db import OperationalError, transaction
from django.db.backends.utils import CursorWrapper
from psycopg.errors import LockNotAvailable

log = structlog.get_logger(__name__)

_AT_ONCE = "SET LOCAL lock_timeout = '300ms'"
_AS_EVER = "SET LOCAL lock_timeout TO DEFAULT"

PREFIX = "event_outbox_"
DAYS_AHEAD = 14


class _InUse(Exception):
    """Somebody holds on to the outbox: try again another time."""


def ensure_partitions(cursor: CursorWrapper, today: date) -> list[str]:
    """Make the missing slices from today on; returns their names."""
    days = (today + timedelta(days=n) for n in range(DAYS_AHEAD + 1))
    return list(_until_in_use(_make(cursor, day) for day in days))


def drop_partitions(cursor: CursorWrapper, before: date) -> list[str]:
    """Drop slices older than this day in which nothing waits any more."""
    return list(_until_in_use(_drop(cursor, name) for name in _old_partitions(cursor, before)))


def _until_in_use(changed: Iterator[str]) -> Iterator[str]:
    """The slices that were changed; the next one would have to wait as well."""
    try:
        yield from filter(None, changed)
    except _InUse:
        log.warning("outbox in use, its slices wait")


def _make(cursor: CursorWrapper, day: date) -> str:
    name = f"{PREFIX}{day:%Y%m%d}"
    if _exists(cursor, name) or _default_holds(cursor, day):
        return ""
    # Half of each page stays free: the relay's two updates of a row then fit beside it.
    _at_once(
        cursor,
        f"CREATE TABLE {name} PARTITION OF event_outbox "
        f"FOR VALUES FROM ('{day}') TO ('{day + timedelta(days=1)}') WITH (fillfactor = 50)",
    )  # fmt: skip
    return name


def _at_once(cursor: CursorWrapper, *statements: str) -> None:
    """Do this without letting anybody wait for long, or raise _InUse."""
    try:
        with transaction.atomic():
            for statement in (_AT_ONCE, *statements, _AS_EVER):
                cursor.execute(statement)
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise _InUse from None


def _exists(cursor: CursorWrapper, name: str) -> bool:
    cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
    return bool(_one(cursor))


def _default_holds(cursor: CursorWrapper, day: date) -> bool:
    """A day whose events already went to the default slice stays there."""
    cursor.execute(
        f"SELECT EXISTS (SELECT FROM {PREFIX}default "
        "WHERE created_at >= %s AND created_at < %s::date + 1)", [day, day]
    )  # fmt: skip
    return bool(_one(cursor))


def _old_partitions(cursor: CursorWrapper, before: date) -> list[str]:
    cursor.execute(
        "SELECT inhrelid::regclass::text FROM pg_inherits "
        "WHERE inhparent = 'event_outbox'::regclass AND inhrelid::regclass::text < %s "
        "ORDER BY 1", [f"{PREFIX}{before:%Y%m%d}"],
    )  # fmt: skip
    return [name for (name,) in cursor.fetchall()]


def _drop(cursor: CursorWrapper, name: str) -> str:
    cursor.execute(f"SELECT EXISTS (SELECT FROM {name} WHERE status IN ('PENDING', 'PROCESSING'))")
    if _one(cursor):
        log.warning("old outbox slice still holds unsent events", partition=name)
        return ""
    # That took a while, and a letter may have been sent again meanwhile: those are found by index.
    _at_once(
        cursor, "LOCK TABLE ONLY event_outbox IN ACCESS EXCLUSIVE MODE",
        f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM {name} WHERE next_retry_at IS NOT NULL) "
        f"THEN DROP TABLE {name}; END IF; END $$",
    )  # fmt: skip
    return "" if _exists(cursor, name) else name


def _one(cursor: CursorWrapper) -> Any:
    row = cursor.fetchone()
    return row[0] if row else None
