"""What notifications remember: inboxes, what was sent by which channel, and what people want."""

from .deliveries import Delivery, DeliveryAttempt, Lane
from .endpoints import Endpoint
from .inbox import Mailbox, Notification
from .preferences import Preference

__all__ = [
    "Delivery",
    "DeliveryAttempt",
    "Endpoint",
    "Lane",
    "Mailbox",
    "Notification",
    "Preference",
]
