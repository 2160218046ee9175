"""The first page: how things stand now, each figure with the list it stands for."""

import pytest
from django.urls import reverse

from apps.events import keys, timings
from apps.events.timings import HOUR, MINUTE
from apps.watch.models import Alert

pytestmark = pytest.mark.django_db

NOON = 1_800_000_000 // 3600 * 3600


@pytest.fixture
def page(alice, console_of, redis_client):
    return lambda: console_of(alice).get("/admin/").content.decode()


def shown(page, severity):
    """The number on the card of a severity."""
    card = page.split(f'data-severity="{severity}"')[1]
    return int(card.split(">")[2].split("<")[0])


def test_open_alerts_stand_by_severity(page, happens):
    happens(0, severity="CRITICAL", aggregate_id="c1")
    happens(0, severity="CRITICAL", aggregate_id="c2")
    happens(0, severity="LOW", aggregate_id="c3")
    html = page()
    assert [shown(html, each) for each in ("CRITICAL", "HIGH", "LOW")] == [2, 0, 1]


def test_a_settled_alert_is_not_open(page, happens, alice, in_acme):
    from apps.watch import services

    services.dismiss(alert=happens(0, severity="HIGH"), by=alice, false_positive=False)
    assert shown(page(), "HIGH") == 0


def test_another_companys_alerts_are_not_counted(happens, charlie, console_of, redis_client):
    happens(0, severity="CRITICAL")
    assert Alert.across_tenants.count() == 1
    assert shown(console_of(charlie).get("/admin/").content.decode(), "CRITICAL") == 0


def test_each_figure_leads_to_its_list(alice, console_of, happens, redis_client):
    happens(0, severity="CRITICAL")
    console = console_of(alice)
    html = console.get("/admin/").content.decode()
    for path in (
        "/admin/watch/alert/?severity__exact=CRITICAL&amp;status__exact=unread",
        "/admin/events/deadletter/",
        reverse("admin:sla"),
    ):
        assert f'href="{path}"' in html
        assert console.get(path.replace("&amp;", "&")).status_code == 200


def test_the_page_renews_its_panels_alone(alice, console_of, happens, redis_client):
    console = console_of(alice)
    happens(0, severity="HIGH")
    renewed = console.get("/admin/now/").content.decode()
    assert shown(renewed, "HIGH") == 1
    assert "<html" not in renewed


def test_who_is_not_logged_in_sees_nothing(client):
    assert client.get("/admin/now/").status_code == 302


def test_a_worker_that_is_missed_is_said_to_be(page):
    assert "does not run" in page()


def test_redis_away_is_said_and_the_page_still_opens(page, settings, monkeypatch):
    from apps.events import panels
    from apps.events.bus import BusUnavailable

    def nobody_answers():
        raise BusUnavailable("away")

    monkeypatch.setattr(panels, "health", nobody_answers)
    assert "Redis cannot be reached" in page()


def test_the_course_of_an_hour_and_of_three_days(redis_client):
    redis_client.hset(keys.timings("minute", NOON // 60), "sent||", 7)
    redis_client.hset(keys.timings("minute", NOON // 60 - 59), "sent||", 3)
    redis_client.hset(keys.timings("minute", NOON // 60 - 60), "sent||", 99)
    redis_client.hset(keys.timings("hour", NOON // 3600 - 71), "sent||", 5)
    minutes, hours = timings.course(MINUTE, NOON), timings.course(HOUR, NOON)
    assert [len(minutes), minutes[0].events, minutes[-1].events] == [60, 3, 7]
    assert [len(hours), hours[0].events, hours[-1].events] == [72, 5, 0]
    assert minutes[-1].at.timestamp() == NOON
