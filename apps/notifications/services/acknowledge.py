"""Links by which whoever was told can say that they take care of it, without logging in.

A link only asks; what it asks is done by the button on its page. Programs that look into mails
follow links and press no buttons.
"""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.urls import reverse

from apps.accounts import selectors as accounts
from apps.events.context import acting
from apps.watch import selectors as watch
from apps.watch import services as watching
from axiom.errors import AxiomError
from axiom.roles import OPERATORS

_SALT = "notifications.acknowledge"
GOOD_FOR_SECONDS = 7 * 24 * 3600


class LinkOver(AxiomError):
    """This link no longer works."""

    code, status = "link_over", 404


class NotForViewers(AxiomError):
    """Viewers may not acknowledge alerts."""

    code, status = "not_for_viewers", 403


def acknowledge_link(alert_id: UUID, user_id: UUID | None) -> str:
    """Good for one alert and one person for a week; none for an address that many read."""
    if user_id is None:
        return ""
    token = signing.dumps([str(alert_id), str(user_id)], salt=_SALT)
    return f"{settings.PUBLIC_URL}{reverse('acknowledge-alert', args=[token])}"


def read_link(token: str) -> tuple[Any, Any]:
    """The alert and the person of a link; refused when it is over or they are no longer here."""
    try:
        alert_id, user_id = signing.loads(token, salt=_SALT, max_age=GOOD_FOR_SECONDS)
    except signing.BadSignature:
        raise LinkOver from None
    alert = watch.alerts_by_id([UUID(alert_id)]).get(UUID(alert_id))
    member = alert and _member(alert.tenant_id, user_id)
    if not member:
        raise LinkOver
    return alert, member


def _member(tenant_id: UUID, user_id: str) -> Any:
    members = accounts.members_of(tenant_id)
    return members.filter(user_id=user_id, user__is_active=True, tenant__is_active=True).first()


def acknowledge_by_link(token: str) -> Any:
    """Acknowledge the alert of this link as the person it was sent to."""
    alert, member = read_link(token)
    if member.role not in OPERATORS:
        raise NotForViewers
    with acting(tenant_id=alert.tenant_id, actor=member.user.email):
        return watching.acknowledge(alert=alert, by=member.user)
