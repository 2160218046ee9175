"""What notifications know: inboxes, and how far each has come."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from apps.accounts.selectors import login_goes_on
from apps.notifications.models import Delivery, Mailbox, Notification
from axiom.roles import Role

Member = tuple[UUID, UUID]
"""A tenant and a person in it."""

Entry = tuple[UUID, str]
"""A login, and the stamp of the password it was opened with."""

Standing = tuple[int, bool]
"""The last number, and whether notifications are off."""

REPLAYED = 10
LONGEST_REPLAY = 500


def inbox_of(user_id: Any) -> QuerySet[Notification]:
    """Somebody's notifications in the current tenant."""
    inbox: QuerySet[Notification] = Notification.objects.filter(recipient_id=user_id)
    return inbox


def unread_count(user_id: Any) -> int:
    return inbox_of(user_id).filter(read_at=None).count()


def last_number(user_id: Any) -> int:
    return mailbox_of(user_id).last_number


def mailbox_of(user_id: Any) -> Mailbox:
    """Somebody's mailbox in the current tenant; a new one, unsaved, if nothing came yet."""
    return Mailbox.objects.filter(user_id=user_id).first() or Mailbox(user_id=user_id)


def deliveries_seen_by(*, user_id: Any, role: str) -> QuerySet[Delivery]:
    """One's own; an admin sees all of the tenant."""
    rows: QuerySet[Delivery] = Delivery.objects.select_related("recipient", "endpoint")
    return rows if role == Role.ADMIN else rows.filter(recipient_id=user_id)


def deliveries_due(*, before: datetime) -> int:
    """How many wait since before this moment, in all tenants."""
    waiting = [Delivery.State.WAITING, Delivery.State.SENDING]
    rows = Delivery.across_tenants.filter(state__in=waiting, due_at__lt=before)
    return int(rows.count())


def deliveries_failed(*, since: datetime) -> int:
    """How many were given up since this moment, in all tenants."""
    rows = Delivery.across_tenants.filter(state=Delivery.State.FAILED, settled_at__gte=since)
    return int(rows.count())


def told(notification: Notification) -> dict[str, Any]:
    """A notification as browsers get it, the same for everybody who was told it."""
    return {
        "kind": notification.kind,
        "severity": notification.severity,
        "title": notification.title,
        "body": notification.body,
        "link": notification.link,
        "facts": notification.facts,
        "created_at": notification.created_at,
    }


@dataclass(frozen=True, slots=True)
class Replay:
    """What a stream has to say before it goes live."""

    numbered: list[tuple[int, dict[str, Any]]]
    last_number: int
    muted: bool
    cut: bool = False
    """There was more than one replay carries: read the inbox instead."""


def replay_for(member: Member, after: int | None) -> Replay:
    """What came after this number, or the newest unread ones; up to the last number, not beyond.

    A number from elsewhere (another tenant's stream, data loaded anew) is as good as none.
    """
    mailbox = Mailbox.across_tenants.filter(tenant_id=member[0], user_id=member[1]).first()
    if mailbox is None:
        return Replay([], 0, muted=False)
    end = mailbox.last_number
    if mailbox.muted:
        return Replay([], end, muted=True)
    known = _of(member).filter(number__lte=end)
    if after is None or after > end:
        newest = list(known.filter(read_at=None).order_by("-number")[:REPLAYED])
        return Replay(_numbered(reversed(newest)), end, muted=False)
    missed = list(known.filter(number__gt=after).order_by("-number")[: LONGEST_REPLAY + 1])
    cut = len(missed) > LONGEST_REPLAY
    return Replay(_numbered(reversed(missed[:LONGEST_REPLAY])), end, muted=False, cut=cut)


def _of(member: Member) -> QuerySet[Notification]:
    return Notification.across_tenants.filter(tenant_id=member[0], recipient_id=member[1])


def _numbered(rows: Iterable[Notification]) -> list[tuple[int, dict[str, Any]]]:
    return [(row.number, told(row)) for row in rows]


@dataclass(frozen=True, slots=True)
class Truth:
    """What the database says about people whose streams are open: only what is not as they think."""

    ended: set[Entry]
    """Logins that no longer let their person in, or whose password is another one now."""
    mailboxes: dict[Member, Standing]
    """Those that have more than was told, or are or were muted."""


# Perhaps: who changed the password themselves goes on with the login they changed it in.
_ENDED_LOGINS = """
SELECT asked.id, asked.stamp FROM unnest(%s::uuid[], %s::text[]) AS asked(id, stamp)
WHERE NOT EXISTS (
    SELECT FROM accounts_loginsession l
    JOIN accounts_user u ON u.id = l.user_id
    JOIN accounts_membership m ON m.id = l.membership_id
    JOIN accounts_tenant t ON t.id = m.tenant_id
    WHERE l.id = asked.id AND md5(u.password) = asked.stamp
      AND l.revoked_at IS NULL AND l.expires_at > now() AND u.is_active AND t.is_active
)
"""
_MAILBOXES = """
SELECT b.tenant_id, b.user_id, b.last_number, b.muted
FROM unnest(%s::uuid[], %s::uuid[], %s::bigint[], %s::boolean[])
     AS asked(tenant_id, user_id, last_number, muted)
JOIN notifications_mailbox b USING (tenant_id, user_id)
WHERE b.last_number > asked.last_number OR b.muted OR asked.muted
"""
_SINCE = """
SELECT n.* FROM unnest(%s::uuid[], %s::uuid[], %s::bigint[]) AS asked(tenant_id, user_id, number)
CROSS JOIN LATERAL (
    SELECT * FROM notifications_notification found
    WHERE found.tenant_id = asked.tenant_id AND found.recipient_id = asked.user_id
      AND found.number > asked.number
    ORDER BY found.number LIMIT %s
) n
ORDER BY n.number
"""


def truth_about(logins: Collection[Entry], told_up_to: Mapping[Member, Standing]) -> Truth:
    """Two statements, however many streams are open; answers as short as they are uneventful."""
    members, standings = list(told_up_to), list(told_up_to.values())
    with connection.cursor() as cursor:
        cursor.execute(_ENDED_LOGINS, [[e[0] for e in logins], [e[1] for e in logins]])
        ended = {(row[0], row[1]) for row in cursor.fetchall() if not login_goes_on(str(row[0]))}
        cursor.execute(_MAILBOXES, [
            [m[0] for m in members], [m[1] for m in members],
            [s[0] for s in standings], [s[1] for s in standings],
        ])  # fmt: skip
        mailboxes = {(row[0], row[1]): (row[2], row[3]) for row in cursor.fetchall()}
    return Truth(ended, mailboxes)


def since(places: dict[Member, int]) -> list[tuple[Member, int, dict[str, Any]]]:
    """What came after these places, in order; one statement for all of them."""
    asked = [[m[0] for m in places], [m[1] for m in places], list(places.values())]
    rows = Notification.across_tenants.raw(_SINCE, [*asked, LONGEST_REPLAY])
    return [((row.tenant_id, row.recipient_id), row.number, told(row)) for row in rows]
