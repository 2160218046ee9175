"""Triage of dead letters in a real browser: by kind, edited, sent again, stopped, discarded."""

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import transaction

from apps.events.bus.redis_streams import RedisStreams
from apps.events.context import acting
from apps.events.handlers import GiveUp
from apps.events.models import DeadLetter, DeadLetterAct, Redrive
from apps.events.outbox import publish
from apps.events.relay import Relay
from tests.browser.pictures import keep
from tests.events.backbone import GROUP, Log, drain, open_letters, worker
from tests.events.conftest import handle, leases_end, thing_happened  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("leases_end")]
LETTERS = "/admin/events/deadletter/"


@pytest.fixture(autouse=True)
def content_types_are_asked_for_again(transactional_db):
    """The database is emptied after each test, and Django remembers the numbers it had."""
    ContentType.objects.clear_cache()


@pytest.fixture
def log(handle, thing_happened):  # noqa: F811
    log = Log()
    handle(log, thing_happened, group=GROUP)
    return log


@pytest.fixture
def buried(acme, rival, log, redis_client, thing_happened):  # noqa: F811
    """Five letters of Acme of two kinds, and one of Rival."""
    bus = RedisStreams(redis_client)
    for tenant, error, numbers in (
        (acme, GiveUp("no such case"), range(3)),
        (acme, ValueError("a balance is missing"), range(3, 5)),
        (rival, GiveUp("no such case"), range(5, 6)),
    ):
        log.trouble |= {("claim-1", number): _final(error) for number in numbers}
        with acting(tenant_id=tenant.pk, trace_id="d" * 32), transaction.atomic():
            for number in numbers:
                publish(thing_happened(thing_id="claim-1", number=number))
    drain(Relay(bus, "relay-1"))
    worker(bus).step()
    return bus


def _final(error):
    """One that is not tried again, of the same kind as this error."""
    return error if isinstance(error, GiveUp) else GiveUp(str(error))


@pytest.fixture
def staff(alice):
    alice.is_staff = True
    alice.save()
    return alice


@pytest.fixture
def window(visit, staff, buried):
    window = visit()
    window.log_in(staff)
    return window


@pytest.mark.parametrize(
    ("width", "scheme", "locale"), [(1280, "light", "en-US"), (390, "dark", "ko-KR")]
)
def test_kinds_show_how_many_since_when_and_one_of_them(
    visit, staff, buried, width, scheme, locale
):
    window = visit(width=width, color_scheme=scheme, locale=locale)
    window.log_in(staff)
    window.open("/admin/dead-letters/")
    page = window.page
    assert page.locator("section .ax-kind").count() == 2
    # Rival's letter is not counted.
    assert page.text_content(".ax-kind-count strong >> nth=0") == "3"
    picture = page.locator(".ax-spark svg >> nth=0")
    assert "3" in picture.get_attribute("aria-label")
    page.focus(".ax-more summary >> nth=0")
    page.keyboard.press("Enter")
    assert "claim-1" in page.text_content(".ax-more[open] pre")
    keep(window, "kinds")
    assert not window.is_wider_than_the_window()
    assert window.complaints == []


def test_one_is_edited_compared_tried_and_sent(window, log):
    letter = open_letters().filter(tenant_id__isnull=False, error="a balance is missing").first()
    page = window.page
    window.open(f"{LETTERS}{letter.pk}/edit/")
    page.fill("textarea[name=payload]", '{"thing_id": "claim-1", "number": 77}')
    page.click("button[value=show]")
    page.wait_for_selector(".ax-diff-in >> text=77")
    assert "3" in page.text_content(".ax-diff-out >> nth=-1")
    keep(window, "edit")
    page.click("button[value=try]")
    page.wait_for_selector("text=The handler would succeed.")
    letter.refresh_from_db()
    assert letter.status == DeadLetter.Status.OPEN
    page.fill("input[name=reason]", "the number was wrong")
    page.click("button[value=send]")
    page.wait_for_selector("text=The edited copy was sent.")
    assert "the number was wrong" in page.content()
    letter.refresh_from_db()
    assert letter.status == DeadLetter.Status.REPLACED
    assert window.complaints == []


def test_chosen_ones_are_discarded_with_a_reason(window, staff):
    page = window.page
    window.open(LETTERS)
    for number in (0, 1):
        page.check(f".action-select >> nth={number}")
    page.wait_for_selector(".action-counter >> text=2 of")
    page.select_option("select[name=action]", "discard_selected")
    page.fill("input[name=reason]", "sent twice by mistake")
    assert page.input_value("select[name=action]") == "discard_selected"
    with page.expect_navigation():
        page.click("button[name=index]")
    page.wait_for_selector("text=2 letters were discarded.")
    acts = DeadLetterAct.objects.values_list("actor", "reason")
    assert list(acts) == [(staff.email, "sent twice by mistake")] * 2
    window.open("/admin/dead-letters/")
    assert window.page.locator("text=sent twice by mistake").count() == 2
    assert window.complaints == []


def test_all_of_a_kind_are_counted_then_sent_and_stopped(window):
    page = window.page
    window.open("/admin/dead-letters/")
    page.click("text=Send all of them again >> nth=0")
    page.wait_for_selector("button[value=count]")
    assert page.locator("button[value=send]").count() == 0
    page.fill("input[name=rate]", "1")
    page.click("button[value=count]")
    page.wait_for_selector("text=3 letters match.")
    keep(window, "redrive-matching")
    page.click("button[value=send]")
    page.wait_for_selector("text=The redrive began.")
    keep(window, "redrive")
    window.open(f"/admin/events/redrive/{Redrive.objects.get().pk}/stop/")
    page.click("form button[type=submit] >> text=Stop")
    page.wait_for_selector("text=The redrive was stopped.")
    assert Redrive.objects.get().status == Redrive.Status.STOPPED
    assert window.complaints == []
