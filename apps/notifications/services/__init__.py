"""What notifications do."""

from apps.notifications.services.notify import Notice, notify  # isort: skip  (channels stand on it)
from apps.notifications.services.acknowledge import acknowledge_by_link, read_link
from apps.notifications.services.bridge import bridge
from apps.notifications.services.dispatch import dispatch
from apps.notifications.services.endpoints import (
    add_endpoint,
    change_endpoint,
    remove_endpoint,
    rotate_secret,
)
from apps.notifications.services.prefer import save_preference
from apps.notifications.services.push import Frame, push
from apps.notifications.services.read import (
    mark_all_read,
    mark_read,
    purge_notifications,
    set_muted,
)
from apps.notifications.services.resend import purge_deliveries, resend, sweep
from apps.notifications.services.send import deliver_due
from apps.notifications.services.tickets import issue_ticket

__all__ = [
    "Frame",
    "Notice",
    "acknowledge_by_link",
    "add_endpoint",
    "bridge",
    "change_endpoint",
    "deliver_due",
    "dispatch",
    "issue_ticket",
    "mark_all_read",
    "mark_read",
    "notify",
    "purge_deliveries",
    "purge_notifications",
    "push",
    "read_link",
    "remove_endpoint",
    "resend",
    "rotate_secret",
    "save_preference",
    "set_muted",
    "sweep",
]
