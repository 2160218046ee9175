"""What notifications react to: alerts, what becomes of them, and changes of the catalog."""

from collections.abc import Sequence

from django.utils import timezone

from apps.events.handlers import EVERY, on
from apps.events.message import Message
from apps.watch.events import AlertEscalated, AlertTeamNotified, AlertTriggered

from . import services


@on(AlertTriggered, AlertEscalated, AlertTeamNotified, group="notification_group", batch=True)
def tell(messages: Sequence[Message]) -> None:
    services.dispatch(messages, now=timezone.now())


@on(EVERY, group="canvas-bridge", batch=True)
def tell_browsers(messages: Sequence[Message]) -> None:
    services.bridge(messages, now=timezone.now())
