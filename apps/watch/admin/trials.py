"""What a rule would have done, as a chart: when it would have fired in the last days."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from apps.watch import texts
from apps.watch.matches import Match
from apps.watch.services.try_rule import Outcome
from axiom.console.charts import columns

HOURLY_UP_TO_DAYS = 2
MOST_LISTED = 20


def told(outcome: Outcome, days: int) -> dict[str, Any]:
    """The trial for its template."""
    points = list(_points(outcome, hourly=days <= HOURLY_UP_TO_DAYS))
    return {
        "outcome": outcome,
        "days": days,
        "chart": columns(_("When it would have fired"), points),
        "busy": [(label, count) for label, count in points if count],
        "found": [_row(match) for match in outcome.found[:MOST_LISTED]],
        "more": max(0, outcome.matches - MOST_LISTED),
    }


def _points(outcome: Outcome, *, hourly: bool) -> Iterator[tuple[str, int]]:
    """How often in each day or hour of the reader's clock."""
    counts = Counter(_begin(moment, hourly) for moment in outcome.matched_at)
    for begin in _slots(outcome, hourly):
        here = timezone.localtime(begin)
        yield date_format(here, "H:i" if hourly else "MONTH_DAY_FORMAT"), counts[begin]


def _slots(outcome: Outcome, hourly: bool) -> Iterator[datetime]:
    """Every beginning once, also where the clocks are put forward or back."""
    step, moment, before = timedelta(hours=1), outcome.since, None
    while moment < outcome.until + step:
        begin = _begin(min(moment, outcome.until), hourly)
        if begin != before:
            yield begin
        before, moment = begin, moment + step


def _begin(moment: datetime, hourly: bool) -> datetime:
    """Hours in UTC, where none comes twice; days where the reader is."""
    if hourly:
        return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return timezone.localtime(moment).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def _row(match: Match) -> dict[str, Any]:
    message = texts.told(match.event_type, match.facts, match.message)
    return {"at": match.occurred_at, "message": message, "event_id": match.event_id}
