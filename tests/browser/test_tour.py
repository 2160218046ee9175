"""The tour of the README, walked in a real browser in front of real processes."""

import pytest
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connection

from apps.accounts.models import User
from apps.events.models import DeadLetter
from apps.watch.models import Alert
from axiom import demo
from tests.browser.conftest import Visit
from tests.browser.pictures import keep
from tests.notifications.conftest import web_server
from tests.programs import eventually, started

pytestmark = pytest.mark.django_db(transaction=True)

WORKERS = ("relay", "watch_cep", "notifications")
PATIENCE_MS = 60_000


@pytest.fixture
def admin(transactional_db):
    """Of the demo's English company. The server does not know the tests' quick hasher."""
    demo.load()
    admin = User.objects.get(email="admin@harbor.example")
    hasher = PBKDF2PasswordHasher()
    admin.password = hasher.encode(demo.PASSWORD, hasher.salt())
    admin.save()
    yield admin
    demo.mend()


@pytest.fixture
def installation(redis_client, admin):
    """A web server and the workers that the tour needs; what fails is tried again at once."""
    database = settings.DATABASE_URL.rsplit("/", 1)[0] + f"/{connection.settings_dict['NAME']}"
    around = {
        "DATABASE_URL": database, "REDIS_URL": settings.REDIS_URL,
        "EVENTS_RETRY_SECONDS": "0.2,0.2,0.2",
    }  # fmt: skip
    with web_server("uvicorn") as address, started("django", "runworker", *WORKERS, **around):
        yield address


@pytest.fixture
def window(browser, installation, admin):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
    context.set_default_timeout(PATIENCE_MS)
    visit = Visit(context, installation)
    visit.log_in(admin, demo.PASSWORD)
    yield visit
    context.close()


def open_case(window, title):
    """Step 1, as somebody does it who has never seen the console."""
    page = window.page
    window.open("/admin/")
    page.click("#nav-sidebar-apps >> text=Cases")
    page.click("a[href$='/cases/case/add/']")
    page.fill("[name=title]", title)
    page.click("[name=_save]")
    page.wait_for_url("**/admin/cases/case/**")


def told_of(window, title):
    """The word of it in the bell."""
    window.page.click("#live summary")
    return window.page.wait_for_selector(f"#live [data-show=list] >> text={title}")


def test_the_tour(window):
    page = window.page
    # Open a case, and watch the alert arrive.
    open_case(window, "Riverside Mills")
    told_of(window, "Riverside Mills").click()
    page.wait_for_url("**/admin/watch/alert/**")
    assert "New cases" in page.text_content("#content")
    keep(window, "tour-alert")

    # Break a consumer, and find what it could not handle.
    demo.break_something()
    open_case(window, "Lakeside Mills")
    eventually(lambda: DeadLetter.objects.filter(status=DeadLetter.Status.OPEN).exists())
    window.open("/admin/dead-letters/")
    assert "broken_by_the_demo" in page.text_content("#content")
    keep(window, "tour-dead-letters")

    # Triage: it would fail again, so mend it first; then send it again.
    page.click("text=Open the newest")
    page.click("text=Edit or try")
    page.click("button[value=try]")
    page.wait_for_selector("text=The handler would fail")
    demo.mend()
    page.click("button[value=try]")
    page.wait_for_selector("text=The handler would succeed.")
    letter = DeadLetter.objects.get(status=DeadLetter.Status.OPEN)
    window.open(f"/admin/events/deadletter/{letter.pk}/change/")
    page.click(f"a[href*='{letter.pk}/redrive/']")
    page.fill("[name=reason]", "the inbox is mended")
    page.click("#content form button[type=submit]")
    page.wait_for_selector("text=The event was sent again.")
    told_of(window, "Lakeside Mills")
    keep(window, "tour-sent-again")

    # Its journey tells all of it.
    window.open(f"/admin/journey/?id={letter.event_id}")
    keep(window, "tour-journey")
    assert "notification_group" in page.text_content("#content")
    assert Alert.across_tenants.filter(message__contains="Lakeside Mills").count() == 1
    assert window.complaints == []
