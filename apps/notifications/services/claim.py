"""Takes the next delivery of a channel: one at a time, so many at once, so many a second."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from apps.notifications.channels import channel as channel_of
from apps.notifications.models import Delivery, DeliveryAttempt, Lane

State, Reason = Delivery.State, Delivery.Reason
RESENT_WHEN_UNSURE = 1
"""How often a message goes out again that may have arrived, to a peer that knows no repeats."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be taken now; look again after so many seconds, or when woken."""

    seconds: float | None = None


@transaction.atomic
def claim(channel: str, *, now: datetime) -> Delivery | Wait:
    """The delivery that is due longest, ours alone until the lease is over."""
    lane = _lane(channel, now)
    if lane.free_at > now:
        return Wait((lane.free_at - now).total_seconds())
    if _in_flight(channel, now) >= settings.NOTIFICATION_LANES[channel]["at_once"]:
        return Wait()
    while row := _due(channel, now):
        _note_lost(row, now)
        if row.is_open:
            return _taken(row, lane, now)
    return Wait()


def _lane(channel: str, now: datetime) -> Lane:
    """Its row, locked: whoever takes from a channel does so alone, for a moment."""
    lane = Lane.objects.select_for_update().filter(pk=channel).first()
    if lane is None:
        Lane.objects.bulk_create([Lane(pk=channel, free_at=now)], ignore_conflicts=True)
        lane = Lane.objects.select_for_update().get(pk=channel)
    return lane


def _in_flight(channel: str, now: datetime) -> int:
    rows = Delivery.across_tenants.filter(channel=channel, state=State.SENDING, due_at__gt=now)
    return int(rows.count())


def _due(channel: str, now: datetime) -> Delivery | None:
    """Locked: whoever is late may just be saying that it was sent."""
    rows = Delivery.across_tenants.filter(
        Q(endpoint=None) | Q(endpoint__paused_until=None) | Q(endpoint__paused_until__lte=now),
        channel=channel,
        state__in=[State.WAITING, State.SENDING],
        due_at__lte=now,
    )
    held = rows.order_by("due_at", "id").select_for_update(of=("self",), skip_locked=True)
    found: Delivery | None = held.first()
    return found


def _note_lost(row: Delivery, now: datetime) -> None:
    """A try whose lease is over has no end that we know of: it may have arrived."""
    if row.state != State.SENDING:
        return
    row.lost += 1
    DeliveryAttempt.objects.create(
        delivery=row, outcome=DeliveryAttempt.Outcome.LOST, began_at=row.due_at - lease()
    )
    if row.lost > RESENT_WHEN_UNSURE and not channel_of(row.channel).REPEATABLE:
        row.state, row.reason, row.settled_at = State.FAILED, Reason.UNSURE, now
        _write(row)


def _taken(row: Delivery, lane: Lane, now: datetime) -> Delivery:
    row.state, row.claim_token, row.due_at = State.SENDING, uuid4(), now + lease()
    row.attempts += 1
    _write(row)
    interval = timedelta(seconds=1 / settings.NOTIFICATION_LANES[row.channel]["per_second"])
    lane.free_at = max(lane.free_at, now) + interval
    lane.save(update_fields=["free_at"])
    return row


def _write(row: Delivery) -> None:
    Delivery.across_tenants.filter(pk=row.pk).update(
        state=row.state, reason=row.reason, due_at=row.due_at, attempts=row.attempts,
        lost=row.lost, settled_at=row.settled_at,
        claim_token=row.claim_token if row.state == State.SENDING else None,
    )  # fmt: skip


def lease() -> timedelta:
    return timedelta(seconds=settings.NOTIFICATION_LEASE_SECONDS)
