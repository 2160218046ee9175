"""The backbone in the console: thin edges over its services and selectors."""

from .dead_letters import DeadLetterAdmin
from .history import FailedAttemptAdmin, OutboxAdmin, RetryAdmin
from .redrives import RedriveAdmin

__all__ = ["DeadLetterAdmin", "FailedAttemptAdmin", "OutboxAdmin", "RedriveAdmin", "RetryAdmin"]
