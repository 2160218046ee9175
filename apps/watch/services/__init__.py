"""What watch does."""

from .escalate import escalate_due
from .follow_up import record_action, record_root_cause, record_team_notified
from .raise_alerts import raise_alerts
from .settle import acknowledge, dismiss, resolve
from .settle_many import settle_many

__all__ = [
    "acknowledge",
    "dismiss",
    "escalate_due",
    "raise_alerts",
    "record_action",
    "record_root_cause",
    "record_team_notified",
    "resolve",
    "settle_many",
]
