"""What watch does."""

from .change_policy import remove_step, save_step
from .escalate import escalate_due
from .fire import fire_due
from .follow_up import record_action, record_root_cause, record_team_notified
from .purge import looked_at_until, purge_windows
from .raise_alerts import raise_alerts
from .rebuild import rebuild, rebuild_due
from .seed import seed_defaults, seed_tenant
from .settle import acknowledge, dismiss, resolve
from .settle_many import settle_many
from .subscribe import (
    change_subscription,
    release_from_quarantine,
    snooze,
    subscribe,
    unsubscribe,
    wake,
    watchable,
)
from .try_rule import explain_rule, explain_subscription, try_rule
from .watch import watch_events
from .watch_system import watch_system

__all__ = [
    "acknowledge",
    "change_subscription",
    "dismiss",
    "escalate_due",
    "explain_rule",
    "explain_subscription",
    "fire_due",
    "looked_at_until",
    "purge_windows",
    "raise_alerts",
    "rebuild",
    "rebuild_due",
    "record_action",
    "record_root_cause",
    "record_team_notified",
    "release_from_quarantine",
    "remove_step",
    "resolve",
    "save_step",
    "seed_defaults",
    "seed_tenant",
    "settle_many",
    "snooze",
    "subscribe",
    "try_rule",
    "unsubscribe",
    "wake",
    "watch_events",
    "watch_system",
    "watchable",
]
