"""Tells people: a row in each one's inbox, numbered in the order in which it becomes visible."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from apps.notifications.models import Notification
from apps.notifications.selectors import told
from apps.notifications.services.push import Frame, push
from axiom.tenancy import current_tenant_id


@dataclass(frozen=True, slots=True)
class Notice:
    """What some people of the current tenant are to be told, in one language."""

    recipient_ids: Sequence[UUID]
    occasion: str
    kind: str
    title: str
    body: str = ""
    severity: str = ""
    link: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


# No savepoint: nobody goes on after half of it.
@transaction.atomic(savepoint=False)
def notify(notices: Sequence[Notice]) -> list[Notification]:
    """Put these notices into the inboxes, each once per person and occasion; returns the new ones.

    However many there are, the number of statements is the same.
    """
    numbers = _locked({user_id for notice in notices for user_id in notice.recipient_ids})
    known = _known(numbers, {notice.occasion for notice in notices})
    frames, rows = [], []
    for notice in notices:
        fresh = [
            u for u in dict.fromkeys(notice.recipient_ids) if (u, notice.occasion) not in known
        ]
        known.update((user_id, notice.occasion) for user_id in fresh)
        written = [_numbered(notice, user_id, numbers) for user_id in fresh]
        rows += written
        frames += _frame(written)
    Notification.objects.bulk_create(rows, batch_size=1_000)
    _remember(numbers)
    push(current_tenant_id(), frames)
    return rows


# Always in one order: two of us must not cross. What changes nothing locks all the same.
_LOCK = """
INSERT INTO notifications_mailbox (tenant_id, user_id, last_number, muted)
SELECT %s, user_id, 0, false FROM unnest(%s::uuid[]) AS user_id ORDER BY user_id
ON CONFLICT (tenant_id, user_id) DO UPDATE SET last_number = notifications_mailbox.last_number
RETURNING user_id, last_number
"""
_REMEMBER = """
UPDATE notifications_mailbox AS mailbox SET last_number = told.number
FROM unnest(%s::uuid[], %s::bigint[]) AS told(user_id, number)
WHERE mailbox.tenant_id = %s AND mailbox.user_id = told.user_id
"""


def _locked(user_ids: Collection[UUID]) -> dict[UUID, int]:
    """How far their mailboxes have come, locked; made where missing."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [current_tenant_id(), list(user_ids)])
        return dict(cursor.fetchall())


def _remember(numbers: dict[UUID, int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_REMEMBER, [list(numbers), list(numbers.values()), current_tenant_id()])


def _known(user_ids: Iterable[UUID], occasions: set[str]) -> set[tuple[UUID, str]]:
    """What was told before: read under the lock, so that nobody tells it meanwhile."""
    rows = Notification.objects.filter(recipient_id__in=user_ids, occasion__in=occasions)
    return set(rows.values_list("recipient_id", "occasion"))


def _numbered(notice: Notice, user_id: UUID, numbers: dict[UUID, int]) -> Notification:
    numbers[user_id] += 1
    return Notification(
        recipient_id=user_id,
        number=numbers[user_id],
        occasion=notice.occasion,
        kind=notice.kind,
        severity=notice.severity,
        title=notice.title,
        body=notice.body,
        link=notice.link,
        facts=notice.facts,
    )


def _frame(written: list[Notification]) -> list[Frame]:
    """One frame for all who are told the same, so that it is serialised once."""
    to: dict[str, int | None] = {str(row.recipient_id): row.number for row in written}
    return [Frame("notification", told(written[0]), to)] if to else []
