"""What notifications react to: alerts, that nobody answered one, and changes of the catalog."""

from collections.abc import Sequence

from django.utils import timezone

from apps.events.handlers import EVERY, on
from apps.events.message import Message
from apps.watch.events import AlertEscalated, AlertTriggered

from . import services


@on(AlertTriggered, AlertEscalated, group="notification_group", batch=True)
def tell(messages: Sequence[Message]) -> None:
    services.dispatch(messages, now=timezone.now())


@on(EVERY, group="canvas-bridge", batch=True)
def tell_browsers(messages: Sequence[Message]) -> None:
    services.bridge(messages, now=timezone.now())
