"""Browsers: a session with CSRF protection, ended like any other login."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from apps.accounts import services
from apps.accounts.models import Membership, User
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db

SESSION, ME = "/api/v1/auth/session/", "/api/v1/auth/me/"


class Browser(Client):
    """Sends the CSRF token as a page's script would."""

    def send(self, method, path, body=None, csrf=True):
        token = self.cookies["csrftoken"].value if csrf and "csrftoken" in self.cookies else ""
        return getattr(self, method)(
            path, body, content_type="application/json", headers={"X-CSRFToken": token}
        )

    def log_in(self, **more):
        self.get(SESSION)
        body = {"email": "alice@acme.example", "password": PASSWORD, **more}
        return self.send("post", SESSION, body)


@pytest.fixture
def browser():
    return Browser(enforce_csrf_checks=True, raise_request_exception=False)


def test_a_browser_logs_in_with_a_cookie(browser, alice):
    assert browser.log_in().json()["logged_in"] is True
    assert browser.get(ME).json()["email"] == alice.email
    assert alice.logins.get().kind == "browser"


def test_logging_in_needs_the_csrf_token(browser, alice):
    response = browser.send("post", SESSION, {"email": alice.email, "password": PASSWORD})
    assert (response.status_code, response.json()["code"]) == (403, "csrf_failed")
    assert alice.logins.count() == 0


def test_a_session_needs_the_csrf_token_for_every_change(browser, alice):
    browser.log_in()
    response = browser.send("patch", ME, {"name": "Mallory"}, csrf=False)
    assert (response.status_code, response.json()["code"]) == (403, "csrf_failed")


def test_a_token_needs_no_csrf_token(alice_api):
    etag = alice_api.get(ME)["ETag"]
    response = alice_api.patch(ME, {"name": "Al"}, headers={"If-Match": etag})
    assert response.status_code == 200


def test_a_session_costs_one_query_more_than_a_token(browser, alice, django_assert_num_queries):
    browser.log_in()
    with django_assert_num_queries(3):  # the session, its login with person and tenant, the page
        assert browser.get("/api/v1/auth/sessions/").status_code == 200


def test_logging_out_ends_the_login(browser, alice):
    browser.log_in()
    assert browser.send("delete", SESSION).status_code == 204
    assert browser.get(ME).status_code == 401
    assert alice.logins.get().revoked_at is not None


@pytest.mark.parametrize(
    "end",
    [
        lambda alice: services.end_logins(alice.logins.all()),
        lambda alice: services.deactivate_user(user=alice),
        lambda alice: alice.memberships.get().delete(),
        lambda alice: (alice.set_password("another"), alice.save()),
    ],
    ids=["ended elsewhere", "deactivated", "removed", "password changed"],
)
def test_an_ended_session_is_nobody_at_once(browser, alice, end):
    browser.log_in()
    end(alice)
    response = browser.get(ME)
    assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")
    assert isinstance(response.wsgi_request.user, AnonymousUser)


def test_a_copied_cookie_dies_with_its_login(browser, alice):
    browser.log_in()
    thief = Browser()
    thief.cookies = browser.cookies
    browser.send("post", "/api/v1/auth/logout/")
    assert thief.get(ME).status_code == 401


def test_a_browser_names_its_tenant(browser, alice, rival):
    Membership.objects.create(tenant=rival, user=alice, role="viewer")
    browser.log_in(tenant="rival")
    assert browser.get(ME).json()["tenant"]["slug"] == "rival"


def test_a_browser_switches_its_tenant(browser, alice, rival):
    Membership.objects.create(tenant=rival, user=alice, role="viewer")
    browser.log_in(tenant="acme")
    before = browser.cookies["sessionid"].value
    switched = browser.send("post", "/api/v1/auth/switch/", {"tenant": "rival"})
    assert switched.json() == {"tenant": str(rival.pk)}
    assert browser.get(ME).json()["tenant"]["slug"] == "rival"
    assert browser.cookies["sessionid"].value != before


def test_the_console_opens_and_ends_logins_too(browser, alice):
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    page = browser.get("/admin/login/")
    body = {"username": alice.email, "password": PASSWORD, "csrfmiddlewaretoken": _csrf(page)}
    assert browser.post("/admin/login/?next=/admin/", body).status_code == 302
    login = alice.logins.get()
    assert browser.get("/admin/").status_code == 200
    services.end_login(login=login)
    assert browser.get("/admin/").status_code == 302


def test_logging_in_again_replaces_the_login(browser, alice):
    browser.log_in()
    browser.log_in()
    assert alice.logins.filter(revoked_at=None).count() == 1


def test_an_operator_of_no_tenant_may_log_in_but_has_no_tenant(browser):
    User.objects.create_superuser("root@axiom.example", PASSWORD)
    browser.log_in(email="root@axiom.example")
    assert browser.get(ME).json()["tenant"] is None
    members = browser.get("/api/v1/members/")
    assert (members.status_code, members.json()["code"]) == (403, "tenant_missing")


def test_a_token_counts_below_api_only(alice_api, alice):
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    assert alice_api.get("/admin/").status_code == 302


def _csrf(page):
    return page.context["csrf_token"]
