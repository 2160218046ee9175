"""Quiet hours and digests, as instants: on the days when clocks change, too.

A time that a clock skips is the instant at which it would have come; of a time that comes twice
the first one counts. So quiet hours are spans of instants, and a clock that is set back does not
begin them again.
"""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from .models import Preference

_DAY, _HOUR = timedelta(days=1), timedelta(hours=1)


def quiet_until(preference: Preference, zone: ZoneInfo, now: datetime) -> datetime | None:
    """When the quiet hours end that this moment lies in; None when it lies in none."""
    begin, end = preference.quiet_from, preference.quiet_until
    if begin is None or end is None:
        return None
    today = now.astimezone(zone).date()
    for day in (today - _DAY, today):
        first = _instant(day, begin, zone)
        last = _instant(day if begin < end else day + _DAY, end, zone)
        if first <= now < last:
            return last
    return None


def next_digest(preference: Preference, zone: ZoneInfo, now: datetime) -> datetime | None:
    """When the digest goes out that takes what happens now; None for who wants none."""
    if preference.digest == Preference.Digest.HOURLY:
        return now.replace(minute=0, second=0, microsecond=0).astimezone(UTC) + _HOUR
    if preference.digest == Preference.Digest.DAILY:
        return _next(preference.digest_time, zone, now)
    return None


def _next(clock: time, zone: ZoneInfo, now: datetime) -> datetime:
    today = now.astimezone(zone).date()
    days = (today + number * _DAY for number in range(3))
    return next(at for day in days if (at := _instant(day, clock, zone)) > now)


def _instant(day: date, clock: time, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, clock.replace(fold=0), zone).astimezone(UTC)
