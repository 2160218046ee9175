"""Fires on time what is about nothing happening."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from apps.events import selectors
from apps.watch.engine import telling
from apps.watch.engine.compiled import THEN, Stepping
from apps.watch.engine.index import Watcher, rows_in_force, watcher_of
from apps.watch.engine.occurrences import of_stored
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
            fired += _settle(due, now)
        if len(due) < BATCH:
            return fired


def _claim(now: datetime) -> list[Expectation]:
    rows = Expectation.objects.select_for_update(skip_locked=True)
    return list(rows.filter(state=State.OPEN, due_at__lte=now).order_by("due_at", "id")[:BATCH])


def _settle(due: Sequence[Expectation], now: datetime) -> int:
    watchers = _watchers({row.subscription_id for row in due})
    matches = []
    for row in due:
        watcher = watchers.get(row.subscription_id)
        row.state, row.settled_at = _outcome(row, watcher), now
        if watcher and row.state == State.FIRED:
            matches.append(_silence(row, watcher))
    Expectation.objects.bulk_update(due, ["state", "settled_at"])
    raise_alerts(matches, now=now)
    return len(matches)


def _watchers(ids: set[UUID]) -> dict[UUID, Watcher]:
    return {row[0]: watcher_of(row) for row in rows_in_force(pk__in=ids)} if ids else {}


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
        until=row.due_at,
        aggregate_id=None if compiled.rule.group_by else row.group_value,
    )
    return any(
        made.part == THEN and made.group == row.group_value
        for happened in stored
        if happened.event_id != row.event_id
        for made in compiled.contributions(of_stored(happened))
    )


def _silence(row: Expectation, watcher: Watcher) -> Match:
    return telling.of_silence(watcher, row.group_value, row.about, row.event_id, row.due_at)
