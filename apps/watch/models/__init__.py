"""What watch remembers: who watches what, what is being counted, what was found."""

from .subscriptions import RuleVersion, SeededDefault, Subscription

__all__ = ["RuleVersion", "SeededDefault", "Subscription"]
