"""Tries a rule on what is stored before it is saved, and says of one event why or why not."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from apps.accounts import selectors as accounts
from apps.events import selectors as events
from apps.watch.engine.compiled import Compiled, Plain, compile_rule
from apps.watch.engine.explaining import Explained, explain_event
from apps.watch.engine.index import Watcher
from apps.watch.engine.occurrences import ANY_TIME, of_stored
from apps.watch.engine.trying import Trial, folded
from apps.watch.errors import EventNotStored, NothingToWatch
from apps.watch.matches import Match
from apps.watch.models import Subscription
from apps.watch.rules import event_types_of, parse
from apps.watch.severity import Severity

from .subscribe import watchable

MOST_DAYS = 30
MOST_EVENTS = 100_000
MOST_SHOWN = 100
_TRIED = UUID(int=0)


@dataclass(frozen=True)
class Outcome:
    """What a rule would have done."""

    since: datetime
    until: datetime
    events: int
    """How many events were looked at."""
    matches: int
    alerts: int
    truncated: bool
    """There were more events than are looked at; the later ones were left out."""
    found: list[Match]
    """The first matches."""
    matched_at: list[datetime]
    """When each of all of them was, by event time."""


def try_rule(
    *, tenant_id: UUID, rule: Any, event_types: Iterable[str], days: int, now: datetime,
    most: int = MOST_EVENTS,
) -> Outcome:  # fmt: skip
    """Which alerts this rule would have raised in the last days, from what is stored of them."""
    watcher = _watcher(tenant_id, rule, event_types, since=now - timedelta(days=days))
    trial = Trial(watcher, until=now)
    stored = events.history(
        tenant_id=tenant_id,
        event_types=watcher.event_types,
        since=watcher.since - _span(watcher.compiled),
        until=ANY_TIME,
    )
    for happened in islice(stored, most):
        trial.look_at(of_stored(happened))
    matches, truncated = trial.end(), next(stored, None) is not None
    return Outcome(
        watcher.since, now, trial.looked_at, len(matches), len(folded(matches)), truncated,
        matches[:MOST_SHOWN], [match.occurred_at for match in matches],
    )  # fmt: skip


def explain_rule(
    *, tenant_id: UUID, event_id: UUID, rule: Any, event_types: Iterable[str] = ()
) -> Explained:
    """Why this event matches this rule, or why not, with the actual values."""
    happened = events.stored_event(tenant_id=tenant_id, event_id=event_id)
    if happened is None:
        raise EventNotStored
    types = list(event_types) or [happened.event_type]
    watcher = _watcher(tenant_id, rule, types, since=happened.occurred_at)
    return explain_event(watcher, of_stored(happened), _zone(tenant_id))


def explain_subscription(*, subscription: Subscription, event_id: UUID) -> Explained:
    assert subscription.tenant_id
    return explain_rule(
        tenant_id=subscription.tenant_id, event_id=event_id, rule=subscription.rule,
        event_types=subscription.event_types,
    )  # fmt: skip


def _watcher(tenant_id: UUID, rule: Any, event_types: Iterable[str], *, since: datetime) -> Watcher:
    parsed = parse(rule)
    types = watchable(event_types_of(parsed) or event_types)
    if not types:
        raise NothingToWatch
    compiled = compile_rule(parsed, _zone(tenant_id))
    return Watcher(_TRIED, tenant_id, "", Severity.LOW, tuple(types), since, 1, "", compiled)


def _zone(tenant_id: UUID) -> ZoneInfo:
    tenant = accounts.tenant_by_id(tenant_id)
    return ZoneInfo(tenant.timezone if tenant else "UTC")


def _span(compiled: Compiled) -> timedelta:
    return timedelta(0) if isinstance(compiled, Plain) else compiled.span
