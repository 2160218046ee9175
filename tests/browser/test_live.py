"""The console's bell in a real browser, on a server with real streams."""

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from apps.events.context import acting
from apps.notifications.services import Notice, notify
from apps.watch.services import subscribe
from tests.conftest import PASSWORD
from tests.notifications.conftest import own_database, web_server
from tests.programs import started

from .conftest import Visit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server(redis_client, transactional_db):
    with web_server("uvicorn") as address:
        yield address


@pytest.fixture
def staff(alice):
    alice.is_staff = True
    # The server is a process of its own and does not know the tests' quick hasher.
    hasher = PBKDF2PasswordHasher()
    alice.password = hasher.encode(PASSWORD, hasher.salt())
    alice.save()
    return alice


@pytest.fixture
def window(browser, server, staff):
    """Alice's console."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    visit = Visit(context, server)
    visit.log_in(staff)
    yield visit
    context.close()


@pytest.fixture
def tell(acme, alice):
    def tell(title, **more):
        with acting(tenant_id=acme.pk):
            notify([Notice([alice.pk], title, "alert", title, **more)])

    return tell


def stands(page, state):
    page.wait_for_selector(f"#live[data-state={state}]")


def test_the_bell_counts_and_a_word_appears_without_asking_again(window, tell):
    stands(window.page, "live")
    assert window.page.is_hidden(".ax-live-count")
    tell("Cash is low", body="8.2 of 10 million", severity="HIGH", link="/admin/watch/alert/")
    word = window.page.wait_for_selector("#live-toasts .ax-told[data-severity=HIGH]")
    assert "8.2 of 10 million" in word.text_content()
    assert word.get_attribute("href") == "/admin/watch/alert/"
    assert window.page.text_content(".ax-live-count") == "1"
    assert window.complaints == []


def test_a_text_is_only_ever_text_and_leads_nowhere_else(window, tell):
    stands(window.page, "live")
    tell("<img src=x onerror=alert(1)>", link="https://evil.example/")
    word = window.page.wait_for_selector("#live-toasts .ax-told")
    assert word.text_content() == "<img src=x onerror=alert(1)>"
    assert word.get_attribute("href") is None
    assert window.complaints == []


def test_the_next_page_goes_on_where_the_last_one_was(window, tell):
    stands(window.page, "live")
    tell("First")
    window.page.wait_for_selector("#live-toasts >> text=First")
    window.page.goto("about:blank")
    tell("Second")
    asked = []
    window.page.on("request", lambda request: asked.append(request.url))
    window.open("/admin/")
    window.page.wait_for_selector("#live-toasts >> text=Second")
    assert [url for url in asked if "/stream" in url] == [
        f"{window.server}/api/v1/notifications/stream?after=1"
    ]
    assert window.page.locator("#live-toasts .ax-told").count() == 1
    assert window.page.text_content(".ax-live-count") == "2"


def test_all_are_read_with_one_click(window, tell):
    stands(window.page, "live")
    tell("First")
    window.page.wait_for_selector("#live-toasts .ax-told")
    window.page.click("#live summary")
    window.page.click("#live [data-show=read-all]")
    window.page.wait_for_selector(".ax-live-count", state="hidden")
    assert window.page.is_visible("#live [data-show=nothing]")


def test_the_bell_shows_what_came_before_the_page_was_opened(window, tell):
    window.page.goto("about:blank")
    tell("First")
    tell("Second")
    window.open("/admin/")
    window.page.click("#live summary")
    window.page.wait_for_selector("#live [data-show=list] >> text=First")
    words = window.page.locator("#live [data-show=list] strong").all_text_contents()
    assert words == ["Second", "First"]
    assert window.page.is_hidden("#live [data-show=nothing]")
    assert window.complaints == []


def test_the_oldest_of_four_tabs_gives_way_and_does_not_fight_for_it(window):
    stands(window.page, "live")
    tabs = [window.context.new_page() for _ in range(3)]
    for tab in tabs:
        tab.goto(window.server + "/admin/")
        stands(tab, "live")
    stands(window.page, "replaced")
    for tab in tabs:
        stands(tab, "live")
    assert "newer tabs" in window.page.text_content("#live [data-show=state]")


PLAIN = """() => new Promise(opened => {
    window.heard = [];
    window.source = new EventSource("/api/v1/notifications/stream");
    source.addEventListener("notification", event => heard.push(event.lastEventId));
    source.onopen = () => opened(true);
})"""


def plain_tab(window):
    """A tab with the browser's own EventSource and nothing around it; its streams' answers."""
    tab, answers = window.context.new_page(), []
    tab.on("response", lambda r: answers.append(r.status) if "/stream" in r.url else None)
    tab.goto(f"{window.server}/healthz")
    assert tab.evaluate(PLAIN)
    return tab, answers


def test_a_plain_event_source_that_was_evicted_asks_once_more_and_stays_away(window, tell):
    window.page.goto("about:blank")
    tabs = [plain_tab(window) for _ in range(4)]
    (oldest, answers), *newer = tabs
    oldest.wait_for_function("source.readyState === EventSource.CLOSED", timeout=20_000)
    assert answers == [200, 204]
    tell("Still told")
    for tab, answers in newer:
        tab.wait_for_function("heard.length === 1")
        assert answers == [200]


def test_who_is_logged_out_elsewhere_is_told_so(window, staff):
    from apps.accounts.services import deactivate_user

    stands(window.page, "live")
    deactivate_user(user=staff)
    stands(window.page, "ended")


def test_a_refused_stream_is_tried_again_until_it_is_there(browser, server, staff, tell):
    context = browser.new_context()
    refusals = []

    def refuse_twice(route):
        refusals.append(route.request.url)
        route.fulfill(status=503) if len(refusals) < 3 else route.continue_()

    context.route("**/api/v1/notifications/stream*", refuse_twice)
    visit = Visit(context, server)
    visit.log_in(staff)
    stands(visit.page, "reconnecting")
    stands(visit.page, "live")
    assert len(refusals) == 3
    context.close()


@pytest.fixture
def workers(server):
    """The whole path in a process of its own: relay, watch and notifications."""
    with started(
        *("django", "runworker", "relay", "watch_cep", "notifications"),
        DJANGO_SETTINGS_MODULE="axiom.settings",
        DATABASE_URL=own_database(),
        REDIS_URL=settings.REDIS_URL,
    ) as running:
        running.wait_for(lambda: "workers started" in running.text())
        yield running


def test_an_alert_that_a_rest_call_causes_appears_in_the_browser(
    window, workers, acme, alice, alice_api
):
    with acting(tenant_id=acme.pk, actor=alice.email):
        subscribe(
            name="New cases", user=alice, event_types=["CASE_CREATED"], rule={"type": "always"}
        )
    stands(window.page, "live")
    plain, _ = plain_tab(window)
    answer = httpx.post(
        f"{window.server}/api/v1/cases/",
        json={"title": "Hanbit Textile"},
        headers={"Authorization": alice_api._credentials["HTTP_AUTHORIZATION"]},
    )
    assert answer.status_code == 201
    word = window.page.wait_for_selector("#live-toasts .ax-told")
    assert word.get_attribute("href").startswith("/admin/watch/alert/")
    assert window.page.text_content(".ax-live-count") == "1"
    plain.wait_for_function("heard.length === 1")
    assert plain.evaluate("heard") == ["1"]
    assert window.complaints == []
