"""Wakes whoever sends, once what there is to send is committed."""

from collections import Counter
from collections.abc import Iterable
from functools import partial

from django.conf import settings
from django.db import transaction


def nudge(channels: Iterable[str]) -> None:
    """Ask for as many hands as a channel has, at most. The sweep finds what this forgets."""
    for channel, count in Counter(channels).items():
        hands = min(count, settings.NOTIFICATION_LANES[channel]["at_once"])
        for _number in range(hands):
            transaction.on_commit(partial(_ask, channel), robust=True)


def _ask(channel: str) -> None:
    from apps.notifications.tasks import deliver

    deliver.delay(channel)
