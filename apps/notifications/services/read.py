"""What people do with their inbox."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import redis
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.events import keys
from apps.events.connections import redis_client
from apps.notifications.models import Mailbox, Notification


def mark_read(*, notification: Notification) -> Notification:
    """Read it; a second time changes nothing."""
    if notification.read_at is None:
        notification.read_at = timezone.now()
        notification.save(update_fields=["read_at"])
    return notification


def mark_all_read(*, user_id: Any, up_to: int) -> int:
    """Read everything up to this number, and nothing that came after it was looked at."""
    unread = Notification.objects.filter(recipient_id=user_id, read_at=None, number__lte=up_to)
    return int(unread.update(read_at=timezone.now()))


@transaction.atomic
def set_muted(*, user_id: UUID, muted: bool) -> Mailbox:
    """Switch somebody's notifications off or on, on every open stream of theirs."""
    mailbox: Mailbox
    mailbox, _ = Mailbox.objects.update_or_create(user_id=user_id, defaults={"muted": muted})
    transaction.on_commit(_look_now)
    return mailbox


def _look_now() -> None:
    """Streams look every second anyhow; this makes it at once."""
    try:
        redis_client("nudge").publish(keys.LIVE_LOOK, "")
    except redis.RedisError:
        return


def purge_notifications(*, now: datetime | None = None) -> int:
    """Forget what is older than its time, read or not."""
    before = (now or timezone.now()) - timedelta(days=settings.NOTIFICATION_DAYS)
    return Notification.across_tenants.filter(created_at__lt=before).delete()[0]
