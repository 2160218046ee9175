"""Finds in the stored events what belongs into the windows of a rule."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from apps.events import selectors

from .compiled import Counting, Stepping
from .evaluating import counted
from .index import Watcher
from .occurrences import LATEST, of_stored
from .windows import Counted

CHUNK = 500


def stored_contributions(watcher: Watcher, *, now: datetime) -> Iterator[list[Counted]]:
    """What the stored events add to this watcher's windows, in portions."""
    entries = _contributions(watcher, now)
    while portion := list(islice(entries, CHUNK)):
        yield portion


def _contributions(watcher: Watcher, now: datetime) -> Iterator[Counted]:
    compiled = watcher.compiled
    assert isinstance(compiled, Counting | Stepping)
    stored = selectors.history(
        tenant_id=watcher.tenant_id,
        event_types=watcher.event_types,
        since=min(watcher.since, now) - compiled.span - LATEST,
        until=now + LATEST,
    )
    for happened in stored:
        yield from counted(watcher, of_stored(happened))
