"""The journey as programs and people reach it."""

import pytest
from django.test import Client

from apps.events import catalog
from apps.events.context import acting
from apps.events.outbox import publish

pytestmark = pytest.mark.django_db


@pytest.fixture
def event_id(acme):
    kind = catalog.event_class_of("CASE_CREATED")
    with acting(tenant_id=acme.pk, actor="alice@acme.example", trace_id="b" * 32):
        return publish(kind(**{**kind.example, "title": "<b>Hanbit</b>"}))


@pytest.fixture
def console(bob):
    bob.is_staff = True
    bob.save()
    client = Client()
    client.force_login(bob)
    return client


def test_a_viewer_reads_the_journey_of_an_event(bob_api, event_id):
    told = bob_api.get(f"/api/v1/journey/{event_id}/").json()
    assert [step["kind"] for step in told["steps"]] == ["written", "waiting"]
    assert told["events"][0]["event_type"] == "CASE_CREATED"
    assert (told["cut"], told["next"]) == (False, None)
    assert "Hanbit" in told["payload"]


def test_a_trace_is_found_and_its_next_page_linked(bob_api, event_id, monkeypatch, acme):
    from apps.events.selectors import journey

    monkeypatch.setattr(journey, "MOST_OWN", 1)
    with acting(tenant_id=acme.pk, trace_id="b" * 32):
        kind = catalog.event_class_of("CASE_CREATED")
        second = publish(kind(**kind.example))
    told = bob_api.get(f"/api/v1/journey/{'b' * 32}/").json()
    assert [event["event_id"] for event in told["events"]] == [str(event_id)]
    told = bob_api.get(told["next"]).json()
    assert [event["event_id"] for event in told["events"]] == [str(second)]


def test_charlie_and_the_curious_find_nothing(charlie_api, bob_api, event_id):
    for url in (f"/api/v1/journey/{event_id}/", f"/api/v1/journey/{'b' * 32}/"):
        assert charlie_api.get(url).status_code == 404
    assert bob_api.get("/api/v1/journey/a%00b/").status_code == 404
    assert bob_api.get(f"/api/v1/journey/{event_id}/?after=x").status_code == 400


def test_the_page_shows_it_and_escapes_what_it_shows(console, event_id):
    page = console.get("/admin/journey/", {"id": str(event_id)}).content.decode()
    assert "Written to the outbox" in page
    assert "&lt;b&gt;Hanbit" in page
    assert "<b>Hanbit" not in page


def test_the_page_says_when_nothing_is_known(console):
    assert "Nothing is known under this id." not in console.get("/admin/journey/").content.decode()
    page = console.get("/admin/journey/", {"id": "<i>", "after": "9" * 30}).content.decode()
    assert "Nothing is known under this id." in page
