"""Streams in a real browser: from the list to one entry, and back to what it was."""

import pytest
from django.db import transaction

from apps.events.bus.redis_streams import RedisStreams
from apps.events.context import acting
from apps.events.outbox import publish
from apps.events.relay import Relay
from tests.browser.pictures import keep
from tests.events.backbone import GROUP, drain
from tests.events.conftest import leases_end, thing_happened  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("leases_end")]


@pytest.fixture
def carried(acme, streams, thing_happened):  # noqa: F811
    """Sixty events of Acme in the stream, of which a group holds five."""
    with acting(tenant_id=acme.pk, trace_id="c" * 32), transaction.atomic():
        for number in range(60):
            publish(thing_happened(thing_id="claim-1", number=number, note="잔액 부족 " * 12))
    bus = RedisStreams(streams)
    drain(Relay(bus, "relay-1"))
    bus.read(GROUP, "worker-1", ["axiom:events"], 5, 0)
    return streams


@pytest.fixture
def staff(alice):
    alice.is_staff = True
    alice.save()
    return alice


@pytest.mark.parametrize(
    ("width", "scheme", "locale"), [(1280, "light", "en-US"), (390, "dark", "ko-KR")]
)
def test_an_operator_walks_from_the_streams_to_one_entry(
    visit, staff, carried, width, scheme, locale
):
    window = visit(width=width, color_scheme=scheme, locale=locale)
    window.log_in(staff)
    page = window.page
    for path in ("/admin/streams/", "/admin/streams/axiom:events/?type=TEST_THING_HAPPENED"):
        assert window.open(path) == 200
        keep(window, path)
        assert not window.is_wider_than_the_window(), path
    page.click(".ax-entries summary >> nth=0")
    assert "claim-1" in page.text_content(".ax-entries details[open] pre")
    page.click("a[rel=next]")
    page.wait_for_selector("a[rel=prev]")
    assert page.locator(".ax-entries tbody tr").count() == 10
    page.click(".ax-entries tbody a >> nth=0")
    page.wait_for_selector("dl.ax-facts")
    assert GROUP in page.content()
    keep(window, "entry")
    assert not window.is_wider_than_the_window()
    assert window.complaints == []


def test_an_event_is_found_by_its_id_with_the_keyboard_alone(visit, staff, carried):
    window = visit()
    window.log_in(staff)
    window.open("/admin/streams/axiom:events/")
    event_id = carried.xrange("axiom:events")[7][1][b"event_id"].decode()
    window.page.focus("input[name=id]")
    window.page.keyboard.type(event_id)
    window.page.keyboard.press("Enter")
    window.page.wait_for_selector("dl.ax-facts")
    assert event_id in window.page.text_content("dl.ax-facts")
