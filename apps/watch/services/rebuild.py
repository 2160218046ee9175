"""Windows from the stored events: for a new rule, a changed one, or when somebody asks."""

from datetime import datetime
from uuid import UUID

import structlog
from django.db import DatabaseError, transaction

from apps.watch.engine import windows
from apps.watch.engine.index import Watcher, rows_in_force, watcher_of
from apps.watch.engine.quarantine import quarantine
from apps.watch.engine.rebuilding import stored_contributions
from apps.watch.engine.windows import Broken, Counted
from apps.watch.models import Expectation, Subscription, WindowEntry
from apps.watch.rules import is_windowed

from .raise_alerts import raise_alerts

log = structlog.get_logger(__name__)


def rebuild_due(*, now: datetime) -> int:
    """Rebuild the windows of every subscription that waits for it; returns how many."""
    waiting = Subscription.across_tenants.filter(rebuild_due=True).values_list("pk", flat=True)
    return sum(_rebuilt(key, now) for key in list(waiting))


def _rebuilt(subscription_id: UUID, now: datetime) -> bool:
    """Whether it was; what the database refuses is tried again, and holds nobody else up."""
    try:
        return rebuild(subscription_id=subscription_id, now=now)
    except DatabaseError:
        log.exception("windows not rebuilt", subscription=str(subscription_id))
        return False


def rebuild(*, subscription_id: UUID, now: datetime) -> bool:
    """Count what is stored and not counted yet; what happened before the rule alerts nobody.

    Portion by portion, each in a transaction of its own: workers wait only for moments. Doing it
    twice, or beside them, changes nothing. A rule that raises is set aside and reported.
    """
    row = next(iter(rows_in_force(pk=subscription_id)), None)
    if row is not None:
        _fill(row, now)
    revision = {"revision": row[6]} if row else {}
    done = Subscription.across_tenants.filter(pk=subscription_id, **revision)
    return bool(done.filter(rebuild_due=True).update(rebuild_due=False))


def _fill(row: tuple[object, ...], now: datetime) -> None:
    try:
        watcher = watcher_of(row)
        if is_windowed(watcher.compiled.rule):
            _forget_older(watcher)
            for portion in stored_contributions(watcher, now=now):
                _count_stored(portion, now)
    except DatabaseError:
        raise
    except Exception as error:  # noqa: BLE001  (whatever it is, the others go on)
        _set_aside({row[0]: error}, now)  # type: ignore[dict-item]


def _forget_older(watcher: Watcher) -> None:
    for table in (WindowEntry, Expectation):
        table.objects.filter(subscription_id=watcher.id, revision__lt=watcher.revision).delete()


@transaction.atomic
def _count_stored(portion: list[Counted], now: datetime) -> None:
    broken: Broken = {}
    matches = windows.count(portion, broken)
    raise_alerts(matches + quarantine(broken, now=now), now=now)


@transaction.atomic
def _set_aside(broken: Broken, now: datetime) -> None:
    raise_alerts(quarantine(broken, now=now), now=now)
