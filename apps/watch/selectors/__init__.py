"""What watch knows."""

from ..models import Channel
from .alerts import (
    Stage,
    alerts,
    alerts_by_id,
    events_of,
    history_of,
    is_still_unread,
    next_stage,
    stages_of,
    watching,
)
from .recipients import Recipient, recipients_of, recipients_of_each
from .sla import By, Figures, sla, sla_in_each_tenant
from .subscriptions import own_name, subscriptions_about, subscriptions_seen_by
from .team import active_people, team_of, word_to_team

__all__ = [
    "By",
    "Channel",
    "Figures",
    "Recipient",
    "Stage",
    "active_people",
    "alerts",
    "alerts_by_id",
    "events_of",
    "history_of",
    "is_still_unread",
    "next_stage",
    "own_name",
    "recipients_of",
    "recipients_of_each",
    "sla",
    "sla_in_each_tenant",
    "stages_of",
    "subscriptions_about",
    "subscriptions_seen_by",
    "team_of",
    "watching",
    "word_to_team",
]
