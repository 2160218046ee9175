"""Folding: which alert takes a match, and what that does to it. No database in here.

An alert takes what happens to its aggregate within 24 hours of its beginning. A match that is up
to an hour older than the alert moves its beginning back, so that it makes no difference in which
order events of an hour arrive.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from apps.events.ids import uuid7

from ..matches import Match
from ..models import Alert, AlertHistory
from ..severity import Severity

FOLDS_FOR = timedelta(hours=24)
LATE_BY = timedelta(hours=1)
FLAPS_AT = 3

Key = tuple[UUID, str, str]
News = AlertHistory.Kind
Status = Alert.Status


def key_of(match: Match) -> Key:
    return match.tenant_id, match.event_type, match.aggregate_id


def idempotency_key(tenant_id: UUID, event_type: str, aggregate_id: str, at: datetime) -> str:
    """The same for all that happens to an aggregate in that way on that day."""
    return next(iter(idempotency_keys((tenant_id, event_type, aggregate_id), [at])))


def idempotency_keys(key: Key, moments: Iterable[datetime]) -> Iterator[str]:
    """The keys of one aggregate on the days of these moments."""
    named = hashlib.sha256("\n".join((*map(str, key), "")).encode())
    for day in {at.astimezone(UTC).date() for at in moments}:
        whole = named.copy()
        whole.update(day.isoformat().encode())
        yield whole.hexdigest()


@dataclass(slots=True)
class Folded:
    """An alert while matches are folded into it, and what is new about it."""

    id: UUID
    tenant_id: UUID
    event_type: str
    aggregate_type: str
    aggregate_id: str
    case_id: UUID | None
    severity: str
    message: str
    facts: dict[str, Any] | str
    """Those of a stored alert stay the text that they are."""
    event_id: UUID | None
    caused_at: datetime
    detected_at: datetime
    last_seen_at: datetime
    count: int = 0
    status: str = Status.UNREAD
    resolved_at: datetime | None = None
    reopened: int = 0
    flapping_since: datetime | None = None
    watchers: frozenset[UUID] = frozenset()
    trace_id: str = ""
    is_new: bool = False
    is_changed: bool = False
    """More than counted: it began earlier, tells of another event, or changed its state."""
    news: dict[News, dict[str, Any]] = field(default_factory=dict)
    kept: list[Match] = field(default_factory=list)
    joined: set[UUID] = field(default_factory=set)
    _counted: set[UUID] = field(default_factory=set)

    def take(self, match: Match, *, keep: int, now: datetime) -> None:
        """One more match of this alert."""
        self._count(match, keep)
        self.last_seen_at = max(self.last_seen_at, match.occurred_at)
        if match.occurred_at < self.detected_at:
            self.detected_at, self.is_changed = match.occurred_at, True
        if self.case_id is None and match.case_id:
            self.case_id, self.is_changed = match.case_id, True
        rise = Severity(match.severity).rank - Severity(self.severity).rank
        if rise > 0:
            self._grow(match)
        elif rise == 0 and _earlier(match, self):
            self._explain_by(match)
        if (
            self.status == Status.RESOLVED
            and self.resolved_at
            and match.occurred_at > self.resolved_at
        ):
            self._recur(now)
        if match.subscription_id and match.subscription_id not in self.watchers:
            self.joined.add(match.subscription_id)

    @property
    def is_told(self) -> bool:
        """Whether those who watch hear of it now: again only when it is graver or came back."""
        if {News.RAISED, News.GRAVER} & set(self.news):
            return True
        # While it flaps, it is counted and not told again and again.
        return News.RECURRED in self.news and not self._was_flapping

    @property
    def is_unread_anew(self) -> bool:
        return bool({News.RAISED, News.GRAVER, News.RECURRED} & set(self.news))

    @property
    def _was_flapping(self) -> bool:
        return self.flapping_since is not None and News.FLAPPING not in self.news

    def _count(self, match: Match, keep: int) -> None:
        """An event counts once, however many rules it matched."""
        if match.event_id is None or match.event_id not in self._counted:
            self.count += 1
        if match.event_id is not None:
            self._counted.add(match.event_id)
        if self.count <= keep:
            self.kept.append(match)

    def _grow(self, match: Match) -> None:
        if not self.is_new:
            before = self.news.get(News.GRAVER, {}).get("from", self.severity)
            self.news[News.GRAVER] = {"from": before, "to": str(match.severity)}
            self.status, self.resolved_at = Status.UNREAD, None
        self.severity = match.severity
        self._explain_by(match)

    def _explain_by(self, match: Match) -> None:
        self.message, self.facts = match.message, match.facts
        self.event_id, self.caused_at = match.event_id, match.occurred_at
        self.trace_id, self.is_changed = match.trace_id, True

    def _recur(self, now: datetime) -> None:
        self.status, self.resolved_at, self.is_changed = Status.UNREAD, None, True
        self.reopened += 1
        self.news[News.RECURRED] = {"times": self.reopened}
        if self.reopened >= FLAPS_AT and self.flapping_since is None:
            self.flapping_since = now
            self.news[News.FLAPPING] = {"times": self.reopened}


def fold(
    matches: Iterable[Match], alerts: Iterable[Folded], *, keep: int, now: datetime
) -> list[Folded]:
    """Fold matches into these alerts, or into new ones; returns the alerts that took any."""
    known: dict[Key, list[Folded]] = {}
    for alert in alerts:
        known.setdefault((alert.tenant_id, alert.event_type, alert.aggregate_id), []).append(alert)
    taken: dict[UUID, Folded] = {}
    for match in sorted(matches, key=_order):
        beside = known.setdefault(key_of(match), [])
        found = _taker(match, beside)
        alert = found or _begin(match)
        if found is None:
            beside.append(alert)
        alert.take(match, keep=keep, now=now)
        taken[alert.id] = alert
    return list(taken.values())


def _taker(match: Match, alerts: Sequence[Folded]) -> Folded | None:
    """The alert that covers the match, else the one right after it if that is near enough."""
    before = [a for a in alerts if a.detected_at <= match.occurred_at]
    latest = max(before, key=_began, default=None)
    if latest and match.occurred_at - latest.detected_at < FOLDS_FOR:
        return latest
    after = [a for a in alerts if a.detected_at > match.occurred_at]
    nearest = min(after, key=_began, default=None)
    return nearest if nearest and _reaches_back(nearest, match) else None


def _reaches_back(alert: Folded, match: Match) -> bool:
    # On the same day it would have the same key: however late, it is the same alert.
    same_day = alert.detected_at.astimezone(UTC).date() == match.occurred_at.astimezone(UTC).date()
    return same_day or alert.detected_at - match.occurred_at <= LATE_BY


def _begin(match: Match) -> Folded:
    return Folded(
        id=uuid7(),
        tenant_id=match.tenant_id,
        event_type=match.event_type,
        aggregate_type=match.aggregate_type,
        aggregate_id=match.aggregate_id,
        case_id=match.case_id,
        severity=match.severity,
        message=match.message,
        facts=match.facts,
        event_id=match.event_id,
        caused_at=match.occurred_at,
        detected_at=match.occurred_at,
        last_seen_at=match.occurred_at,
        trace_id=match.trace_id,
        is_new=True,
        news={News.RAISED: {"severity": str(match.severity)}},
    )


def _order(match: Match) -> tuple[Any, ...]:
    return match.occurred_at, str(match.event_id or ""), str(match.subscription_id or "")


def _began(alert: Folded) -> datetime:
    return alert.detected_at


def _earlier(match: Match, alert: Folded) -> bool:
    mine = (alert.caused_at, str(alert.event_id or ""))
    return (match.occurred_at, str(match.event_id or "")) < mine
