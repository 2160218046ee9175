"""When and how people want to be told, also on the days when clocks change."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest
from django.core import mail

from apps.events.context import acting
from apps.notifications import hours
from apps.notifications.models import Delivery, Preference
from apps.notifications.services import deliver_due, sweep
from apps.watch.services import resolve

from .conftest import at
from .test_sending import Clock

# 2026: New York goes forward on 8 March and back on 1 November, Berlin on 29 March and 25 October.
QUIET = [
    # zone, from, until, now (UTC), the end (UTC) or None
    ("UTC", "22:00", "07:00", "2026-03-04T21:59", None),
    ("UTC", "22:00", "07:00", "2026-03-04T22:00", "2026-03-05T07:00"),
    ("UTC", "22:00", "07:00", "2026-03-05T06:59", "2026-03-05T07:00"),
    ("UTC", "22:00", "07:00", "2026-03-05T07:00", None),
    ("UTC", "12:00", "13:00", "2026-03-04T12:30", "2026-03-04T13:00"),
    ("UTC", "12:00", "13:00", "2026-03-04T11:59", None),
    ("Asia/Seoul", "22:00", "07:00", "2026-03-04T13:00", "2026-03-04T22:00"),
    ("Asia/Seoul", "22:00", "07:00", "2026-03-04T12:59", None),
    # The night that lacks an hour: seven o'clock comes an hour sooner.
    ("America/New_York", "22:00", "07:00", "2026-03-08T04:00", "2026-03-08T11:00"),
    ("Europe/Berlin", "22:00", "07:00", "2026-03-28T22:00", "2026-03-29T05:00"),
    # The night with an hour more.
    ("America/New_York", "22:00", "07:00", "2026-11-01T03:00", "2026-11-01T12:00"),
    ("Europe/Berlin", "22:00", "07:00", "2026-10-24T21:00", "2026-10-25T06:00"),
    # An end that the clock skips is the instant at which it would have come.
    ("America/New_York", "22:00", "02:30", "2026-03-08T05:00", "2026-03-08T07:30"),
    ("Europe/Berlin", "22:00", "02:30", "2026-03-29T00:30", "2026-03-29T01:30"),
    # An end that comes twice: the first one ends it, and the second night hour is not quiet anew.
    ("America/New_York", "22:00", "01:30", "2026-11-01T05:29", "2026-11-01T05:30"),
    ("America/New_York", "22:00", "01:30", "2026-11-01T05:30", None),
    ("America/New_York", "22:00", "01:30", "2026-11-01T06:15", None),
    ("Europe/Berlin", "22:00", "02:30", "2026-10-25T00:29", "2026-10-25T00:30"),
    ("Europe/Berlin", "22:00", "02:30", "2026-10-25T01:15", None),
    # Quiet hours inside the hour that is skipped are none.
    ("America/New_York", "02:10", "02:50", "2026-03-08T07:05", None),
]
DIGESTS = [
    ("hourly", "UTC", "09:00", "2026-03-04T12:00", "2026-03-04T13:00"),
    ("hourly", "Asia/Seoul", "09:00", "2026-03-04T12:59", "2026-03-04T13:00"),
    ("daily", "UTC", "09:00", "2026-03-04T08:59", "2026-03-04T09:00"),
    ("daily", "UTC", "09:00", "2026-03-04T09:00", "2026-03-05T09:00"),
    ("daily", "Asia/Seoul", "09:00", "2026-03-04T12:00", "2026-03-05T00:00"),
    ("daily", "America/New_York", "09:00", "2026-03-07T15:00", "2026-03-08T13:00"),
    ("daily", "America/New_York", "09:00", "2026-10-31T15:00", "2026-11-01T14:00"),
    ("daily", "Europe/Berlin", "02:30", "2026-03-28T12:00", "2026-03-29T01:30"),
    ("daily", "Europe/Berlin", "02:30", "2026-10-24T12:00", "2026-10-25T00:30"),
    ("daily", "Europe/Berlin", "02:30", "2026-10-25T00:45", "2026-10-26T01:30"),
    ("none", "UTC", "09:00", "2026-03-04T12:00", None),
]


def moment(text):
    return text and datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(("zone", "begin", "end", "now", "until"), QUIET)
def test_quiet_hours(zone, begin, end, now, until):
    wish = Preference(quiet_from=time.fromisoformat(begin), quiet_until=time.fromisoformat(end))
    found = hours.quiet_until(wish, ZoneInfo(zone), moment(now))
    assert found == moment(until)
    assert found is None or hours.quiet_until(wish, ZoneInfo(zone), found) is None


@pytest.mark.parametrize(("kind", "zone", "clock", "now", "expected"), DIGESTS)
def test_when_a_digest_goes_out(kind, zone, clock, now, expected):
    wish = Preference(digest=kind, digest_time=time.fromisoformat(clock))
    assert hours.next_digest(wish, ZoneInfo(zone), moment(now)) == moment(expected)


@pytest.fixture
def night(alice, prefer):
    """Alice sleeps from noon to eight in the evening, in UTC."""
    return prefer(alice, quiet_from=time(12), quiet_until=time(20))


def test_in_quiet_hours_it_waits_and_goes_out_at_their_end(
    night, alert, subscribe, alice, deliveries
):
    alert(subscribe(), hours=1)
    assert deliveries()["email", "alice"].due_at == at(8)
    deliver_due("email", clock=Clock(at(7.9)))
    assert mail.outbox == []
    deliver_due("email", clock=Clock(at(8)))
    assert len(mail.outbox) == 1


def test_what_is_critical_passes(night, alert, subscribe):
    alert(subscribe(), hours=1, severity="CRITICAL")
    deliver_due("email", clock=Clock(at(1)))
    assert len(mail.outbox) == 1


def test_the_inbox_does_not_sleep(night, alert, subscribe, deliveries):
    alert(subscribe(), hours=1)
    assert deliveries()["in_app", "alice"].state == "sent"


def test_what_was_settled_in_the_night_is_not_told_in_the_morning(
    in_acme, night, alert, subscribe, alice, deliveries
):
    resolve(alert=alert(subscribe(), hours=1), by=alice, root_cause="x", now=at(2))
    deliver_due("email", clock=Clock(at(8)))
    assert (mail.outbox, deliveries()["email", "alice"].reason) == ([], "settled")


def test_quiet_hours_set_after_it_was_written_count_too(
    prefer, alert, subscribe, alice, deliveries
):
    alert(subscribe(), hours=1)
    prefer(alice, quiet_from=time(12), quiet_until=time(20))
    deliver_due("email", clock=Clock(at(1)))
    row = deliveries()["email", "alice"]
    assert (mail.outbox, row.state, row.attempts, row.due_at) == ([], "waiting", 0, at(8))


@pytest.mark.parametrize(
    ("chosen", "told_by"),
    [
        ({"high": ["sms"]}, {"sms"}),
        ({"high": []}, set()),
        ({"high": None}, {"in_app", "email"}),
        ({"low": ["sms"]}, {"in_app", "email"}),
    ],
)
def test_ones_choice_for_a_severity_takes_the_place_of_the_subscriptions(
    alice, prefer, alert, subscribe, deliveries, chosen, told_by
):
    prefer(alice, **chosen)
    alert(subscribe("in_app", "email"), severity="HIGH")
    assert {channel for channel, _ in deliveries()} == told_by


def test_an_escalation_goes_where_the_policy_says(dana, prefer, alert, subscribe, said, deliveries):
    from apps.watch.services import escalate_due

    prefer(dana, critical=["in_app"])
    alert(subscribe("in_app"), severity="CRITICAL")
    escalate_due(now=at(1))
    said(at(1))
    assert {channel for channel, _ in deliveries(level=1)} == {"email", "in_app"}


@pytest.fixture
def digest(alice, prefer):
    return prefer(alice, digest="daily", digest_time=time(18))


def test_low_ones_go_out_together_once_a_period(digest, alert, subscribe, deliveries):
    mine = subscribe("email")
    for number in range(3):
        alert(mine, severity="LOW", thing=f"c{number}", hours=number)
    alert(mine, severity="HIGH", thing="grave")
    deliver_due("email", clock=Clock(at(5)))
    assert [each.subject for each in mail.outbox] == ["[HIGH] Cash of grave is low."]
    deliver_due("email", clock=Clock(at(6)))
    deliver_due("email", clock=Clock(at(7)))
    assert len(mail.outbox) == 2
    assert mail.outbox[1].subject == "3 alerts in Acme"
    assert set(Delivery.across_tenants.values_list("state", flat=True)) == {"sent"}


def test_the_next_period_has_a_digest_of_its_own(digest, alert, subscribe):
    mine = subscribe("email")
    alert(mine, severity="LOW", thing="c1")
    deliver_due("email", clock=Clock(at(6)))
    alert(mine, severity="LOW", thing="c2", hours=7)
    deliver_due("email", clock=Clock(at(8)))
    assert len(mail.outbox) == 1
    deliver_due("email", clock=Clock(at(30)))
    assert len(mail.outbox) == 2


def test_a_digest_of_what_was_settled_is_not_sent(in_acme, digest, alert, subscribe, alice):
    raised = alert(subscribe("email"), severity="LOW")
    resolve(alert=raised, by=alice, root_cause="x", now=at(2))
    deliver_due("email", clock=Clock(at(6)))
    assert mail.outbox == []
    assert set(Delivery.across_tenants.values_list("reason", flat=True)) == {"settled"}


def test_a_digest_in_quiet_hours_waits_for_their_end(digest, night, alert, subscribe):
    alert(subscribe("email"), severity="LOW")
    deliver_due("email", clock=Clock(at(6)))
    assert mail.outbox == []
    deliver_due("email", clock=Clock(at(8)))
    assert len(mail.outbox) == 1


def test_what_came_just_after_its_digest_goes_out_by_itself(digest, alert, subscribe):
    mine = subscribe("email")
    alert(mine, severity="LOW", thing="c1")
    deliver_due("email", clock=Clock(at(6)))
    late = alert(mine, severity="LOW", thing="c2")  # written before the digest went, seen after
    Delivery.across_tenants.filter(alert=late).update(
        bundle=Delivery.across_tenants.get(alert=None, state="sent")
    )
    assert Delivery.across_tenants.get(alert=late).state == "bundled"
    sweep(now=at(6))
    assert Delivery.across_tenants.get(alert=late).state == "waiting"


URL = "/api/v1/notifications/preferences/"


def test_one_reads_and_changes_ones_own(alice, alice_api):
    answer = alice_api.get(URL)
    assert (answer.json()["digest"], answer.json()["high"]) == ("none", None)
    changes = {"high": ["email", "sms"], "quiet_from": "22:00", "quiet_until": "07:00"}
    done = alice_api.patch(URL, changes, headers={"If-Match": answer["ETag"]}, format="json")
    assert (done.status_code, done.json()["high"]) == (200, ["email", "sms"])
    assert Preference.across_tenants.get(user=alice).quiet_until == time(7)
    stale = alice_api.patch(URL, {"low": []}, headers={"If-Match": answer["ETag"]}, format="json")
    assert stale.status_code == 412


@pytest.mark.parametrize(
    "wrong",
    [
        {"high": ["pigeon"]},
        {"quiet_from": "22:00"},
        {"quiet_from": "22:00", "quiet_until": "22:00"},
        {"phone": "010-1234-5678"},
        {"digest": "yearly"},
    ],
)
def test_what_makes_no_sense_is_refused(alice_api, wrong):
    answer = alice_api.patch(URL, wrong, headers={"If-Match": "*"}, format="json")
    assert answer.status_code == 400
    assert not Preference.across_tenants.exists()


def test_colleagues_have_their_own(alice, bob_api, prefer):
    prefer(alice, phone="+821012345678")
    assert bob_api.get(URL).json()["phone"] == ""


def test_each_tenant_has_its_own(alice, rival, prefer):
    prefer(alice, digest="daily")
    with acting(tenant_id=rival.pk):
        assert not Preference.objects.exists()
