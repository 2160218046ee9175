"""Deliveries that wait: until their next attempt is due, or behind one of their aggregate."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db.models import Exists, OuterRef
from django.utils import timezone

from .groups import Group
from .message import Message, position
from .models import Retry


def put_off(message: Message, group: str, attempts: int, due_at: datetime) -> None:
    """Deliver this again, not before then."""
    Retry.objects.update_or_create(
        group=group, event_id=message.event_id,
        defaults={**_entry_of(message), "attempts": attempts, "due_at": due_at},
    )  # fmt: skip


def call_off(message: Message, group: str) -> None:
    Retry.objects.filter(group=group, event_id=message.event_id).delete()


def next_due(group: Group) -> Retry | None:
    """A delivery whose time has come, locked; in an ordered group the first of its aggregate."""
    due = Retry.objects.filter(group=group.name, due_at__lte=timezone.now())
    if group.ordered:
        earlier = Retry.objects.filter(
            group=OuterRef("group"), aggregate=OuterRef("aggregate"),
            position__lt=OuterRef("position"),
        )  # fmt: skip
        due = due.filter(~Exists(earlier))
    return due.order_by("id").select_for_update(skip_locked=True).first()


def park_followers(group: Group, messages: Sequence[Message]) -> list[Message]:
    """In an ordered group, what follows a waiting event of its aggregate waits behind it.

    Returns the others.
    """
    if not group.ordered:
        return list(messages)
    blocked = _waiting(group.name, {message.aggregate for message in messages})
    _park(group.name, [m for m in messages if m.aggregate in blocked])
    return [m for m in messages if m.aggregate not in blocked]


def _waiting(group: str, aggregates: Iterable[str]) -> set[str]:
    waiting = Retry.objects.filter(group=group, aggregate__in=aggregates)
    return set(waiting.values_list("aggregate", flat=True))


def _park(group: str, messages: Sequence[Message]) -> None:
    now = timezone.now()
    Retry.objects.bulk_create(
        [Retry(group=group, event_id=m.event_id, due_at=now, **_entry_of(m)) for m in messages],
        ignore_conflicts=True,
    )


def _entry_of(message: Message) -> dict[str, object]:
    return {
        "aggregate": message.aggregate,
        "stream": message.stream,
        "entry_id": message.entry_id,
        "position": position(message.entry_id),
        "fields": dict(message.fields),
    }
