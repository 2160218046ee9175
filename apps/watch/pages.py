"""The page that shows how fast alerts are answered, against what was promised."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts import selectors as accounts
from apps.events.context import current
from axiom.console.charts import Chart, chart
from axiom.console.groups import Group
from axiom.console.navigation import Page, View
from axiom.permissions import runs_the_platform

from . import selectors
from .selectors import By, Figures

DAYS = 365


def sla(request: HttpRequest) -> HttpResponse:
    """Month by month, then by team and by rule; by tenant too for who looks at all of them."""
    months = _figures(request, By.MONTH)
    by_tenant = [By.TENANT] if current().tenant_id is None else []
    context = {
        **admin.site.each_context(request),
        "title": _("Service levels"),
        "this_month": months[-1] if months else None,
        "charts": _charts(months[-12:]) if months else [],
        "tables": [
            (_TITLES[by], _figures(request, by))
            for by in (*by_tenant, By.TEAM, By.RULE, By.SEVERITY)
        ],
        "targets": _targets(),
    }
    return TemplateResponse(request, "watch/sla.html", context)


_TITLES = {
    By.TENANT: gettext_lazy("By tenant"),
    By.TEAM: gettext_lazy("By team"),
    By.RULE: gettext_lazy("By rule"),
    By.SEVERITY: gettext_lazy("By severity"),
}


def _figures(request: HttpRequest, by: By) -> list[dict[str, Any]]:
    now, tenant_id = timezone.now(), current().tenant_id
    if tenant_id is None and not runs_the_platform(request):
        return []
    tenant = accounts.tenant_by_id(tenant_id) if tenant_id else None
    found = selectors.sla(
        by=by, since=now - timedelta(days=DAYS), until=now, now=now,
        tenant_ids=[tenant_id] if tenant_id else None,
        zone=tenant.timezone if tenant else "UTC",
    )  # fmt: skip
    return [_told(each) for each in found]


def _told(figures: Figures) -> dict[str, Any]:
    """A row in words, with what is over its promise marked."""
    return {
        "figures": figures,
        "ack_p50": span(figures.acknowledged.p50_seconds),
        "ack_p95": span(figures.acknowledged.p95_seconds),
        "resolve_p50": span(figures.resolved.p50_seconds),
        "resolve_p95": span(figures.resolved.p95_seconds),
        "wrong": f"{figures.false_positive_share:.0%}",
        "burns": [
            (burn, burn > 1)
            for burn in (
                round(figures.acknowledged.burn, 2),
                round(figures.resolved.burn, 2),
                round(figures.false_positive_burn, 2),
            )
        ],
    }


def _targets() -> dict[str, str]:
    promised = settings.WATCH_SLA
    return {
        "acknowledge": span(promised["acknowledge_seconds"]),
        "resolve": span(promised["resolve_seconds"]),
        "wrong": f"{promised['false_positive_share']:.0%}",
    }


def _charts(months: Sequence[dict[str, Any]]) -> list[Chart]:
    promised, told = settings.WATCH_SLA, _targets()
    rows: list[Figures] = [month["figures"] for month in months]
    return [
        chart(
            _("Acknowledged: p95"),
            [(r.key, r.acknowledged.p95_seconds, span(r.acknowledged.p95_seconds)) for r in rows],
            promise=promised["acknowledge_seconds"], told=told["acknowledge"],
        ),
        chart(
            _("Resolved: p95"),
            [(r.key, r.resolved.p95_seconds, span(r.resolved.p95_seconds)) for r in rows],
            promise=promised["resolve_seconds"], told=told["resolve"],
        ),
        chart(
            _("False positives"),
            [(r.key, r.false_positive_share, f"{r.false_positive_share:.0%}") for r in rows],
            promise=promised["false_positive_share"], told=told["wrong"],
        ),
    ]  # fmt: skip


def span(seconds: float | None) -> str:
    """A length of time as people say it."""
    if seconds is None:
        return "–"
    if seconds >= 2 * _DAY:
        return _("%(number)g days") % {"number": round(seconds / _DAY, 1)}
    if seconds >= _HOUR:
        return _("%(number)g h") % {"number": round(seconds / _HOUR, 1)}
    if seconds >= _MINUTE:
        return _("%(number)g min") % {"number": round(seconds / _MINUTE, 1)}
    return _("%(number)g s") % {"number": round(seconds)}


_MINUTE, _HOUR, _DAY = 60, 3600, 24 * 3600


SLA = Page(
    group=Group.ALERTS,
    title=gettext_lazy("Service levels"),
    url="admin:sla",
    icon="speed",
    position=30,
    views=(View("sla/", sla, "sla"),),
)
