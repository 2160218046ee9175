"""What watch remembers: who watches what, what is being counted, what was found."""

from .subscriptions import Channel, RuleVersion, SeededDefault, Subscription
from .windows import Expectation, WindowEntry

__all__ = [
    "Channel",
    "Expectation",
    "RuleVersion",
    "SeededDefault",
    "Subscription",
    "WindowEntry",
]
