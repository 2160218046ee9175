"""When a watcher is left alone."""

from datetime import UTC, datetime, time

import pytest

from apps.accounts.models import Tenant, User
from apps.watch.models import Subscription
from apps.watch.severity import Severity


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def quiet():
    """Makes a subscription that is quiet at night, wherever its owner lives."""

    def make(zone, since="22:00", until="07:00"):
        return Subscription(
            tenant=Tenant(timezone="UTC"),
            user=User(timezone=zone),
            mute_from=time.fromisoformat(since),
            mute_until=time.fromisoformat(until),
        )

    return make


@pytest.mark.parametrize(
    ("zone", "moment", "is_quiet"),
    [
        ("Asia/Seoul", "2026-02-01T12:59:59", False),  # 21:59:59
        ("Asia/Seoul", "2026-02-01T13:00:00", True),  # 22:00
        ("Asia/Seoul", "2026-02-01T21:59:59", True),  # 06:59:59
        ("Asia/Seoul", "2026-02-01T22:00:00", False),  # 07:00
        # Clocks go forward in Berlin on 29 March 2026: 07:00 comes an hour of UTC earlier.
        ("Europe/Berlin", "2026-03-28T05:59:59", True),
        ("Europe/Berlin", "2026-03-29T04:59:59", True),
        ("Europe/Berlin", "2026-03-29T05:00:00", False),
        # Clocks go back in New York on 1 November 2026.
        ("America/New_York", "2026-10-31T10:59:59", True),
        ("America/New_York", "2026-10-31T11:00:00", False),
        ("America/New_York", "2026-11-01T11:59:59", True),
        ("America/New_York", "2026-11-01T12:00:00", False),
    ],
)
def test_quiet_hours_follow_the_owners_clock(quiet, zone, moment, is_quiet):
    assert quiet(zone).is_quiet(at(moment)) is is_quiet


def test_quiet_hours_may_lie_within_a_day(quiet):
    lunch = quiet("UTC", "12:00", "13:00")
    assert [lunch.is_quiet(at(f"2026-02-01T{h}:00")) for h in (11, 12, 13)] == [False, True, False]


def test_what_is_critical_breaks_through_quiet_hours_but_not_through_a_snooze(quiet):
    watcher = quiet("UTC")
    night = at("2026-02-01T23:00:00")
    assert watcher.is_muted(night, Severity.HIGH)
    assert not watcher.is_muted(night, Severity.CRITICAL)
    watcher.snoozed_until = at("2026-02-02T00:00:00")
    assert watcher.is_muted(night, Severity.CRITICAL)


def test_a_snooze_ends_by_itself(quiet):
    watcher = quiet("UTC", "01:00", "02:00")
    watcher.snoozed_until = at("2026-02-01T12:00:00")
    assert watcher.is_muted(at("2026-02-01T11:59:59"), Severity.LOW)
    assert not watcher.is_muted(at("2026-02-01T12:00:00"), Severity.LOW)
