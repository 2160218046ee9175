"""Too many wrong passwords lock the door for a while, at the API and at the console alike."""

from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.test import Client
from django.utils import timezone

from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db

TOKEN, SESSION, CONSOLE = "/api/v1/auth/token/", "/api/v1/auth/session/", "/admin/login/"


@pytest.fixture(autouse=True)
def few_attempts(settings):
    settings.AXES_FAILURE_LIMIT = 3


def log_in(api, password=PASSWORD, email="alice@acme.example", path=TOKEN, **more):
    return api.post(path, {"email": email, "password": password}, **more)


def fail(api, times=3, **more):
    return [log_in(api, "wrong", **more) for _ in range(times)][-1]


@pytest.mark.parametrize("email", ["alice@acme.example", "nobody@acme.example"])
@pytest.mark.parametrize("path", [TOKEN, SESSION])
def test_the_door_is_locked_after_too_many_failures(api, alice, email, path):
    locked = fail(api, email=email, path=path)
    assert (locked.status_code, locked.json()["code"]) == (429, "locked_out")
    assert locked["Content-Type"] == "application/problem+json"
    assert 14 * 60 < int(locked["Retry-After"]) <= 15 * 60


def test_the_right_password_does_not_open_a_locked_door(api, alice):
    fail(api)
    assert log_in(api).status_code == 429
    assert alice.logins.count() == 0


def test_no_spelling_of_the_email_gets_around_it(api, alice):
    fail(api, times=2)
    fail(api, times=1, email="ALICE@acme.example")
    assert log_in(api).status_code == 429


def test_no_other_client_gets_around_it(api, alice):
    for number in range(3):
        log_in(api, "wrong", headers={"User-Agent": f"client {number}"})
    assert log_in(api).status_code == 429


def test_failures_at_the_console_and_at_the_api_count_together(api, alice):
    fail(api, times=2)
    client = Client()
    console = client.post(CONSOLE, {"username": alice.email, "password": "wrong"})
    assert console.status_code == 429
    assert "Try again in 15 minutes" in console.content.decode()
    assert console["Retry-After"]
    assert log_in(api).status_code == 429


def test_others_are_not_locked_out(api, alice, bob):
    fail(api)
    assert log_in(api, email=bob.email).status_code == 200
    elsewhere = log_in(api, REMOTE_ADDR="192.0.2.7")
    assert elsewhere.status_code == 200


def test_a_success_forgets_the_failures(api, alice):
    fail(api, times=2)
    assert log_in(api).status_code == 200
    assert fail(api, times=2).status_code == 401


def test_the_door_opens_by_itself_and_waiting_is_not_prolonged(api, alice):
    fail(api)
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=14))
    assert int(log_in(api)["Retry-After"]) <= 60
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=15, seconds=1))
    assert log_in(api).status_code == 200


def test_a_made_up_forwarded_address_does_not_help(api, alice, settings):
    for number in range(3):
        log_in(api, "wrong", headers={"X-Forwarded-For": f"192.0.2.{number}"})
    assert log_in(api).status_code == 429


def test_the_address_our_proxy_saw_is_the_clients(api, alice, settings):
    settings.TRUSTED_PROXIES = 1
    fail(api, headers={"X-Forwarded-For": "10.9.9.9, 192.0.2.1"})
    other = log_in(api, headers={"X-Forwarded-For": "10.9.9.9, 192.0.2.2"})
    same = log_in(api, headers={"X-Forwarded-For": "10.7.7.7, 192.0.2.1"})
    assert (other.status_code, same.status_code) == (200, 429)


def test_the_password_is_kept_nowhere(api, alice):
    fail(api, times=1)
    attempt = AccessAttempt.objects.get()
    assert "wrong" not in f"{attempt.get_data}{attempt.post_data}"
