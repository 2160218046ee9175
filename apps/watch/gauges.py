"""What /metrics tells of alerts: how many are open, and how this month stands."""

from collections.abc import Iterator

from django.db.models import Count
from django.utils import timezone

from apps.accounts import selectors as accounts
from axiom.metrics import GaugeMetricFamily, Metric, at_scrape

from .models import Alert
from .selectors import By, sla


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
    """Per tenant that had alerts this month; teams and rules are too many for labels."""
    now = timezone.now()
    began = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    names = {str(tenant.pk): tenant.slug for tenant in accounts.active_tenants()}
    burn = GaugeMetricFamily(
        "axiom_alert_sla_burn",
        "Above 1 a promise is broken this month",
        labels=["tenant", "target"],
    )
    p95 = GaugeMetricFamily(
        "axiom_alert_p95_seconds", "95 % were answered within, this month",
        labels=["tenant", "target"],
    )  # fmt: skip
    for row in sla(by=By.TENANT, since=began, until=now, now=now, tenant_ids=None):
        if row.key in names:
            burn.add_metric([names[row.key], "acknowledge"], row.acknowledged.burn)
            burn.add_metric([names[row.key], "resolve"], row.resolved.burn)
            burn.add_metric([names[row.key], "false_positives"], row.false_positive_burn)
            for target, answering in (("acknowledge", row.acknowledged), ("resolve", row.resolved)):
                if answering.p95_seconds is not None:
                    p95.add_metric([names[row.key], target], answering.p95_seconds)
    yield from (burn, p95)
