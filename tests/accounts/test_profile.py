"""One's own profile, logins, tenants and password."""

import re

import pytest
from django.core import mail

from apps.accounts import services, tasks
from apps.accounts.models import Membership, User
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db

ME, SESSIONS, PASSWORD_URL = "/api/v1/auth/me/", "/api/v1/auth/sessions/", "/api/v1/auth/password/"
NEW = "another long phrase"


def change(api, **changes):
    return api.patch(ME, changes, headers={"If-Match": api.get(ME)["ETag"]})


def test_me_tells_who_where_and_what(bob_api, bob, acme, rival):
    Membership.objects.create(tenant=rival, user=bob, role="analyst")
    assert bob_api.get(ME).json() == {
        "id": str(bob.pk),
        "email": "bob@acme.example",
        "name": "Bob",
        "language": "en",
        "timezone": "UTC",
        "tenant": {"id": str(acme.pk), "name": "Acme", "slug": "acme"},
        "role": "viewer",
        "memberships": [
            {"tenant": {"id": str(acme.pk), "name": "Acme", "slug": "acme"}, "role": "viewer"},
            {"tenant": {"id": str(rival.pk), "name": "Rival", "slug": "rival"}, "role": "analyst"},
        ],
    }


def test_a_viewer_may_change_their_own_profile(bob_api, bob):
    response = change(bob_api, name="Robert", language="ko", timezone="Asia/Seoul")
    bob.refresh_from_db()
    assert response.status_code == 200
    assert (bob.name, bob.language, bob.timezone) == ("Robert", "ko", "Asia/Seoul")


@pytest.mark.parametrize(
    ("field", "value"), [("language", "xx"), ("timezone", "Mars/Olympus"), ("name", "x" * 151)]
)
def test_a_profile_is_validated(bob_api, field, value):
    response = change(bob_api, **{field: value})
    assert response.status_code == 400
    assert [each["pointer"] for each in response.json()["errors"]] == [f"#/{field}"]


def test_nobody_promotes_themselves_by_their_profile(bob_api, bob):
    change(bob_api, role="admin", email="root@acme.example", is_staff=True)
    bob.refresh_from_db()
    assert (bob.email, bob.is_staff, bob.memberships.get().role) == (
        "bob@acme.example", False, "viewer",
    )  # fmt: skip


def test_problems_are_told_in_ones_own_language(alice_api, alice):
    User.objects.filter(pk=alice.pk).update(language="ko")
    assert "필수 항목" in alice_api.post("/api/v1/members/", {}).json()["errors"][0]["detail"]


def test_moments_are_told_in_utc_whatever_ones_time_zone(alice_api, alice):
    User.objects.filter(pk=alice.pk).update(timezone="Asia/Seoul")
    assert alice_api.get("/api/v1/tenants/current/").json()["created_at"].endswith("Z")


def test_one_sees_ones_own_logins_and_no_others(alice_api, bob_api, api_of, alice):
    other = api_of(alice)
    shown = alice_api.get(SESSIONS).json()["results"]
    assert {each["id"] for each in shown} == {
        str(alice_api.login_session.pk), str(other.login_session.pk),
    }  # fmt: skip
    assert [each["is_current"] for each in shown] == [False, True]


def test_one_ends_ones_own_logins_and_no_others(alice_api, bob_api, api_of, alice):
    other = api_of(alice)
    assert alice_api.delete(f"{SESSIONS}{other.login_session.pk}/").status_code == 204
    assert alice_api.delete(f"{SESSIONS}{bob_api.login_session.pk}/").status_code == 404
    assert (other.get(ME).status_code, bob_api.get(ME).status_code) == (401, 200)


def test_a_token_switches_its_tenant_with_a_new_login(alice_api, alice, rival):
    Membership.objects.create(tenant=rival, user=alice, role="viewer")
    tokens = alice_api.post("/api/v1/auth/switch/", {"tenant": "rival"}).json()
    assert alice_api.get(ME).status_code == 401
    alice_api.credentials(HTTP_AUTHORIZATION=f"Bearer {tokens['access']}")
    me = alice_api.get(ME).json()
    assert (me["tenant"]["slug"], me["role"]) == ("rival", "viewer")


def test_one_cannot_switch_to_a_tenant_one_is_not_in(alice_api, rival):
    response = alice_api.post("/api/v1/auth/switch/", {"tenant": "rival"})
    assert (response.status_code, response.json()["code"]) == (403, "not_a_member")
    assert alice_api.get(ME).status_code == 200


def change_password(api, current=PASSWORD, new=NEW):
    return api.post(PASSWORD_URL, {"current_password": current, "new_password": new})


def test_a_changed_password_ends_all_other_logins(alice_api, api_of, alice):
    other = api_of(alice)
    assert change_password(alice_api).status_code == 204
    alice.refresh_from_db()
    assert alice.check_password(NEW)
    assert (alice_api.get(ME).status_code, other.get(ME).status_code) == (200, 401)


def test_a_browser_that_changes_its_password_stays_logged_in(alice):
    from tests.accounts.test_browser import Browser

    browser = Browser(enforce_csrf_checks=True)
    browser.log_in()
    body = {"current_password": PASSWORD, "new_password": NEW}
    assert browser.send("post", PASSWORD_URL, body).status_code == 204
    assert browser.get(ME).status_code == 200


@pytest.mark.parametrize(
    ("current", "new", "pointer"),
    [("wrong", NEW, "#/current_password"), (PASSWORD, "12345", "#/new_password")],
)
def test_a_bad_change_of_password_is_refused(alice_api, alice, current, new, pointer):
    response = change_password(alice_api, current, new)
    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == pointer
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


def mailed_link(email):
    tasks.send_password_link(email)
    return re.search(r"/accounts/password/([^/]+)/([^/]+)/", mail.outbox[-1].body)


def test_who_forgot_their_password_sets_a_new_one_by_mail_once(api, alice_api, alice):
    uid, token = mailed_link(" ALICE@acme.example").groups()
    body = {"uid": uid, "token": token, "password": NEW}
    assert api.post("/api/v1/auth/password/set/", body).status_code == 204
    assert alice_api.get(ME).status_code == 401
    again = api.post("/api/v1/auth/password/set/", body)
    assert (again.status_code, again.json()["code"]) == (400, "link_expired")


@pytest.mark.parametrize("uid", ["x", "MQ", "____", "AAAA"])
def test_a_made_up_link_is_refused(api, db, uid):
    body = {"uid": uid, "token": "x-y", "password": NEW}
    assert api.post("/api/v1/auth/password/set/", body).json()["code"] == "link_expired"


def test_the_mailed_link_opens_a_page_that_sets_the_password(client, alice_api, alice):
    page = client.get(mailed_link(alice.email).group(0), follow=True)
    assert "Choose a password" in page.content.decode()
    body = {"new_password1": NEW, "new_password2": NEW}
    assert client.post(page.request["PATH_INFO"], body).status_code == 302
    alice.refresh_from_db()
    assert alice.check_password(NEW)
    assert alice_api.get(ME).status_code == 401


def test_a_stale_link_opens_a_page_that_says_so(client, alice):
    page = client.get("/accounts/password/MQ/x-y/")
    assert "no longer works" in page.content.decode()


@pytest.mark.parametrize("email", ["alice@acme.example", "nobody@acme.example"])
def test_asking_for_a_link_tells_nothing_about_who_exists(api, alice, email):
    response = api.post("/api/v1/auth/password/forgotten/", {"email": email})
    assert (response.status_code, response.content) == (202, b"")


def test_a_deactivated_person_gets_no_link(alice):
    services.deactivate_user(user=alice)
    tasks.send_password_link(alice.email)
    assert mail.outbox == []
