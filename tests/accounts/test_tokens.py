"""Refresh tokens are good once; used twice, whoever has them is logged out."""

import threading

import jwt
import pytest
from django.conf import settings
from django.db import connection
from rest_framework_simplejwt.token_blacklist.models import OutstandingToken

from apps.accounts import services
from apps.accounts.errors import RefreshTokenReused
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db

REFRESH, ME = "/api/v1/auth/token/refresh/", "/api/v1/auth/me/"


@pytest.fixture
def pair(api, alice):
    return api.post("/api/v1/auth/token/", {"email": alice.email, "password": PASSWORD}).json()


def refresh(api, token):
    return api.post(REFRESH, {"refresh": token})


def lets_in(api, access):
    return api.get(ME, headers={"Authorization": f"Bearer {access}"}).status_code == 200


def test_a_refresh_token_gets_a_new_pair_of_the_same_login(api, pair):
    renewed = refresh(api, pair["refresh"]).json()
    assert renewed["refresh"] != pair["refresh"]
    assert lets_in(api, renewed["access"])
    assert _claims(renewed["access"])["sid"] == _claims(pair["access"])["sid"]


def test_a_reused_refresh_token_ends_the_login_and_all_its_tokens(api, pair, alice):
    renewed = refresh(api, pair["refresh"]).json()
    stolen = refresh(api, pair["refresh"])
    assert (stolen.status_code, stolen.json()["code"]) == (401, "refresh_token_reused")
    assert alice.logins.get().revoked_at is not None
    assert not lets_in(api, renewed["access"])
    assert refresh(api, renewed["refresh"]).json()["code"] == "login_ended"


def test_other_logins_of_the_person_go_on(api, pair, alice_api):
    refresh(api, pair["refresh"])
    refresh(api, pair["refresh"])
    assert alice_api.get(ME).status_code == 200


@pytest.mark.parametrize(
    "end",
    [
        lambda alice: services.deactivate_user(user=alice),
        lambda alice: alice.memberships.get().delete(),
        lambda alice: (alice.set_password("another"), alice.save()),
    ],
    ids=["deactivated", "removed", "password changed"],
)
def test_an_ended_login_cannot_be_refreshed(api, pair, alice, end):
    end(alice)
    assert refresh(api, pair["refresh"]).json()["code"] == "login_ended"


def test_an_access_token_cannot_be_refreshed(api, pair):
    assert refresh(api, pair["access"]).json()["code"] == "token_invalid"


def test_a_token_signed_by_someone_else_is_refused(api, pair, bob):
    claims = {**_claims(pair["access"]), "user_id": str(bob.pk)}
    forged = jwt.encode(claims, "x" * 50, algorithm="HS256")
    assert not lets_in(api, forged)


def test_a_refresh_token_for_another_person_is_refused(api, pair, bob):
    claims = {**_claims(pair["refresh"]), "user_id": str(bob.pk)}
    mixed = jwt.encode(claims, settings.SECRET_KEY, algorithm="HS256")
    assert refresh(api, mixed).json()["code"] == "token_invalid"


def test_the_database_does_not_hold_the_tokens(pair):
    assert set(OutstandingToken.objects.values_list("token", flat=True)) == {""}


@pytest.mark.django_db(transaction=True)
def test_of_two_who_use_a_token_at_once_one_wins_and_the_login_ends(pair, alice):
    outcomes, start = [], threading.Barrier(2)

    def use():
        start.wait()
        try:
            outcomes.append(services.rotate_tokens(refresh=pair["refresh"]).access)
        except RefreshTokenReused as error:
            outcomes.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("refresh_token_reused") == 1
    assert alice.logins.get().revoked_at is not None


def _claims(token):
    return jwt.decode(token, options={"verify_signature": False})
