"""Turns what watch says into inbox rows and deliveries, in the transaction that handles it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Exists, OuterRef

from apps.accounts import selectors as accounts
from apps.events.context import acting
from apps.events.message import Message
from apps.notifications import hours
from apps.notifications.channels import Word, in_app
from apps.notifications.models import Delivery, Endpoint, Mailbox, Preference
from apps.watch import selectors as watch
from apps.watch.events import AlertEscalated, AlertTeamNotified, AlertTriggered
from apps.watch.selectors import Channel
from axiom.tenancy import current_tenant_id

from .notify import notify
from .nudge import nudge

State, Reason = Delivery.State, Delivery.Reason
PASSES_QUIET_HOURS, DIGESTED = "CRITICAL", "LOW"


@dataclass(slots=True)
class Tidings:
    """One alert at one turn, or one level of its escalation, and who is told of it how."""

    alert: Any
    level: int
    turn: int
    word: Word | None = None
    """What a colleague has to say about it."""
    channels: dict[UUID, set[str]] = field(default_factory=lambda: defaultdict(set))

    def tell(self, user_id: UUID, channels: Iterable[str]) -> None:
        """Who hears of it by two subscriptions is told once, by the channels of both."""
        self.channels[user_id].update(channels)


def dispatch(messages: Sequence[Message], *, now: datetime) -> None:
    """Tell everybody these alerts concern; for each tenant in a fixed number of statements."""
    ordered = sorted(messages, key=lambda message: str(message.tenant_id))
    for tenant_id, theirs in groupby(ordered, lambda message: message.tenant_id):
        with acting(tenant_id=tenant_id):
            _tell(_tidings([message.event for message in theirs]), now)


def _tidings(events: Sequence[Any]) -> list[Tidings]:
    alerts = watch.alerts_by_id({event.alert_id for event in events})
    known = [event for event in events if event.alert_id in alerts]
    triggered = [event for event in known if isinstance(event, AlertTriggered)]
    told = watch.recipients_of_each({(e.alert_id, e.subscription_id) for e in triggered})
    found: dict[tuple[UUID, int, int], Tidings] = {}
    for event in known:
        alert = alerts[event.alert_id]
        tidings = _of_event(event, alert)
        key = (alert.pk, tidings.level, tidings.turn)
        for user_id, channels in _told_by(event, alert, told):
            found.setdefault(key, tidings).tell(user_id, channels)
    return list(found.values())


def _of_event(event: Any, alert: Any) -> Tidings:
    if isinstance(event, AlertEscalated):
        return Tidings(alert, event.level, turn=0)
    if isinstance(event, AlertTeamNotified):
        word = Word(event.told_by, event.note)
        return Tidings(alert, level=0, turn=Delivery.WORDS + event.number, word=word)
    return Tidings(alert, level=0, turn=alert.reopened * 10 + alert.rank)


def _told_by(event: Any, alert: Any, told: Any) -> list[tuple[UUID, tuple[str, ...]]]:
    if isinstance(event, AlertEscalated):
        # Whoever looked meanwhile has called it off.
        unread = alert.status == "unread"
        return [(user_id, event.channels) for user_id in event.recipient_ids if unread]
    if isinstance(event, AlertTeamNotified):
        return [(user_id, event.channels) for user_id in event.recipient_ids if alert.is_open]
    found = told.get((event.alert_id, event.subscription_id), [])
    return [(each.user_id, each.channels) for each in found]


def _tell(tidings: list[Tidings], now: datetime) -> None:
    wishes = Wishes({user_id for each in tidings for user_id in each.channels})
    notices, deliveries = [], []
    for each in tidings:
        chosen = {u: wishes.channels(u, each) for u in each.channels if u in wishes.people}
        inboxes = [u for u, channels in chosen.items() if Channel.IN_APP in channels]
        to = [(u, wishes.people[u].language) for u in inboxes]
        notices += in_app.notices(
            each.alert, level=each.level, turn=each.turn, to=to, word=each.word
        )
        deliveries += _deliveries(each, chosen, wishes, now)
    if notices:
        notify(notices)
    _save(deliveries, now)


def _deliveries(
    tidings: Tidings, chosen: dict[UUID, set[str]], wishes: "Wishes", now: datetime
) -> list[Delivery]:
    rows: dict[tuple[UUID | None, str], Delivery] = {}
    for user_id, channels in chosen.items():
        for channel in sorted(channels):
            row = _delivery(tidings, user_id, channel, wishes, now)
            # Many who share one address are told there once.
            rows.setdefault((row.recipient_id, channel), row)
    return list(rows.values())


def _delivery(
    tidings: Tidings, user_id: UUID, channel: str, wishes: "Wishes", now: datetime
) -> Delivery:
    endpoint = wishes.endpoint(user_id, channel)
    shared = endpoint is not None and endpoint.user_id is None
    row = Delivery(
        recipient_id=None if shared else user_id, endpoint=endpoint, channel=channel,
        alert_id=tidings.alert.pk, level=tidings.level, turn=tidings.turn,
        severity=tidings.alert.severity, due_at=now, created_at=now,
    )  # fmt: skip
    if channel == Channel.IN_APP:
        row.state, row.settled_at = State.SENT, now
    elif not shared:
        wishes.put_off(row, now)
    return row


class Wishes:
    """How some people of the current tenant want to be told; a fixed number of statements."""

    def __init__(self, user_ids: set[UUID]) -> None:
        self._tenant_members(user_ids)
        preferences = Preference.objects.filter(user_id__in=self.people)
        self.preferences = {row.user_id: row for row in preferences}

    @cached_property
    def endpoints(self) -> dict[tuple[str, UUID | None], Endpoint]:
        """Addresses stay sealed here: only who sends looks at them."""
        places = Endpoint.objects.filter(is_active=True).only("id", "tenant_id", "kind", "user_id")
        return {(row.kind, row.user_id): row for row in places}

    def _tenant_members(self, user_ids: set[UUID]) -> None:
        members = accounts.members_of(current_tenant_id())
        switched_off = Mailbox.objects.filter(user=OuterRef("user"), muted=True)
        here = members.filter(user_id__in=user_ids, user__is_active=True)
        found = list(here.annotate(muted=Exists(switched_off)))
        self.people = {member.user_id: member.user for member in found}
        self.muted = {member.user_id for member in found if member.muted}

    def channels(self, user_id: UUID, tidings: Tidings) -> set[str]:
        """Their choice for this severity; an escalation goes where the policy says."""
        given, preference = tidings.channels[user_id], self.preferences.get(user_id)
        chosen = preference.channels_for(tidings.alert.severity) if preference else None
        return given if tidings.level or chosen is None else set(chosen)

    def endpoint(self, user_id: UUID, channel: str) -> Endpoint | None:
        if channel not in Endpoint.Kind.values:
            return None
        return self.endpoints.get((channel, user_id)) or self.endpoints.get((channel, None))

    def put_off(self, row: Delivery, now: datetime) -> None:
        """Not at all while notifications are off, with the digest, or after the quiet hours."""
        assert row.recipient_id
        preference, zone = self.preferences.get(row.recipient_id), self._zone(row.recipient_id)
        if row.recipient_id in self.muted:
            row.state, row.reason, row.settled_at = State.SKIPPED, Reason.OFF, now
        elif preference and row.severity == DIGESTED and not (row.level or row.word):
            row.digest_at = hours.next_digest(preference, zone, now)
        if preference and row.severity != PASSES_QUIET_HOURS:
            row.due_at = hours.quiet_until(preference, zone, now) or now

    def _zone(self, user_id: UUID) -> ZoneInfo:
        return ZoneInfo(self.people[user_id].timezone)


def _save(rows: list[Delivery], now: datetime) -> None:
    """Each once, whatever else says the same; who is asked to send hears after the commit."""
    _bundle([row for row in rows if row.digest_at])
    Delivery.objects.bulk_create(rows, ignore_conflicts=True, batch_size=1_000)
    nudge(row.channel for row in rows if row.state == State.WAITING and row.due_at <= now)


def _bundle(rows: list[Delivery]) -> None:
    """Put these into the digests of their people and periods, made where missing."""
    if not rows:
        return
    wanted = {(row.recipient_id, row.channel, row.digest_at): row for row in rows}
    Delivery.objects.bulk_create(
        [_digest(row) for row in wanted.values()], ignore_conflicts=True, batch_size=1_000
    )
    found = Delivery.objects.filter(
        alert=None, recipient_id__in={key[0] for key in wanted},
        digest_at__in={key[2] for key in wanted},
    )  # fmt: skip
    digests = {(each.recipient_id, each.channel, each.digest_at): each for each in found}
    for row in rows:
        row.bundle = digests[row.recipient_id, row.channel, row.digest_at]
        row.state, row.digest_at = State.BUNDLED, None


def _digest(row: Delivery) -> Delivery:
    assert row.digest_at
    return Delivery(
        recipient_id=row.recipient_id, endpoint=row.endpoint, channel=row.channel,
        severity=DIGESTED, digest_at=row.digest_at, due_at=row.digest_at,
    )  # fmt: skip
