"""Fires on time what is about nothing happening."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, transaction

from apps.events import selectors
from apps.events.failpoints import reach
from apps.watch.engine import telling
from apps.watch.engine.compiled import THEN, Stepping
from apps.watch.engine.index import Watcher, rows_in_force, watchers_of
from apps.watch.engine.occurrences import ANY_TIME, of_stored
from apps.watch.engine.quarantine import quarantine
from apps.watch.matches import Match
from apps.watch.models import Expectation

from .raise_alerts import raise_alerts

BATCH = 200
State = Expectation.State


def fire_due(*, now: datetime) -> int:
    """Raise what was expected until now and did not come; returns how many.

    Each row is claimed, settled and told in one transaction: a scan that dies leaves it as it
    was, and two scans never take the same.
    """
    fired = 0
    while True:
        with transaction.atomic():
            due = _claim(now)
            reach("absence.claimed")
            fired += _settle(due, now) if due else 0
        reach("absence.committed")
        if len(due) < BATCH:
            return fired


def _claim(now: datetime) -> list[Expectation]:
    rows = Expectation.objects.select_for_update(skip_locked=True)
    return list(rows.filter(state=State.OPEN, due_at__lte=now).order_by("due_at", "id")[:BATCH])


def _settle(due: Sequence[Expectation], now: datetime) -> int:
    watchers, broken = watchers_of(rows_in_force(pk__in={row.subscription_id for row in due}))
    matches = []
    for row in due:
        matches += _judged(row, watchers.get(row.subscription_id), broken)
        row.settled_at = now
    reach("absence.judged")
    Expectation.objects.bulk_update(due, ["state", "settled_at"])
    reach("absence.settled")
    raise_alerts(matches + quarantine(broken, now=now), now=now)
    reach("absence.before_commit")
    return len(matches)


def _judged(
    row: Expectation, watcher: Watcher | None, broken: dict[UUID, Exception]
) -> list[Match]:
    """What is told of a row whose time is over. A rule that raises waits for nothing any more."""
    try:
        row.state = _outcome(row, watcher)
        return [_silence(row, watcher)] if watcher and row.state == State.FIRED else []
    except DatabaseError:
        raise
    except Exception as error:  # noqa: BLE001  (whatever it is, the others go on)
        broken[row.subscription_id], row.state = error, State.DROPPED
        return []


def _outcome(row: Expectation, watcher: Watcher | None) -> State:
    if watcher is None or watcher.revision != row.revision:
        return State.DROPPED
    return State.ANSWERED if _came(row, watcher) else State.FIRED


def _came(row: Expectation, watcher: Watcher) -> bool:
    """Whether it happened in time but has not reached us: our own delay makes no false alarm."""
    compiled = watcher.compiled
    assert isinstance(compiled, Stepping)
    stored = selectors.history(
        tenant_id=watcher.tenant_id,
        event_types=[compiled.rule.then.event_type],
        since=row.occurred_at,
        until=ANY_TIME,
        aggregate_id=None if compiled.rule.group_by else row.group_value,
    )
    events = (of_stored(happened) for happened in stored if happened.event_id != row.event_id)
    return any(
        made.part == THEN and made.group == row.group_value
        for event in events
        if event.occurred_at <= row.due_at
        for made in compiled.contributions(event)
    )


def _silence(row: Expectation, watcher: Watcher) -> Match:
    return telling.of_silence(watcher, row.group_value, row.about, row.event_id, row.due_at)
