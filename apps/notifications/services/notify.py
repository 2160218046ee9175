"""Tells people: a row in each one's inbox, numbered in the order in which it becomes visible."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.notifications.models import Mailbox, Notification
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
    mailboxes = _locked({user_id for notice in notices for user_id in notice.recipient_ids})
    known = _known(mailboxes, {notice.occasion for notice in notices})
    frames, rows = [], []
    for notice in notices:
        fresh = [
            u for u in dict.fromkeys(notice.recipient_ids) if (u, notice.occasion) not in known
        ]
        known.update((user_id, notice.occasion) for user_id in fresh)
        written = [_numbered(notice, mailboxes[user_id]) for user_id in fresh]
        rows += written
        frames += _frame(written)
    Notification.objects.bulk_create(rows, batch_size=1_000)
    Mailbox.objects.bulk_update(mailboxes.values(), ["last_number"], batch_size=1_000)
    push(current_tenant_id(), frames)
    return rows


def _locked(user_ids: Iterable[UUID]) -> dict[UUID, Mailbox]:
    """Their mailboxes, made where missing. Always in one order: two of us must not cross."""
    wanted = sorted(user_ids)
    Mailbox.objects.bulk_create([Mailbox(user_id=u) for u in wanted], ignore_conflicts=True)
    rows = Mailbox.objects.filter(user_id__in=wanted).order_by("user_id").select_for_update()
    return {row.user_id: row for row in rows}


def _known(mailboxes: dict[UUID, Mailbox], occasions: set[str]) -> set[tuple[UUID, str]]:
    """What was told before: read under the lock, so that nobody tells it meanwhile."""
    rows = Notification.objects.filter(recipient_id__in=mailboxes, occasion__in=occasions)
    return set(rows.values_list("recipient_id", "occasion"))


def _numbered(notice: Notice, mailbox: Mailbox) -> Notification:
    mailbox.last_number += 1
    return Notification(
        recipient_id=mailbox.user_id,
        number=mailbox.last_number,
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
