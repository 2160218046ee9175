"""A rule that raises is set aside and reported; the others go on."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import structlog
from django.utils.translation import gettext as _

from apps.watch.matches import Match
from apps.watch.models import Subscription
from apps.watch.severity import Severity

log = structlog.get_logger(__name__)

EVENT_TYPE = "SUBSCRIPTION_QUARANTINED"


def quarantine(broken: Mapping[UUID, Exception], *, now: datetime) -> list[Match]:
    """Set these subscriptions aside; returns the system alerts that say so."""
    rows = Subscription.across_tenants.select_for_update().filter(
        pk__in=list(broken), quarantined_at=None
    )
    return [_set_aside(row, broken[row.pk], now) for row in rows.order_by("pk")] if broken else []


def _set_aside(subscription: Subscription, error: Exception, now: datetime) -> Match:
    reason = f"{type(error).__name__}: {error}"[:2000]
    log.error("rule quarantined", subscription=str(subscription.pk), error=reason)
    Subscription.across_tenants.filter(pk=subscription.pk).update(
        quarantined_at=now, quarantine_reason=reason
    )
    assert subscription.tenant_id
    return Match(
        subscription.tenant_id, None, Severity.HIGH, EVENT_TYPE, "subscription",
        str(subscription.pk), None, None, now,
        _("The rule of “%s” failed and was set aside.") % subscription.name,
        {"rule": "system", "name": subscription.name, "reason": reason},
    )  # fmt: skip
