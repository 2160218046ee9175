"""Open alerts and what was promised, on the console's first page."""

from typing import Any

from django.db.models import Count
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts import selectors as accounts
from apps.events.context import current
from axiom.console.panels import Panel
from axiom.permissions import runs_the_platform

from . import selectors
from .models import Alert
from .selectors import By
from .severity import Severity


def contents(request: HttpRequest) -> dict[str, Any]:
    return {
        "open_alerts": _open_alerts(request),
        "burns": _burns(request),
        "sla_link": reverse("admin:sla"),
    }


def _open_alerts(request: HttpRequest) -> list[dict[str, Any]]:
    """By severity, the gravest first, each with the list it stands for."""
    found = _visible(request).filter(status__in=("unread", "acknowledged")).values_list("severity")
    counts = dict(found.annotate(n=Count("*")).order_by())
    unread = dict(_visible(request).filter(status="unread").values_list("severity")
                  .annotate(n=Count("*")).order_by())  # fmt: skip
    link = reverse("admin:watch_alert_changelist")
    return [
        {
            "severity": severity.value, "label": severity.label, "count": counts.get(severity, 0),
            "unread": unread.get(severity, 0),
            "link": f"{link}?severity__exact={severity}&status__exact=unread",
        }
        for severity in sorted(Severity, key=lambda each: -each.rank)
    ]  # fmt: skip


def _visible(request: HttpRequest) -> Any:
    if current().tenant_id is None:
        return Alert.across_tenants.all() if runs_the_platform(request) else Alert.objects.none()
    return Alert.objects.all()


def _burns(request: HttpRequest) -> list[dict[str, Any]]:
    """How much of this month's tolerance is used up, for each of the three promises."""
    now, tenant_id = timezone.now(), current().tenant_id
    if tenant_id is None and not runs_the_platform(request):
        return []
    tenant = accounts.tenant_by_id(tenant_id) if tenant_id else None
    begin = timezone.localtime(now).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    figures = selectors.sla(
        by=By.ALL, since=begin, until=now, now=now,
        tenant_ids=[tenant_id] if tenant_id else None, zone=tenant.timezone if tenant else "UTC",
    )  # fmt: skip
    if not figures:
        return []
    this = figures[0]
    told = [
        (_("Acknowledged in time"), this.acknowledged.burn),
        (_("Resolved in time"), this.resolved.burn),
        (_("False positives"), this.false_positive_burn),
    ]
    return [{"label": label, "burn": round(burn, 2), "is_over": burn > 1} for label, burn in told]


ALERTS = Panel(position=10, template="watch/now.html", contents=contents)
