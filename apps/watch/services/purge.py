"""Forgets what no window can need any more."""

from datetime import datetime, timedelta

from django.db import connection

from apps.watch.models import Expectation

KEPT = timedelta(days=14)

# A day longer than the window: an event that comes late, or again, still finds its neighbours.
_ENTRIES = """
DELETE FROM watch_windowentry w USING watch_subscription s
WHERE s.id = w.subscription_id
  AND (w.revision < s.revision OR w.occurred_at < %s - interval '1 day' - interval '1 hour' *
       coalesce((s.rule->>'window_hours')::float, (s.rule->>'within_hours')::float, 1))
"""


def purge_windows(*, now: datetime) -> int:
    """Forget entries that left their windows and expectations settled long ago."""
    with connection.cursor() as cursor:
        cursor.execute(_ENTRIES, [now])
        entries = cursor.rowcount
    expectations, _by_table = Expectation.objects.filter(settled_at__lt=now - KEPT).delete()
    return int(entries + expectations)
