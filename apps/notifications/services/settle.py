"""Writes down how a try ended: one place decides what becomes of a delivery."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from apps.notifications import observe
from apps.notifications.channels import Outcome
from apps.notifications.models import Delivery, DeliveryAttempt, Endpoint
from apps.notifications.models.deliveries import LONGEST_ANSWER

State, Reason = Delivery.State, Delivery.Reason


@dataclass(frozen=True, slots=True)
class Tried:
    """One try: how it ended, when, and which alerts it told of."""

    outcome: Outcome
    began_at: datetime
    seconds: float
    alert_ids: list[str]


@transaction.atomic
def settle(delivery: Delivery, tried: Tried, *, now: datetime) -> None:
    """Bring a try to its end. Who lost the lease meanwhile writes down the try and no more."""
    DeliveryAttempt.objects.create(
        delivery=delivery, outcome=tried.outcome.kind, said=tried.outcome.said[:LONGEST_ANSWER],
        began_at=tried.began_at, seconds=tried.seconds,
    )  # fmt: skip
    changes = _becomes(delivery, tried.outcome, now)
    if _change(delivery, changes) and changes["state"] == State.SENT:
        _end_bundled(delivery, changes, alert_id__in=tried.alert_ids)
    _heed(delivery, tried.outcome, now)
    transaction.on_commit(lambda: observe.tried(delivery.channel, changes, tried.seconds))


def skip(delivery: Delivery, reason: str, *, now: datetime) -> None:
    """It is not sent, and why."""
    changes = {"state": State.SKIPPED, "reason": reason, "settled_at": now}
    with transaction.atomic():
        if _change(delivery, {**changes, "attempts": delivery.attempts - 1}):
            _end_bundled(delivery, changes)


def hold(delivery: Delivery, until: datetime) -> None:
    """It waits, and nothing was tried."""
    changes = {"state": State.WAITING, "due_at": until, "attempts": delivery.attempts - 1}
    _change(delivery, changes)


def _becomes(delivery: Delivery, outcome: Outcome, now: datetime) -> dict[str, Any]:
    if outcome.kind == "sent":
        peer_id = outcome.peer_id[:200]
        return {"state": State.SENT, "reason": "", "settled_at": now, "peer_id": peer_id}
    if outcome.kind == "never":
        return {"state": State.FAILED, "reason": Reason.REFUSED, "settled_at": now}
    if delivery.attempts >= settings.NOTIFICATION_ATTEMPTS:
        return {"state": State.FAILED, "reason": Reason.ATTEMPTS, "settled_at": now}
    pause = max(back_off(delivery.attempts), outcome.after or 0)
    return {"state": State.WAITING, "due_at": now + timedelta(seconds=pause)}


def back_off(attempts: int) -> float:
    """Twice as long each time, a fifth more or less: not everybody at the same moment."""
    longest = settings.NOTIFICATION_LONGEST_RETRY_SECONDS
    seconds = min(settings.NOTIFICATION_RETRY_SECONDS * 2 ** (attempts - 1), longest)
    return float(seconds * random.uniform(0.8, 1.2))


def _change(delivery: Delivery, changes: dict[str, Any]) -> bool:
    mine = Delivery.across_tenants.filter(pk=delivery.pk, claim_token=delivery.claim_token)
    # Until here it was the end of the lease, which nobody needs to see any more.
    ended = {"due_at": changes["settled_at"]} if "settled_at" in changes else {}
    return bool(mine.update(**changes, **ended, claim_token=None))


def _end_bundled(delivery: Delivery, changes: dict[str, Any], **which: Any) -> None:
    """What a digest told of is told; all of it, when the digest is not sent."""
    if delivery.alert_id is None:
        told = Delivery.across_tenants.filter(bundle=delivery, state=State.BUNDLED, **which)
        told.update(
            state=changes["state"], reason=changes["reason"], settled_at=changes["settled_at"]
        )


def _heed(delivery: Delivery, outcome: Outcome, now: datetime) -> None:
    """Who asks for a pause gets it for everything we have for them; who is gone is left alone."""
    if delivery.endpoint_id is None:
        return
    place = Endpoint.across_tenants.filter(pk=delivery.endpoint_id)
    if outcome.after:
        place.update(paused_until=now + timedelta(seconds=outcome.after))
    if outcome.gone:
        place.update(is_active=False)
