"""What notifications do."""

from apps.notifications.services.bridge import bridge
from apps.notifications.services.notify import Notice, notify
from apps.notifications.services.push import Frame, push
from apps.notifications.services.read import (
    mark_all_read,
    mark_read,
    purge_notifications,
    set_muted,
)
from apps.notifications.services.tickets import issue_ticket

__all__ = [
    "Frame",
    "Notice",
    "bridge",
    "issue_ticket",
    "mark_all_read",
    "mark_read",
    "notify",
    "purge_notifications",
    "push",
    "set_muted",
]
