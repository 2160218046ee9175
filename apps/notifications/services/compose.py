"""Makes the message of a delivery, in the words of whoever is told, from what is true now."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils import timezone, translation

from apps.accounts import selectors as accounts
from apps.notifications.channels import Address, Message, Told, Word
from apps.notifications.models import Delivery, Preference
from apps.watch import selectors as watch

from .acknowledge import acknowledge_link


def alerts_of(delivery: Delivery) -> dict[Any, Any]:
    """What it is about, as it is now."""
    if delivery.alert_id:
        return watch.alerts_by_id([delivery.alert_id])
    bundled = Delivery.across_tenants.filter(bundle=delivery, state=Delivery.State.BUNDLED)
    return watch.alerts_by_id(set(bundled.values_list("alert_id", flat=True)))


def compose(delivery: Delivery, alerts: list[Any], *, now: datetime) -> Message:
    """The message as its reader sees it."""
    person, tenant = delivery.recipient, accounts.tenant_by_id(delivery.tenant_id)
    assert tenant is not None
    language = person.language if person else settings.LANGUAGE_CODE
    ordered = sorted(alerts, key=lambda alert: (-alert.rank, alert.detected_at))
    with translation.override(language):
        told = tuple(_told(alert, delivery) for alert in ordered)
    return Message(
        key=str(delivery.pk), to=address_of(delivery, now), alerts=told, tenant=tenant.name,
        sent_at=timezone.now(), level=delivery.level, word=_word(delivery), is_digest=delivery.alert_id is None,
        language=language, zone=ZoneInfo(person.timezone if person else tenant.timezone),
    )  # fmt: skip


def _word(delivery: Delivery) -> Word | None:
    """What a colleague has to say, where that is why it goes out."""
    if not (delivery.word and delivery.alert_id):
        return None
    said = watch.word_to_team(delivery.alert_id, delivery.word)
    return Word(said.actor, said.note) if said else None


def address_of(delivery: Delivery, now: datetime) -> Address:
    """Where it goes now: what was changed since it was written counts."""
    person, endpoint = delivery.recipient, delivery.endpoint
    known = Preference.across_tenants.filter(tenant_id=delivery.tenant_id, user=person).first()
    in_use = endpoint if endpoint and endpoint.is_active else None
    return Address(
        email=person.email if person else "",
        name=person.name if person else "",
        phone=known.phone if known and person else "",
        url=in_use.url if in_use else "",
        secrets=tuple(in_use.secrets(now)) if in_use else (),
    )


def _told(alert: Any, delivery: Delivery) -> Told:
    return Told(
        id=str(alert.pk), event_type=alert.event_type, severity=alert.severity,
        sentence=alert.told(), detected_at=alert.detected_at, count=alert.count,
        link=f"{settings.PUBLIC_URL}/admin/watch/alert/{alert.pk}/change/",
        acknowledge_link=acknowledge_link(alert.pk, delivery.recipient_id),
        facts=alert.facts,
    )  # fmt: skip
