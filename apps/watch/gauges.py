"""What /metrics tells of alerts: how many are open, and how this month stands."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.utils import timezone

from apps.accounts import selectors as accounts
from axiom.metrics import GaugeMetricFamily, Metric, at_scrape

from .models import Alert
from .selectors import By, Figures, sla, sla_in_each_tenant


@at_scrape
def open_alerts() -> Iterator[Metric]:
    gauge = GaugeMetricFamily(
        "axiom_alerts_open", "Alerts that are not settled", labels=["severity", "status"]
    )
    rows = Alert.across_tenants.filter(status__in=["unread", "acknowledged"]).order_by()
    for severity, status, count in rows.values_list("severity", "status").annotate(Count("pk")):
        gauge.add_metric([severity, status], count)
    yield gauge


@at_scrape
def service_levels() -> Iterator[Metric]:
    """Per tenant that had alerts this month, and how many of its teams and rules break a promise.

    Not each team and each rule: labels must stay few. The API tells which they are.
    """
    now = timezone.now()
    span: dict[str, Any] = {"since": _month_of(now), "until": now, "now": now}
    names = {str(tenant.pk): tenant.slug for tenant in accounts.active_tenants()}
    rows = {names[row.key]: row for row in sla(by=By.TENANT, tenant_ids=None, **span)
            if row.key in names}  # fmt: skip
    yield from _of_tenants(rows)
    yield _broken(names, span)


def _month_of(now: datetime) -> datetime:
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _of_tenants(rows: dict[str, Figures]) -> Iterator[Metric]:
    burn = GaugeMetricFamily(
        "axiom_alert_sla_burn", "Above 1 a promise is broken this month",
        labels=["tenant", "target"],
    )  # fmt: skip
    seconds = GaugeMetricFamily(
        "axiom_alert_answer_seconds", "Half, and 95 %, were answered within, this month",
        labels=["tenant", "target", "quantile"],
    )  # fmt: skip
    wrong = GaugeMetricFamily(
        "axiom_alert_false_positive_share", "Of those judged this month", labels=["tenant"]
    )
    for tenant, row in rows.items():
        wrong.add_metric([tenant], row.false_positive_share)
        for target, used in row.burns.items():
            burn.add_metric([tenant, target], used)
        for target, answering in (("acknowledge", row.acknowledged), ("resolve", row.resolved)):
            for quantile, value in answering.percentiles.items():
                if value is not None:
                    seconds.add_metric([tenant, target, quantile], value)
    yield from (burn, seconds, wrong)


def _broken(names: dict[str, str], span: dict[str, Any]) -> Metric:
    gauge = GaugeMetricFamily(
        "axiom_alert_sla_broken", "Teams and rules that break a promise this month",
        labels=["tenant", "by", "target"],
    )  # fmt: skip
    for by in (By.TEAM, By.RULE):
        for tenant_id, figures in sla_in_each_tenant(by=by, **span).items():
            if tenant_id in names:
                for target in figures[0].burns:
                    broken = sum(each.burns[target] > 1 for each in figures)
                    gauge.add_metric([names[tenant_id], str(by), target], broken)
    return gauge
