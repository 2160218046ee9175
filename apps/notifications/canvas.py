"""The bridge from the catalog to browsers: the group `canvas-bridge`."""

from collections.abc import Sequence

from django.utils import timezone

from apps.events.handlers import EVERY, on
from apps.events.message import Message

from . import services


@on(EVERY, group="canvas-bridge", batch=True)
def tell_browsers(messages: Sequence[Message]) -> None:
    services.bridge(messages, now=timezone.now())
