"""What watch remembers: who watches what, what is being counted, what was found."""

from .alerts import Alert, AlertEvent, AlertHistory, AlertWatcher
from .escalations import Audience, Escalation, EscalationStep
from .subscriptions import Channel, RuleVersion, SeededDefault, Subscription
from .windows import Expectation, WindowEntry

__all__ = [
    "Alert",
    "AlertEvent",
    "AlertHistory",
    "AlertWatcher",
    "Audience",
    "Channel",
    "Escalation",
    "EscalationStep",
    "Expectation",
    "RuleVersion",
    "SeededDefault",
    "Subscription",
    "WindowEntry",
]
