"""The clockwork: publishes what no user action does, once for each thing and mark.

A mark is a unique row that is written in the publishing transaction. It keeps the date it was
said for: with another date it is said again. Days are the days of the tenant's time zone. What a
clockwork that stood still did not say is caught up as docs/adr/0031 decides.
"""

import zoneinfo
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import groupby
from typing import Any

import structlog
from django.conf import settings
from django.db import connection, transaction

from apps.accounts import selectors as accounts
from apps.cases.events import (
    ApprovalDeadlineMissed,
    CashLow,
    DeadlineApproaching,
    IssueRatioHigh,
    PaymentDue,
    ReviewScheduled,
)
from apps.events.catalog import Event
from apps.events.failpoints import reach
from apps.events.outbox import publish_many

log = structlog.get_logger(__name__)

# What is overdue for longer was imported or forgotten, not missed by us.
CATCH_UP = timedelta(days=30)
BATCH = 500

Row = dict[str, Any]


@dataclass(frozen=True)
class Scan:
    """What to look for (columns id, tenant_id, mark, due_at and facts), and what to say of it."""

    event: type[Event]
    candidates: str
    told: Callable[[Row], Event]
    # Levels change at any time: the rows that have them are held while they are judged.
    held: str = ""
    crossed_back: str = ""


_DEADLINES = """
SELECT d.id, d.tenant_id, d.case_id, d.title, d.due_at, CASE
    WHEN d.due_at < z.in_2_days THEN '1' WHEN d.due_at < z.in_4_days THEN '3' ELSE '7' END AS mark
FROM cases_deadline d {open_case}
WHERE d.status = 'pending' AND d.due_at < z.in_8_days
  AND d.due_at >= %(oldest)s AND d.due_at < %(latest)s
"""
_PAYMENTS = """
SELECT d.id, d.tenant_id, d.case_id, d.title, d.payee, d.amount, d.currency, d.due_at,
       'due' AS mark
FROM cases_payment d {open_case}
WHERE d.status = 'pending' AND d.due_at < z.in_1_day
  AND d.due_at >= %(oldest)s AND d.due_at < %(latest)s
"""
_REVIEWS = """
SELECT d.id, d.tenant_id, d.case_id, d.title, d.stakeholder, d.scheduled_at AS due_at,
       'soon' AS mark
FROM cases_review d {open_case}
WHERE d.status = 'scheduled' AND d.scheduled_at < z.in_notice AND d.scheduled_at >= z.today
  AND d.scheduled_at >= %(oldest)s AND d.scheduled_at < %(latest)s
"""
_APPROVALS = """
SELECT d.id, d.tenant_id, d.case_id, d.title, d.approver_id, d.due_at, 'missed' AS mark
FROM cases_approval d {open_case}
WHERE d.status = 'pending' AND d.due_at < %(now)s AND d.due_at >= %(oldest)s
"""
_CASH = """
SELECT d.case_id AS id, d.tenant_id, d.case_id, d.balance, d.threshold, d.currency,
       NULL::timestamptz AS due_at, 'level' AS mark
FROM cases_cashposition d {open_case}
WHERE d.balance < d.threshold AND d.case_id = ANY(%(held)s)
"""
_CASH_HELD = """
SELECT c.id FROM cases_case c JOIN cases_cashposition d ON d.case_id = c.id
WHERE d.balance < d.threshold AND c.status <> 'closed' AND NOT EXISTS (
    SELECT FROM cases_watchmark m WHERE m.aggregate_id = c.id AND m.event_type = 'CASH_LOW')
ORDER BY c.id LIMIT %(batch)s FOR NO KEY UPDATE OF c SKIP LOCKED
"""
_CASH_RECOVERED = """
DELETE FROM cases_watchmark m USING cases_cashposition d
WHERE m.event_type = 'CASH_LOW' AND d.case_id = m.aggregate_id AND d.balance >= d.threshold
"""
_SUMS = """
SELECT case_id, tenant_id, sum(issues_count) AS issues, sum(records_count) AS records
FROM cases_dataset GROUP BY case_id, tenant_id HAVING sum(records_count) > 0
"""
_ISSUES = f"""
SELECT d.case_id AS id, d.tenant_id, d.case_id, d.issues, d.records, c.issue_threshold,
       NULL::timestamptz AS due_at, 'level' AS mark
FROM ({_SUMS}) d {{open_case}}
WHERE d.issues > c.issue_threshold * d.records AND d.case_id = ANY(%(held)s)
"""
_ISSUES_HELD = f"""
SELECT c.id FROM cases_case c JOIN ({_SUMS}) d ON d.case_id = c.id
WHERE d.issues > c.issue_threshold * d.records AND c.status <> 'closed' AND NOT EXISTS (
    SELECT FROM cases_watchmark m
    WHERE m.aggregate_id = c.id AND m.event_type = 'ISSUE_RATIO_HIGH')
ORDER BY c.id LIMIT %(batch)s FOR NO KEY UPDATE OF c SKIP LOCKED
"""
_ISSUES_MENDED = f"""
DELETE FROM cases_watchmark m USING ({_SUMS}) d, cases_case c
WHERE m.event_type = 'ISSUE_RATIO_HIGH' AND d.case_id = m.aggregate_id AND c.id = d.case_id
  AND d.issues <= c.issue_threshold * d.records
"""
_OPEN_CASE = """
JOIN cases_case c ON c.id = d.case_id AND c.status <> 'closed'
JOIN accounts_tenant t ON t.id = d.tenant_id AND t.is_active
JOIN zone z ON z.name = t.timezone
"""
_SAY = """
WITH zone AS (
    SELECT * FROM unnest(%(zones)s::text[], %(today)s::timestamptz[], %(in_1_day)s::timestamptz[],
        %(in_2_days)s::timestamptz[], %(in_4_days)s::timestamptz[], %(in_8_days)s::timestamptz[],
        %(in_notice)s::timestamptz[])
    AS z(name, today, in_1_day, in_2_days, in_4_days, in_8_days, in_notice)
), found AS (
    SELECT * FROM ({candidates}) d
    WHERE NOT EXISTS (
        SELECT FROM cases_watchmark m
        WHERE m.aggregate_id = d.id AND m.event_type = %(event_type)s AND m.mark = d.mark
          AND m.due_at IS NOT DISTINCT FROM d.due_at)
    ORDER BY d.due_at, d.id LIMIT %(batch)s
), said AS (
    INSERT INTO cases_watchmark (tenant_id, event_type, aggregate_id, mark, due_at, marked_at)
    SELECT tenant_id, %(event_type)s, id, mark, due_at, %(now)s FROM found
    ON CONFLICT (aggregate_id, event_type, mark)
    DO UPDATE SET due_at = EXCLUDED.due_at, marked_at = EXCLUDED.marked_at
    WHERE cases_watchmark.due_at IS DISTINCT FROM EXCLUDED.due_at
    RETURNING aggregate_id
)
SELECT found.* FROM found JOIN said ON said.aggregate_id = found.id
ORDER BY found.tenant_id, found.due_at, found.id
"""


def _deadline_approaching(row: Row) -> Event:
    return DeadlineApproaching(
        case_id=row["case_id"],
        deadline_id=row["id"],
        title=row["title"],
        deadline=row["due_at"],
        days_before=int(row["mark"]),
    )


def _payment_due(row: Row) -> Event:
    return PaymentDue(
        case_id=row["case_id"],
        payment_id=row["id"],
        title=row["title"],
        payee=row["payee"],
        amount=row["amount"],
        currency=row["currency"],
        deadline=row["due_at"],
    )


def _review_scheduled(row: Row) -> Event:
    return ReviewScheduled(
        case_id=row["case_id"],
        review_id=row["id"],
        title=row["title"],
        stakeholder=row["stakeholder"],
        scheduled_at=row["due_at"],
    )


def _approval_missed(row: Row) -> Event:
    return ApprovalDeadlineMissed(
        case_id=row["case_id"],
        approval_id=row["id"],
        title=row["title"],
        deadline=row["due_at"],
        approver_id=row["approver_id"],
    )


def _cash_low(row: Row) -> Event:
    return CashLow(
        case_id=row["case_id"],
        cash_balance=row["balance"],
        threshold=row["threshold"],
        currency=row["currency"],
    )


def _issue_ratio_high(row: Row) -> Event:
    return IssueRatioHigh(
        case_id=row["case_id"],
        issue_ratio=row["issues"] / row["records"],
        threshold=row["issue_threshold"],
        issues_count=row["issues"],
        records_count=row["records"],
    )


SCANS = [
    Scan(DeadlineApproaching, _DEADLINES, _deadline_approaching),
    Scan(PaymentDue, _PAYMENTS, _payment_due),
    Scan(ReviewScheduled, _REVIEWS, _review_scheduled),
    Scan(ApprovalDeadlineMissed, _APPROVALS, _approval_missed),
    Scan(CashLow, _CASH, _cash_low, _CASH_HELD, _CASH_RECOVERED),
    Scan(IssueRatioHigh, _ISSUES, _issue_ratio_high, _ISSUES_HELD, _ISSUES_MENDED),
]


def scan(now: datetime, batch: int = BATCH) -> dict[str, int]:
    """Say everything that is due to be said now; how much of each."""
    days = _days(now)
    return {each.event.type: _scan(each, now, days, batch) for each in SCANS}


def _scan(each: Scan, now: datetime, days: Row, batch: int) -> int:
    said = 0
    while (more := _say_some(each, now, days, batch)) > 0:
        said += more
        reach("scan.batch_committed")
        if more < batch:
            break
    return said


@transaction.atomic
def _say_some(each: Scan, now: datetime, days: Row, batch: int) -> int:
    with connection.cursor() as cursor:
        # A second scan at the same time has nothing to add; the unique mark would stop it too.
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtext(%s))", [each.event.type])
        if not cursor.fetchone()[0]:
            return 0
        held = _hold(cursor, each, batch)
        query = _SAY.replace("{candidates}", each.candidates.replace("{open_case}", _OPEN_CASE))
        known: Row = {"now": now, "oldest": now - CATCH_UP, "event_type": each.event.type}
        cursor.execute(query, {**days, **known, "held": held, "batch": batch})
        names = [column.name for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    reach("scan.marked")
    _publish(each, rows, now)
    reach("scan.published")
    return len(rows)


def _hold(cursor: Any, each: Scan, batch: int) -> list[Any]:
    """Lock what has a level first: the next statement then judges it as it is, and stays."""
    if not each.held:
        return []
    cursor.execute(each.crossed_back)
    cursor.execute(each.held, {"batch": batch})
    return [row[0] for row in cursor.fetchall()]


def _publish(each: Scan, rows: Iterable[Row], now: datetime) -> None:
    for tenant_id, of_tenant in groupby(rows, key=lambda row: row["tenant_id"]):
        publish_many([each.told(row) for row in of_tenant], tenant=tenant_id, occurred_at=now)


def _days(now: datetime) -> Row:
    """When the next days begin, in each zone where a tenant lives, as PostgreSQL compares it."""
    zones = sorted({tenant.timezone for tenant in accounts.active_tenants()})
    begins = {
        "today": 0,
        "in_1_day": 1,
        "in_2_days": 2,
        "in_4_days": 4,
        "in_8_days": 8,
        "in_notice": settings.CASES_REVIEW_NOTICE_DAYS + 1,
    }
    columns = {name: [midnight(now, zone, day) for zone in zones] for name, day in begins.items()}
    latest = max((at for column in columns.values() for at in column), default=now)
    return {"zones": zones, "latest": latest, **columns}


def midnight(now: datetime, zone_name: str, days_ahead: int) -> datetime:
    """When the day so many days ahead begins in a zone, whatever its clocks do that night."""
    zone = _zone(zone_name)
    day = now.astimezone(zone).date() + timedelta(days=days_ahead)
    return datetime.combine(day, time.min, tzinfo=zone).astimezone(UTC)


def _zone(name: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        log.warning("unknown time zone of a tenant: its days are those of UTC", zone=name)
        return zoneinfo.ZoneInfo("UTC")
