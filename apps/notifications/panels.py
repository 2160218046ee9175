"""How an alert was delivered, on the alert's own page."""

from typing import Any

from django.http import HttpRequest

from apps.events.context import acting, current
from axiom.console.row_panels import RowPanel
from axiom.permissions import may, role_of
from axiom.roles import OPERATORS, Role

from . import selectors
from .models import Delivery
from .services.resend import may_be_resent

MOST = 50


def contents(request: HttpRequest, alert: Any) -> dict[str, Any]:
    """Every delivery that this person may see, the newest first.

    Who looks at all tenants at once sees them too, and sends nothing: one acts within a tenant.
    """
    role, may_act = role_of(request), current().tenant_id is not None and may(request, OPERATORS)
    with acting(tenant_id=alert.tenant_id):
        seen = selectors.deliveries_seen_by(user_id=request.user.pk, role=role or "")
        rows = seen.filter(alert_id=alert.pk).prefetch_related("tries")
        shown = [_row(row, may_act) for row in rows.order_by("-created_at", "-id")[:MOST]]
    return {"deliveries": shown, "sees_all": role == Role.ADMIN}


def _row(row: Delivery, may_act: bool) -> dict[str, Any]:
    tries = sorted(row.tries.all(), key=lambda each: each.pk)
    return {
        "row": row,
        "to": row.recipient or row.endpoint or "–",
        "at": row.settled_at or row.due_at,
        "said": tries[-1].said if tries else "",
        "may_resend": may_act and may_be_resent(row),
    }


DELIVERIES = RowPanel(
    model="watch.alert", position=10, template="notifications/deliveries.html", contents=contents
)
