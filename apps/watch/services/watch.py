"""Looks at every event: holds it against the rules, and gives new people their defaults."""

from collections.abc import Sequence
from datetime import datetime

from apps.accounts.events import UserCreated
from apps.events.message import Message
from apps.watch.engine.evaluating import evaluate
from apps.watch.engine.index import RuleIndex

from .raise_alerts import raise_alerts
from .seed import seed_new_person

index = RuleIndex()
"""Of this process."""


def watch_events(messages: Sequence[Message], *, now: datetime) -> None:
    """Raise what the rules find in these events, in the transaction that is open."""
    raise_alerts(evaluate(messages, index, now=now), now=now)
    # Last: what this transaction changes may be undone, and the index must not have seen it.
    for message in messages:
        if message.event_type == UserCreated.type:
            seed_new_person(message)
