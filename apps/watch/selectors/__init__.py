"""What watch knows."""

from .alerts import (
    Stage,
    alerts,
    events_of,
    history_of,
    is_still_unread,
    next_stage,
    stages_of,
    watching,
)
from .recipients import Recipient, recipients_of
from .sla import By, Figures, sla
from .subscriptions import own_name, subscriptions_about, subscriptions_seen_by

__all__ = [
    "By",
    "Figures",
    "Recipient",
    "Stage",
    "alerts",
    "events_of",
    "history_of",
    "is_still_unread",
    "next_stage",
    "own_name",
    "recipients_of",
    "sla",
    "stages_of",
    "subscriptions_about",
    "subscriptions_seen_by",
    "watching",
]
