"""Finds in the stored events what belongs into the windows of a rule."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import islice

from apps.events import selectors

from .compiled import Counting, Stepping
from .evaluating import counted
from .index import Watcher
from .occurrences import ANY_TIME, LATEST, of_stored
from .windows import KEPT_BEYOND, Counted

CHUNK = 500


def stored_contributions(watcher: Watcher, *, now: datetime) -> Iterator[list[Counted]]:
    """What the stored events add to this watcher's windows, in portions."""
    entries = _contributions(_as_of(watcher, now))
    while portion := list(islice(entries, CHUNK)):
        yield portion


def _as_of(watcher: Watcher, now: datetime) -> Watcher:
    """What the purge has forgotten was looked at: it fills windows, and alerts nobody again."""
    forgotten = now - watcher.compiled.span - KEPT_BEYOND  # type: ignore[union-attr]
    return replace(watcher, since=max(watcher.since, forgotten))


def _contributions(watcher: Watcher) -> Iterator[Counted]:
    compiled = watcher.compiled
    assert isinstance(compiled, Counting | Stepping)
    stored = selectors.history(
        tenant_id=watcher.tenant_id,
        event_types=watcher.event_types,
        since=watcher.since - compiled.span - LATEST,
        until=ANY_TIME,
    )
    for happened in stored:
        yield from counted(watcher, of_stored(happened))
