"""The first page in a real browser: every figure leads somewhere, and what is opened stays open."""

import pytest

from tests.browser.pictures import keep

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("streams")]

RENEW = "document.dispatchEvent(new CustomEvent('axiom:notification'))"


@pytest.fixture
def staff(alice):
    alice.is_staff = True
    alice.save()
    return alice


@pytest.fixture
def window(visit, staff):
    window = visit()
    window.log_in(staff)
    return window


def test_every_figure_leads_to_its_list(window):
    links = window.page.eval_on_selector_all(
        "#now a", "all => [...new Set(all.map(each => each.getAttribute('href')))]"
    )
    assert {"/admin/streams/", "/admin/events/outboxevent/", "/admin/events/deadletter/"} <= set(
        links
    )
    assert {link: window.open(link) for link in links} == dict.fromkeys(links, 200)
    assert window.complaints == []


def test_values_are_read_by_keyboard_and_stay_open_while_the_page_renews_itself(window):
    page = window.page
    page.focus(".ax-values summary >> nth=0")
    page.keyboard.press("Enter")
    assert page.locator(".ax-values[open] tr").count() == 60
    keep(window, "now")
    with page.expect_response("**/admin/now/"):
        page.evaluate(RENEW)
    page.wait_for_function("document.activeElement.matches('.ax-values[open] > summary')")
    assert page.locator(".ax-values[open]").count() == 1
    assert window.complaints == []
