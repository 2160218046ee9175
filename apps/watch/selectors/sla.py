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
    WHERE a.detected_at >= %(since)s AND a.detected_at < %(until)s {which}
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

    @property
    def percentiles(self) -> dict[str, float | None]:
        return {"0.5": self.p50_seconds, "0.95": self.p95_seconds}


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

    @property
    def burns(self) -> dict[str, float]:
        """How much of each promise is used up, by its name."""
        return {
            "acknowledge": self.acknowledged.burn,
            "resolve": self.resolved.burn,
            "false_positives": self.false_positive_burn,
        }


def sla(
    *,
    by: By,
    since: datetime,
    until: datetime,
    now: datetime,
    tenant_ids: Collection[UUID] | None,
    zone: str = "UTC",
    team: UUID | None = None,
    rule: UUID | None = None,
) -> list[Figures]:
    """The figures of alerts detected in this time; of all tenants when none are named.

    Of one team, which is who leads it, or of one rule, which is a subscription, if that is asked.
    """
    span = {"since": since, "until": until, "now": now, "zone": zone}
    which = {"tenant_ids": None if tenant_ids is None else list(tenant_ids), "team": team,
             "rule": rule}  # fmt: skip
    rows = _asked(_KEYS[by], by, span | which)
    labels = _labels(by, [row[0] for row in rows if row[0]])
    return [_figures(row, labels.get(row[0], "")) for row in rows]


def sla_in_each_tenant(
    *, by: By, since: datetime, until: datetime, now: datetime
) -> dict[str, list[Figures]]:
    """The figures of all teams or rules, by the id of their tenant; nobody's are left out."""
    key = f"a.tenant_id::text || ' ' || {_KEYS[by]}"
    span: dict[str, Any] = {"since": since, "until": until, "now": now, "zone": "UTC"}
    found: dict[str, list[Figures]] = {}
    for row in _asked(key, by, span):
        if row[0]:
            tenant_id, own = row[0].split(" ")
            found.setdefault(tenant_id, []).append(_figures((own, *row[1:]), own))
    return found


def _asked(key: str, by: By, facts: dict[str, Any]) -> list[tuple[Any, ...]]:
    facts |= {
        "ack": settings.WATCH_SLA["acknowledge_seconds"],
        "done": settings.WATCH_SLA["resolve_seconds"],
    }
    join = "LEFT JOIN watch_alertwatcher w ON w.alert_id = a.id" if by is By.RULE else ""
    which = "".join(words for name, words in _WHICH.items() if facts.get(name) is not None)
    with connection.cursor() as cursor:
        cursor.execute(_FIGURES.format(key=key, join=join, which=which), facts)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


_WHICH = {
    "tenant_ids": " AND a.tenant_id = ANY(%(tenant_ids)s::uuid[])",
    "team": " AND a.team_lead_id = %(team)s",
    "rule": " AND EXISTS (SELECT FROM watch_alertwatcher of WHERE of.alert_id = a.id"
    " AND of.subscription_id = %(rule)s)",
}


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
