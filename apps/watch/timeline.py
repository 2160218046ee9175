"""What the watch writes on the timeline of a case: its alerts, and what was done about them."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.watch.models import Alert, AlertHistory
from axiom.console.timeline import Entry, Stretch, Topic
from axiom.tenancy import current_tenant_id


def raised(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    for alert in stretch.of(Alert.objects.filter(case=case_id), "detected_at"):
        title = _("Alert: %(severity)s") % {"severity": alert.get_severity_display()}
        yield Entry(
            alert.detected_at, alert.pk, title, alert.told(), "", _page(alert.pk), alert.severity
        )  # fmt: skip


def done_about(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    rows = AlertHistory.objects.filter(alert__case=case_id, tenant_id=current_tenant_id())
    rows = rows.exclude(kind=AlertHistory.Kind.RAISED).select_related("alert")
    for act in stretch.of(rows, "at"):
        title = _("Alert: %(act)s") % {"act": act.get_kind_display()}
        text = ": ".join(filter(None, [act.alert.told(), act.note]))
        yield Entry(act.at, act.pk, title, text, act.actor, _page(act.alert_id))


def _page(alert_id: Any) -> str:
    return reverse("admin:watch_alert_change", args=[alert_id])


ON_CASES = Topic("alerts", gettext_lazy("Alerts"), "notifications_active", 80, (raised, done_about))
