"""A real browser in front of a real server."""

import os
import shutil
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.contrib.contenttypes.models import ContentType
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.conftest import PASSWORD

STREAM = "**/api/v1/notifications/stream*"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def pytest_collection_modifyitems(items):
    for item in items:
        if "/tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Where the browser is. Without one these tests are skipped on a laptop, and fail in CI."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None and os.environ.get("CI"):
        pytest.fail("No Chromium here: install it, or set CHROMIUM to its path.")
    if path is None:
        pytest.skip("No Chromium here: install it, or set CHROMIUM to its path, to run these.")
    return path


@pytest.fixture(scope="package")
def browser(chromium) -> Iterator[Browser]:
    # Playwright keeps an event loop in this thread, which Django takes for a mistake. Closed with
    # the last test of this package, so that no other test runs without that protection.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        yield running
        running.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


class Visit:
    """One person's window, and everything it complained about."""

    def __init__(self, context: BrowserContext, server: str) -> None:
        self.context, self.server = context, server
        self.complaints: list[str] = []
        self.page: Page = context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(f"crash: {error}"))
        self.page.on("request", self._asked)
        # What the browser forbids under the policy, also where it would not say so aloud.
        self.page.add_init_script(
            "addEventListener('securitypolicyviolation', event => console.error("
            "'policy: ' + event.violatedDirective + ' ' + event.blockedURI))"
        )

    def _heard(self, message) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{message.type}: {message.text}")

    def _asked(self, request) -> None:
        host = urlsplit(request.url).netloc
        if host and host != urlsplit(self.server).netloc:
            self.complaints.append(f"elsewhere: {request.url}")

    def open(self, path: str) -> int:
        """Open a page and give its scripts the time to start."""
        answer = self.page.goto(self.server + path, wait_until="load")
        self.page.evaluate("() => new Promise(done => requestIdleCallback(done, {timeout: 500}))")
        return answer.status if answer else 0

    def log_in(self, user, password: str = PASSWORD) -> None:
        self.open("/admin/login/")
        self.page.fill("[name=username]", user.email)
        self.page.fill("[name=password]", password)
        self.page.click("#login-form button[type=submit]")
        self.page.wait_for_url("**/admin/")

    def is_wider_than_the_window(self) -> bool:
        return self.page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.fixture(autouse=True)
def known_kinds_of_rows():
    """The database is emptied between these tests; what Django remembers of it has to go too."""
    ContentType.objects.clear_cache()


@pytest.fixture
def visit(browser, live_server):
    """Opens windows: `visit(width=390, color_scheme="dark", locale="ko-KR")`."""
    open_windows = []

    def start(width: int = 1280, **how) -> Visit:
        context = browser.new_context(viewport={"width": width, "height": 900}, **how)
        open_windows.append(context)
        # This server speaks WSGI, which has no streams (test_live.py has one that does).
        context.route(STREAM, lambda route: route.fulfill(status=204))
        return Visit(context, live_server.url)

    yield start
    for context in open_windows:
        context.close()


@pytest.fixture
def root(transactional_db, django_user_model):
    """Runs the platform."""
    return django_user_model.objects.create_superuser("root@axiom.example", PASSWORD, name="Root")
