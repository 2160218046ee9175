"""What notifications react to: alerts, and that nobody answered one."""

from collections.abc import Sequence

from django.utils import timezone

from apps.events.handlers import on
from apps.events.message import Message
from apps.watch.events import AlertEscalated, AlertTriggered

from . import services


@on(AlertTriggered, AlertEscalated, group="notification_group", batch=True)
def tell(messages: Sequence[Message]) -> None:
    services.dispatch(messages, now=timezone.now())
