"""Alerts on their way from and to the database: one statement each, however many there are."""

import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.db import connection

from apps.events.statements import preparing_cursor

from ..matches import Match
from .fold import FOLDS_FOR, Folded, Key, idempotency_key, idempotency_keys, key_of

LANES = 1024
_LOCKS = 0x57A7C4  # The class of our advisory locks; others number theirs otherwise.

# Sorted, so that workers wait for each other instead of deadlocking. Lanes and not keys: however
# large a batch is, it fits into the lock table.
_HOLD = "SELECT pg_advisory_xact_lock(%s, lane) FROM unnest(%s::int[]) AS lane"

# By the one index that finds a single row: what the planner believes of a table that has just
# filled would lead it through all alerts of a tenant. Not prepared, for the same reason.
_LOAD = """
SELECT a.id, a.tenant_id, a.event_type, a.aggregate_type, a.aggregate_id, a.case_id, a.severity,
       a.message, a.facts, a.event_id, a.caused_at, a.detected_at, a.last_seen_at, a.count,
       a.status, a.resolved_at, a.reopened, a.flapping_since,
       ARRAY(SELECT w.subscription_id FROM watch_alertwatcher w WHERE w.alert_id = a.id)
FROM unnest(%s::text[]) AS k(idempotency_key) JOIN watch_alert a USING (idempotency_key)
ORDER BY a.id FOR NO KEY UPDATE OF a
"""

_INSERT = """
INSERT INTO watch_alert (
    id, tenant_id, idempotency_key, event_type, aggregate_type, aggregate_id, case_id, severity,
    status, message, facts, event_id, caused_at, detected_at, last_seen_at, raised_at, count,
    reopened, root_cause, team_lead_id)
SELECT id, tenant_id, idempotency_key, event_type, aggregate_type, aggregate_id, case_id, severity,
       'unread', message, facts, event_id, caused_at, detected_at, last_seen_at, raised_at, count,
       0, '', team_lead_id
FROM jsonb_populate_recordset(NULL::watch_alert, %s)
"""

_UPDATE = """
UPDATE watch_alert a SET
    idempotency_key = r.idempotency_key, case_id = r.case_id, severity = r.severity,
    status = r.status, message = r.message, facts = r.facts, event_id = r.event_id,
    caused_at = r.caused_at, detected_at = r.detected_at, last_seen_at = r.last_seen_at,
    count = r.count, reopened = r.reopened, flapping_since = r.flapping_since,
    acknowledged_at = CASE WHEN r.status = 'unread' THEN NULL ELSE a.acknowledged_at END,
    acknowledged_by_id = CASE WHEN r.status = 'unread' THEN NULL ELSE a.acknowledged_by_id END,
    dismissed_at = CASE WHEN r.status = 'unread' THEN NULL ELSE a.dismissed_at END,
    resolved_at = CASE WHEN r.status = 'unread' THEN NULL ELSE a.resolved_at END,
    settled_by_id = CASE WHEN r.status = 'unread' THEN NULL ELSE a.settled_by_id END,
    false_positive = CASE WHEN r.status = 'unread' THEN NULL ELSE a.false_positive END
FROM jsonb_populate_recordset(NULL::watch_alert, %s) r WHERE a.id = r.id
"""

# Most of a storm only counts: nothing indexed changes, so the row stays where it is.
_COUNT = """
UPDATE watch_alert a SET count = r.count, last_seen_at = r.last_seen_at
FROM json_to_recordset(%s) AS r(id uuid, count int, last_seen_at timestamptz)
WHERE a.id = r.id
"""

_KEEP = """
INSERT INTO watch_alertevent (alert_id, event_id, subscription_id, occurred_at, facts)
SELECT alert_id, event_id, subscription_id, occurred_at, facts
FROM json_to_recordset(%s) AS r(
    alert_id uuid, event_id uuid, subscription_id uuid, occurred_at timestamptz, facts jsonb)
"""

_WATCH = """
INSERT INTO watch_alertwatcher (tenant_id, alert_id, subscription_id, muted, since)
SELECT tenant_id, alert_id, subscription_id, muted, since
FROM jsonb_populate_recordset(NULL::watch_alertwatcher, %s)
ON CONFLICT (alert_id, subscription_id) DO UPDATE SET muted = excluded.muted
"""


def hold(matches: Iterable[Match]) -> None:
    """Be the only one to fold matches of these aggregates until the transaction ends."""
    lanes = sorted({_lane(key) for key in {key_of(match) for match in matches}})
    with preparing_cursor() as cursor:
        cursor.execute(_HOLD, [_LOCKS, lanes])


def _lane(key: Key) -> int:
    # Not hash(): each process has a seed of its own for that.
    return zlib.crc32("\n".join(map(str, key)).encode()) % LANES


def load(matches: Iterable[Match]) -> list[Folded]:
    """The alerts that may take these matches, locked in the order of their ids."""
    keys = {
        found
        for match in matches
        for found in idempotency_keys(key_of(match), _days_of(match.occurred_at))
    }
    with connection.cursor() as cursor:
        cursor.execute(_LOAD, [sorted(keys)])
        return [_folded(*row) for row in cursor.fetchall()]


def _days_of(at: datetime) -> tuple[datetime, ...]:
    """An alert that takes a match began on one of these days."""
    return at - FOLDS_FOR, at, at + FOLDS_FOR


def _folded(*row: Any) -> Folded:
    alert = Folded(*row)
    alert.watchers = frozenset(alert.watchers)
    return alert


def save(alerts: Sequence[Folded], *, leads: dict[UUID, UUID | None], now: datetime) -> None:
    """Write the alerts that are new and those that changed."""
    new = [_row(a) | _beginning(a, leads, now) for a in alerts if a.is_new]
    changed = [_row(a) for a in alerts if a.is_changed and not a.is_new]
    counted = [
        {"id": a.id, "count": a.count, "last_seen_at": a.last_seen_at}
        for a in alerts if not (a.is_changed or a.is_new)
    ]  # fmt: skip
    _execute(_INSERT, new)
    _execute(_UPDATE, changed)
    _execute(_COUNT, counted)


def _row(alert: Folded) -> dict[str, Any]:
    key = idempotency_key(alert.tenant_id, alert.event_type, alert.aggregate_id, alert.detected_at)
    facts = orjson.Fragment(alert.facts) if isinstance(alert.facts, str) else alert.facts
    told = {name: getattr(alert, name) for name in _COLUMNS}
    return told | {"facts": facts, "idempotency_key": key}


_COLUMNS = (
    "id", "case_id", "severity", "status", "message", "facts", "event_id", "caused_at",
    "detected_at", "last_seen_at", "count", "reopened", "flapping_since",
)  # fmt: skip


def _beginning(alert: Folded, leads: dict[UUID, UUID | None], now: datetime) -> dict[str, Any]:
    return {
        "tenant_id": alert.tenant_id,
        "event_type": alert.event_type,
        "aggregate_type": alert.aggregate_type,
        "aggregate_id": alert.aggregate_id,
        "raised_at": now,
        "team_lead_id": leads.get(alert.case_id) if alert.case_id else None,
    }


def keep_events(alerts: Iterable[Folded]) -> None:
    """Remember which events made the alerts."""
    kept = [
        {"alert_id": alert.id, "event_id": m.event_id, "subscription_id": m.subscription_id,
         "occurred_at": m.occurred_at, "facts": m.facts}
        for alert in alerts
        for m in alert.kept
    ]  # fmt: skip
    _execute(_KEEP, kept)


def save_watchers(rows: list[dict[str, Any]]) -> None:
    """Who watches, and whether they were muted when they would have been told."""
    _execute(_WATCH, rows)


def _execute(statement: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        with preparing_cursor() as cursor:
            cursor.execute(statement, [_text(rows)])


def _text(rows: list[dict[str, Any]]) -> str:
    """All rows as one text: arrays would have every value of them escaped in Python."""
    return orjson.dumps(rows, default=_big, option=orjson.OPT_NON_STR_KEYS).decode()


def _big(value: Any) -> Any:
    """Numbers that are longer than 64 bits are written as they are."""
    return orjson.Fragment(str(value)) if isinstance(value, int) else str(value)
