"""What watch reacts to: everything."""

from collections.abc import Sequence

from django.utils import timezone

from apps.events.handlers import EVERY, on
from apps.events.message import Message

from . import services


@on(EVERY, group="watch_cep_group", batch=True)
def watch(messages: Sequence[Message]) -> None:
    services.watch_events(messages, now=timezone.now())
