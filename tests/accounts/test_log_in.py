"""Logging in with tokens: who gets in, and how it ends at once."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts import services
from apps.accounts.models import LoginSession, Membership, User
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db

TOKEN, ME = "/api/v1/auth/token/", "/api/v1/auth/me/"


def log_in(api, email="alice@acme.example", password=PASSWORD, **more):
    return api.post(TOKEN, {"email": email, "password": password, **more})


def bearer(api, access):
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {access}")
    return api


def test_a_password_gets_tokens_that_let_one_in(api, alice):
    tokens = log_in(api).json()
    me = bearer(api, tokens["access"]).get(ME).json()
    assert (me["email"], me["role"], me["tenant"]["slug"]) == (alice.email, "admin", "acme")
    assert tokens["expires_in"] == 15 * 60


def test_the_case_and_the_spaces_of_an_email_do_not_matter(api, alice):
    assert log_in(api, " ALICE@Acme.Example ").status_code == 200


def test_an_email_is_stored_in_one_spelling_however_it_is_saved(alice):
    alice.email = "Alice@ACME.example"
    alice.save()
    assert User.objects.get_by_natural_key("aLICE@acme.example") == alice


def test_who_logs_in_is_remembered(api, alice):
    log_in(api)
    login = alice.logins.get()
    alice.refresh_from_db()
    assert (login.kind, login.ip, login.revoked_at) == ("token", "127.0.0.1", None)
    assert alice.last_login is not None


@pytest.mark.parametrize("email", ["alice@acme.example", "nobody@acme.example"])
def test_a_wrong_password_and_an_unknown_person_are_answered_alike(api, alice, email):
    response = log_in(api, email, "wrong")
    told = response.json() | {"request_id": ""}
    assert response.status_code == 401
    assert told == {
        "type": "urn:axiom:problem:wrong_credentials",
        "title": "Email or password is wrong.",
        "detail": "Email or password is wrong.",
        "status": 401,
        "code": "wrong_credentials",
        "instance": TOKEN,
        "request_id": "",
    }


def test_an_unknown_person_costs_a_password_check_too(api, alice, settings):
    """The time tells nothing: each answer hashes once."""
    settings.PASSWORD_HASHERS = ["tests.accounts.hashers.CountingHasher"]
    from tests.accounts.hashers import CountingHasher

    alice.set_password(PASSWORD)
    alice.save()
    for email in ("alice@acme.example", "nobody@acme.example"):
        CountingHasher.count = 0
        assert log_in(api, email, "wrong").status_code == 401
        assert CountingHasher.count == 1


def test_a_deactivated_person_is_answered_like_a_wrong_password(api, alice):
    services.deactivate_user(user=alice)
    assert log_in(api).json()["code"] == "wrong_credentials"


@pytest.mark.parametrize("name", ["slug", "pk"])
def test_one_may_name_the_tenant(api, alice, rival, name):
    Membership.objects.create(tenant=rival, user=alice, role="viewer")
    tokens = log_in(api, tenant=str(getattr(rival, name))).json()
    assert bearer(api, tokens["access"]).get(ME).json()["tenant"]["slug"] == "rival"


@pytest.mark.parametrize("tenant", ["rival", "no-such-tenant"])
def test_another_tenant_is_refused_whether_it_exists_or_not(api, alice, rival, tenant):
    response = log_in(api, tenant=tenant)
    assert (response.status_code, response.json()["code"]) == (403, "not_a_member")


def test_the_tenant_of_the_latest_login_is_chosen(api, api_of, alice, rival):
    Membership.objects.create(tenant=rival, user=alice, role="viewer")
    api_of(alice, rival)
    tokens = log_in(api).json()
    assert bearer(api, tokens["access"]).get(ME).json()["tenant"]["slug"] == "rival"


def test_a_person_of_no_tenant_is_not_let_in(api):
    User.objects.create_user("dora@nowhere.example", PASSWORD)
    assert log_in(api, "dora@nowhere.example").json()["code"] == "not_a_member"


def test_authentication_costs_one_query(alice_api, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert alice_api.get("/api/v1/auth/token/").status_code == 405
    # The second query is the page of sessions itself.
    with django_assert_num_queries(2):
        assert alice_api.get("/api/v1/auth/sessions/").status_code == 200


@pytest.mark.parametrize(
    "end",
    [
        lambda api, alice: api.post("/api/v1/auth/logout/"),
        lambda api, alice: api.post("/api/v1/auth/logout-all/"),
        lambda api, alice: services.deactivate_user(user=alice),
        lambda api, alice: User.objects.filter(pk=alice.pk).update(is_active=False),
        lambda api, alice: Membership.objects.filter(user=alice).delete(),
        lambda api, alice: type(api.login_session.tenant).objects.update(is_active=False),
        lambda api, alice: alice.logins.update(expires_at=timezone.now()),
        lambda api, alice: (alice.set_password("another"), alice.save()),
    ],
    ids=[
        "logout", "logout everywhere", "deactivated", "deactivated by hand", "membership removed",
        "tenant closed", "expired", "password changed anywhere",
    ],
)  # fmt: skip
def test_an_ended_login_is_refused_at_once(alice_api, alice, end):
    assert alice_api.get(ME).status_code == 200
    end(alice_api, alice)
    response = alice_api.get(ME)
    assert (response.status_code, response.json()["code"]) == (401, "login_ended")


@pytest.mark.parametrize("header", ["Bearer nonsense", "Bearer ", "bearer a.b.c"])
def test_a_token_that_is_none_is_refused(api, header):
    response = api.get(ME, headers={"Authorization": header})
    assert (response.status_code, response.json()["code"]) == (401, "token_invalid")
    assert response["WWW-Authenticate"] == 'Bearer realm="api"'


def test_a_refresh_token_is_no_access_token(api, alice):
    tokens = log_in(api).json()
    assert bearer(api, tokens["refresh"]).get(ME).json()["code"] == "token_invalid"


def test_a_dead_token_does_not_keep_one_from_logging_in(api, alice):
    assert log_in(bearer(api, "nonsense")).status_code == 200


def test_live_connections_hear_of_an_ended_login(
    alice_api, alice, redis_client, django_capture_on_commit_callbacks
):
    listener = redis_client.pubsub(ignore_subscribe_messages=True)
    listener.subscribe("axiom:logins:ended")
    listener.get_message(timeout=5)
    with django_capture_on_commit_callbacks(execute=True):
        alice_api.post("/api/v1/auth/logout/")
    heard = json.loads(listener.get_message(timeout=5)["data"])
    assert heard == {"user_id": str(alice.pk), "login_ids": [str(alice_api.login_session.pk)]}
    listener.close()


def test_when_a_login_was_last_seen_is_kept_every_few_minutes(alice_api, alice):
    alice_api.get(ME)
    login = alice.logins.get()
    assert login.last_seen_at == alice_api.login_session.last_seen_at
    long_ago = timezone.now() - timedelta(minutes=6)
    alice.logins.update(last_seen_at=long_ago)
    alice_api.get(ME)
    assert alice.logins.get().last_seen_at > long_ago


def test_expired_logins_and_their_tokens_are_forgotten(alice_api, bob_api, alice):
    alice.logins.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert services.purge_logins() == 1
    assert LoginSession.objects.get() == bob_api.login_session
