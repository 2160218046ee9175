"""Who calls too often is told when to come back."""

import pytest

from axiom.api.throttles import parse_rate

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_client")]

ME, TOKEN = "/api/v1/auth/me/", "/api/v1/auth/token/"


@pytest.fixture(autouse=True)
def rates(settings):
    settings.API_THROTTLES = {"anon": "2/hour", "user": "3/hour", "login": "1/hour"}


def statuses(api, times, path=ME, **more):
    return [api.get(path, **more).status_code for _ in range(times)]


def test_a_person_is_throttled_by_who_they_are(alice_api, bob_api, api_of, alice):
    assert statuses(alice_api, 3) == [200, 200, 200]
    assert statuses(api_of(alice), 1) == [429]
    assert statuses(bob_api, 1) == [200]


def test_who_is_throttled_is_told_when_to_come_back(alice_api):
    statuses(alice_api, 3)
    response = alice_api.get(ME)
    assert response.json()["code"] == "throttled"
    assert 0 < int(response["Retry-After"]) <= 3600


def test_logging_in_has_a_rate_of_its_own_per_address(api, alice):
    body = {"email": "x@acme.example", "password": "x"}
    codes = [api.post(TOKEN, body).json()["code"] for _ in range(2)]
    assert codes == ["wrong_credentials", "throttled"]
    assert api.post(TOKEN, body, REMOTE_ADDR="192.0.2.9").json()["code"] == "wrong_credentials"


def test_without_redis_people_are_served_and_not_counted(alice_api, settings):
    settings.CACHES = {
        "default": {
            **settings.CACHES["default"],
            "LOCATION": "redis://127.0.0.1:1/0",
        }
    }
    assert statuses(alice_api, 5) == [200] * 5


@pytest.mark.parametrize(
    ("rate", "parsed"), [("5/s", (5, 1)), ("20/min", (20, 60)), ("1/hour", (1, 3600))]
)
def test_a_rate_reads_as_people_write_it(rate, parsed):
    assert parse_rate(rate) == parsed
