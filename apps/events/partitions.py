"""The outbox in slices of a day: yesterday's week goes with one DROP and leaves no bloat."""

from datetime import date, timedelta
from typing import Any

import structlog
from django.db.backends.utils import CursorWrapper

log = structlog.get_logger(__name__)

PREFIX = "event_outbox_"
DAYS_AHEAD = 14


def ensure_partitions(cursor: CursorWrapper, today: date) -> list[str]:
    """Make the missing slices from today on; returns their names."""
    days = (today + timedelta(days=n) for n in range(DAYS_AHEAD + 1))
    return [made for day in days if (made := _make(cursor, day))]


def drop_partitions(cursor: CursorWrapper, before: date) -> list[str]:
    """Drop slices older than this day in which nothing waits any more."""
    return [name for name in _old_partitions(cursor, before) if _drop(cursor, name)]


def _make(cursor: CursorWrapper, day: date) -> str:
    name = f"{PREFIX}{day:%Y%m%d}"
    if _exists(cursor, name) or _default_holds(cursor, day):
        return ""
    # Half of each page stays free: the relay's two updates of a row then fit beside it.
    cursor.execute(
        f"CREATE TABLE {name} PARTITION OF event_outbox "
        f"FOR VALUES FROM ('{day}') TO ('{day + timedelta(days=1)}') WITH (fillfactor = 50)"
    )
    return name


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


def _drop(cursor: CursorWrapper, name: str) -> bool:
    cursor.execute(f"SELECT EXISTS (SELECT FROM {name} WHERE status IN ('PENDING', 'PROCESSING'))")
    if _one(cursor):
        log.warning("old outbox slice still holds unsent events", partition=name)
        return False
    cursor.execute(f"DROP TABLE {name}")
    return True


def _one(cursor: CursorWrapper) -> Any:
    row = cursor.fetchone()
    return row[0] if row else None
