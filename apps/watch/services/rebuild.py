"""Windows from the stored events: for a new rule, a changed one, or when somebody asks."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from apps.watch.engine import windows
from apps.watch.engine.index import Watcher, rows_in_force, watcher_of
from apps.watch.engine.rebuilding import stored_contributions
from apps.watch.models import Expectation, Subscription, WindowEntry
from apps.watch.rules import is_windowed

from .raise_alerts import raise_alerts


def rebuild_due(*, now: datetime) -> int:
    """Rebuild the windows of every subscription that waits for it; returns how many."""
    waiting = Subscription.across_tenants.filter(rebuild_due=True).values_list("pk", flat=True)
    return sum(rebuild(subscription_id=key, now=now) for key in list(waiting))


def rebuild(*, subscription_id: UUID, now: datetime) -> bool:
    """Count what is stored and not counted yet; what happened before the rule alerts nobody.

    Portion by portion, each in a transaction of its own: workers wait only for moments. Doing it
    twice, or beside them, changes nothing.
    """
    row = next(iter(rows_in_force(pk=subscription_id)), None)
    if row is not None:
        watcher = watcher_of(row)
        if is_windowed(watcher.compiled.rule):
            _forget_older(watcher)
            _count_stored(watcher, now)
    revision = {"revision": row[6]} if row else {}
    done = Subscription.across_tenants.filter(pk=subscription_id, **revision)
    return bool(done.filter(rebuild_due=True).update(rebuild_due=False))


def _forget_older(watcher: Watcher) -> None:
    for table in (WindowEntry, Expectation):
        table.objects.filter(subscription_id=watcher.id, revision__lt=watcher.revision).delete()


def _count_stored(watcher: Watcher, now: datetime) -> None:
    for portion in stored_contributions(watcher, now=now):
        with transaction.atomic():
            raise_alerts(windows.count(portion), now=now)
