"""How fast alerts are answered and how often they were right, against what was promised."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext_lazy as _

from ..models import Subscription

TOLERATED = 0.05
"""A promise about p95 is broken when more than this share is late."""


class By(StrEnum):
    """What the figures are told by."""

    ALL = "all"
    MONTH = "month"
    TENANT = "tenant"
    TEAM = "team"
    RULE = "rule"
    SEVERITY = "severity"


_KEYS = {
    By.ALL: "''",
    By.MONTH: "to_char(a.detected_at AT TIME ZONE %(zone)s, 'YYYY-MM')",
    By.TENANT: "a.tenant_id::text",
    By.TEAM: "a.team_lead_id::text",
    By.RULE: "w.subscription_id::text",
    By.SEVERITY: "a.severity",
}

# A late answer is late as soon as it is late, not only once somebody gave it. What was dismissed
# had nothing to resolve; what went away by itself waited for an answer until then.
_FIGURES = """
WITH told AS (
    SELECT {key} AS key, a.status, a.false_positive,
           extract(epoch FROM a.first_acknowledged_at
                   - least(a.detected_at, a.first_acknowledged_at))::float AS ack,
           extract(epoch FROM a.resolved_at
                   - least(a.detected_at, a.resolved_at))::float AS done,
           extract(epoch FROM coalesce(a.resolved_at, %(now)s) - a.detected_at)::float AS age
    FROM watch_alert a {join}
    WHERE a.detected_at >= %(since)s AND a.detected_at < %(until)s {tenants}
)
SELECT key, count(*),
       count(ack), percentile_cont(0.5) WITHIN GROUP (ORDER BY ack),
       percentile_cont(0.95) WITHIN GROUP (ORDER BY ack),
       count(*) FILTER (WHERE coalesce(ack, age) > %(ack)s),
       count(*) FILTER (WHERE ack IS NOT NULL OR age > %(ack)s),
       count(done), percentile_cont(0.5) WITHIN GROUP (ORDER BY done),
       percentile_cont(0.95) WITHIN GROUP (ORDER BY done),
       count(*) FILTER (WHERE status <> 'dismissed' AND coalesce(done, age) > %(done)s),
       count(*) FILTER (WHERE done IS NOT NULL OR status <> 'dismissed' AND age > %(done)s),
       count(*) FILTER (WHERE status IN ('dismissed', 'resolved')),
       count(*) FILTER (WHERE false_positive)
FROM told GROUP BY key ORDER BY key
"""


@dataclass(frozen=True, slots=True)
class Answering:
    """How long it took; and of those whose time is up or who were answered, how many were late."""

    count: int
    p50_seconds: float | None
    p95_seconds: float | None
    late: int
    due: int

    @property
    def burn(self) -> float:
        """The share that was late, in terms of what is tolerated: above 1 the promise is broken."""
        return self.late / self.due / TOLERATED if self.due else 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one month, team, rule, tenant or severity."""

    key: str
    label: str
    alerts: int
    acknowledged: Answering
    resolved: Answering
    judged: int
    false_positives: int

    @property
    def false_positive_share(self) -> float:
        return self.false_positives / self.judged if self.judged else 0.0

    @property
    def false_positive_burn(self) -> float:
        return float(self.false_positive_share / settings.WATCH_SLA["false_positive_share"])


def sla(
    *,
    by: By,
    since: datetime,
    until: datetime,
    now: datetime,
    tenant_ids: Collection[UUID] | None,
    zone: str = "UTC",
) -> list[Figures]:
    """The figures of alerts detected in this time; of all tenants when none are named."""
    facts: dict[str, Any] = {
        "since": since, "until": until, "now": now, "zone": zone,
        "tenant_ids": list(tenant_ids or ()),
        "ack": settings.WATCH_SLA["acknowledge_seconds"],
        "done": settings.WATCH_SLA["resolve_seconds"],
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_statement(by, tenant_ids), facts)
        rows = cursor.fetchall()
    labels = _labels(by, [row[0] for row in rows if row[0]])
    return [_figures(row, labels.get(row[0], "")) for row in rows]


def _statement(by: By, tenant_ids: Collection[UUID] | None) -> str:
    join = "LEFT JOIN watch_alertwatcher w ON w.alert_id = a.id" if by is By.RULE else ""
    tenants = "" if tenant_ids is None else "AND a.tenant_id = ANY(%(tenant_ids)s::uuid[])"
    return _FIGURES.format(key=_KEYS[by], join=join, tenants=tenants)


def _figures(row: tuple[Any, ...], label: str) -> Figures:
    key, alerts, *rest, judged, wrong = row
    return Figures(
        key or "", str(label or key or _NOBODY), alerts, Answering(*rest[:5]),
        Answering(*rest[5:]), judged, wrong,
    )  # fmt: skip


_NOBODY = _("Nobody's")


def _labels(by: By, keys: list[str]) -> dict[str, str]:
    """What people call these."""
    from apps.accounts import selectors as accounts

    if by is By.RULE:
        names = Subscription.across_tenants.filter(pk__in=keys).values_list("pk", "name")
        return {str(key): name for key, name in names}
    if by is By.TEAM:
        return {str(user.pk): str(user) for user in accounts.users_by_id(keys)}
    if by is By.TENANT:
        return {str(tenant.pk): tenant.name for tenant in accounts.active_tenants()}
    return {}
