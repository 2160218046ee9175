from .alerts import AlertAdmin
from .escalations import EscalationStepAdmin
from .subscriptions import SubscriptionAdmin

__all__ = ["AlertAdmin", "EscalationStepAdmin", "SubscriptionAdmin"]
