"""A journey in a real browser: a consumer that failed, was given up, sent again and caused more."""

import pytest
from django.db import transaction

from apps.events import services
from apps.events.bus.redis_streams import RedisStreams
from apps.events.context import acting
from apps.events.handlers import GiveUp
from apps.events.outbox import publish
from apps.events.relay import Relay
from tests.browser.pictures import keep
from tests.events.backbone import GROUP, Log, drain, make_due, open_letters, worker
from tests.events.conftest import handle, leases_end, thing_happened  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("leases_end")]


class Telling(Log):
    """A handler that says something itself once it is done with a thing."""

    def __init__(self, event):
        super().__init__()
        self.event = event

    def __call__(self, message):
        super().__call__(message)
        if message.payload["number"] == 1:
            publish(self.event(thing_id="claim-2", number=2))


@pytest.fixture
def told(acme, handle, redis_client, thing_happened):  # noqa: F811
    """An event that failed once, was given up, and after a redrive caused another."""
    log = Telling(thing_happened)
    handle(log, thing_happened, group=GROUP)
    bus = RedisStreams(redis_client)

    def carry():
        drain(Relay(bus, "relay-1"))
        worker(bus).step()

    log.trouble = {("claim-1", 1): ValueError("the database is busy")}
    with acting(
        tenant_id=acme.pk, trace_id="e" * 32, actor="alice@acme.example", request_id="r-1",
        source="POST /api/v1/claims/",
    ), transaction.atomic():  # fmt: skip
        event_id = publish(thing_happened(thing_id="claim-1", number=1))
    carry()
    log.trouble = {("claim-1", 1): GiveUp("no such case")}
    make_due()
    carry()
    log.trouble = {}
    services.redrive(open_letters().get(), by="alice@acme.example", reason="the case is there now")
    carry()
    carry()
    return event_id


@pytest.fixture
def staff(alice):
    alice.is_staff = True
    alice.save()
    return alice


@pytest.mark.parametrize(
    ("width", "scheme", "locale"), [(1280, "light", "en-US"), (390, "dark", "ko-KR")]
)
def test_a_pasted_id_tells_all_that_happened_in_order(visit, staff, told, width, scheme, locale):
    window = visit(width=width, color_scheme=scheme, locale=locale)
    window.log_in(staff)
    window.open("/admin/journey/")
    page = window.page
    page.fill("input[name=id]", str(told))
    page.keyboard.press("Enter")
    page.wait_for_selector(".ax-journey")
    keep(window, "journey")
    tones = page.eval_on_selector_all(".ax-step", "all => all.map(each => each.dataset.tone)")
    acted = tones.index("act")
    assert tones[:acted].count("bad") == 3
    assert "good" not in tones[:acted]
    assert tones[acted:].count("good") == 2
    line = page.text_content(".ax-journey")
    for fact in ("the database is busy", "no such case", "the case is there now", GROUP):
        assert fact in line
    assert page.locator(".ax-step[data-depth='1']").count() >= 3
    assert not window.is_wider_than_the_window()
    assert window.complaints == []


def test_the_trace_the_aggregate_and_the_caused_event_lead_to_it_too(visit, staff, told):
    window = visit()
    window.log_in(staff)
    for name in ("e" * 32, "claim-1"):
        window.open(f"/admin/journey/?id={name}")
        assert "no such case" in window.page.text_content(".ax-journey")
    window.page.click(".ax-journey a >> text=no such case >> nth=0")
    window.page.wait_for_url("**/deadletter/**")
    window.open("/admin/journey/?id=claim-2")
    assert "no such case" not in window.page.text_content(".ax-journey")
    assert window.complaints == []


def test_an_id_that_nothing_has_and_no_id_say_what_to_do(visit, staff):
    window = visit()
    window.log_in(staff)
    window.open("/admin/journey/")
    assert "Paste any id" in window.page.content()
    window.open("/admin/journey/?id=nothing")
    assert "Nothing is known under this id." in window.page.content()
    assert window.complaints == []
