"""Forgets what no window can need any more."""

from datetime import datetime, timedelta

import redis
from django.db import connection

from apps.events import selectors as events
from apps.events.bus import BusUnavailable
from apps.watch.engine.windows import KEPT_BEYOND
from apps.watch.models import Expectation

from .subscribe import GROUP

KEPT = timedelta(days=14)

_ENTRIES = """
DELETE FROM watch_windowentry w USING watch_subscription s
WHERE s.id = w.subscription_id
  AND (w.revision < s.revision OR w.occurred_at < %s - interval '1 hour' *
       coalesce((s.rule->>'window_hours')::float, (s.rule->>'within_hours')::float, 1))
"""


def purge_windows(*, now: datetime) -> int:
    """Forget entries that left their windows and expectations settled long ago."""
    with connection.cursor() as cursor:
        cursor.execute(_ENTRIES, [now - KEPT_BEYOND])
        entries = cursor.rowcount
    expectations, _by_table = Expectation.objects.filter(settled_at__lt=now - KEPT).delete()
    return int(entries + expectations)


def looked_at_until(now: datetime) -> datetime | None:
    """Until when everything was looked at: what still waits will ask for its neighbours.

    None when Redis cannot say; then nothing is old enough to be forgotten.
    """
    try:
        return now - timedelta(seconds=waiting_seconds(events.health(now)))
    except (redis.RedisError, BusUnavailable):
        return None


def waiting_seconds(health: events.Health) -> float:
    """How long the oldest event waits that the watch has still to look at; others' do not matter."""
    ours = [level.oldest_waiting_seconds for level in health.groups if level.group == GROUP]
    return max(0.0, *ours, *(level.oldest_pending_seconds for level in health.outbox))
