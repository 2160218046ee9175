"""Sends deliveries: takes one, looks whether it is still wanted, sends it, writes down how it went.

No transaction is open while sending. A crash between sending and writing leaves the delivery
taken until its lease is over; then it is sent again, once, under the same key (docs/adr/0065).
"""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from django.utils import timezone

from apps.accounts import selectors as accounts
from apps.events.context import fresh
from apps.events.failpoints import reach
from apps.notifications import hours
from apps.notifications.channels import Message, Outcome
from apps.notifications.channels import channel as channel_of
from apps.notifications.channels.message import again
from apps.notifications.models import Delivery, Mailbox, Preference

from .claim import Wait, claim
from .compose import alerts_of, compose
from .dispatch import PASSES_QUIET_HOURS
from .settle import Tried, hold, settle, skip

log = structlog.get_logger(__name__)

Clock = Callable[[], datetime]
Reason = Delivery.Reason
AT_MOST = 1_000
"""A task ends after so many, so that a worker can be stopped."""


def deliver_due(channel: str, *, clock: Clock = timezone.now) -> float | None:
    """Send what is due by this channel; returns after how many seconds to look again, if so."""
    for _number in range(AT_MOST):
        taken = claim(channel, now=clock())
        if isinstance(taken, Wait):
            return taken.seconds
        with fresh(tenant_id=taken.tenant_id, actor="notifications", source="delivery"):
            _deliver(taken, clock)
    return 0.0


def _deliver(delivery: Delivery, clock: Clock) -> None:
    reach("delivery.claimed")
    now = clock()
    alerts = [alert for alert in alerts_of(delivery).values() if _is_news(alert, delivery)]
    if reason := _unwanted(delivery, alerts):
        skip(delivery, reason, now=now)
    elif until := _quiet_until(delivery, now):
        hold(delivery, until)
    else:
        _send(delivery, alerts, clock)


def _send(delivery: Delivery, alerts: list[Any], clock: Clock) -> None:
    channel, message = channel_of(delivery.channel), _composed(delivery, alerts, clock())
    if isinstance(message, Outcome):
        return settle(delivery, Tried(message, clock(), 0, []), now=clock())
    if not channel.is_set_up():
        return skip(delivery, Reason.NOT_SET_UP, now=clock())
    if not channel.reaches(message.to):
        return skip(delivery, Reason.NO_ADDRESS, now=clock())
    began_at, began = clock(), time.perf_counter()
    outcome = _outcome(channel, message)
    reach("delivery.sent")
    tried = Tried(outcome, began_at, time.perf_counter() - began, _ids(message))
    settle(delivery, tried, now=clock())
    reach("delivery.settled")
    return None


def _composed(delivery: Delivery, alerts: list[Any], now: datetime) -> Message | Outcome:
    """The message; an outcome when there is none, because a secret cannot be unsealed."""
    try:
        return compose(delivery, alerts, now=now)
    except Exception as error:
        log.exception("composing failed")
        return again(f"{type(error).__name__}: {error}")


def _outcome(channel: Any, message: Message) -> Outcome:
    try:
        outcome: Outcome = channel.send(message)
    except Exception as error:
        # Not foreseen: one delivery waits, the others go on.
        log.exception("sending failed")
        return again(f"{type(error).__name__}: {error}")
    # PostgreSQL cannot keep a zero byte, whoever sends one.
    return replace(outcome, said=outcome.said.replace("\0", ""))


def _ids(message: Message) -> list[str]:
    return [told.id for told in message.alerts]


def _is_news(alert: Any, delivery: Delivery) -> bool:
    """Whether somebody still has to know: an escalation is over as soon as anybody looked."""
    return bool(alert.status == "unread" if delivery.level else alert.is_open)


def _unwanted(delivery: Delivery, alerts: list[Any]) -> str | None:
    if not alerts:
        return Reason.SETTLED
    if delivery.recipient_id is None:
        return None
    roles = accounts.active_roles([delivery.tenant_id])
    if not roles.filter(user_id=delivery.recipient_id).exists():
        return Reason.LEFT
    muted = Mailbox.objects.filter(user_id=delivery.recipient_id, muted=True)
    return Reason.OFF if muted.exists() else None


def _quiet_until(delivery: Delivery, now: datetime) -> datetime | None:
    """Asked again at the moment of sending: a retry may fall into the night."""
    person = delivery.recipient
    if person is None or delivery.severity == PASSES_QUIET_HOURS:
        return None
    preference = Preference.objects.filter(user=person).first()
    return hours.quiet_until(preference, ZoneInfo(person.timezone), now) if preference else None
