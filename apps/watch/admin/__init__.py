from .alerts import AlertAdmin
from .escalations import EscalationStepAdmin

__all__ = ["AlertAdmin", "EscalationStepAdmin"]
