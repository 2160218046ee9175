"""What probes are told: alive whatever happens around, ready only when it can work."""

import pytest
from django.db import connection
from django.test import Client, override_settings

from axiom import health


@pytest.fixture
def probe() -> Client:
    """A probe knows neither our host name nor HTTPS."""
    return Client(headers={"host": "10.0.0.7:8000"})


def test_alive_touches_nothing(probe, settings):
    settings.REDIS_URL = "redis://127.0.0.1:9/0"
    # No database mark on this test: a query would be refused.
    assert probe.get("/healthz").json() == {"status": "alive"}


@pytest.mark.django_db
def test_ready_when_database_redis_and_migrations_are(probe):
    answer = probe.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ready"})


@pytest.mark.django_db
@override_settings(SECURE_SSL_REDIRECT=True)
@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_are_not_sent_to_https(probe, path):
    assert probe.get(path).status_code == 200


@pytest.mark.django_db
def test_redis_out_of_reach_is_not_ready(probe, settings):
    settings.REDIS_URL = "redis://:secret-word@127.0.0.1:9/0"
    answer = probe.get("/readyz")
    assert (answer.status_code, answer.json()) == (
        503,
        {
            "status": "unavailable",
            "failing": [{"check": "redis", "reason": "Redis does not answer."}],
        },
    )


@pytest.mark.django_db
def test_a_database_out_of_reach_is_not_ready(probe, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "PORT", "9")
    answer = probe.get("/readyz")
    assert answer.status_code == 503
    assert [each["check"] for each in answer.json()["failing"]] == ["database", "migrations"]


@pytest.mark.django_db
def test_a_migration_that_only_the_code_knows_is_not_ready(probe, monkeypatch):
    known = health._migrations_in_the_code()
    monkeypatch.setattr(health, "_migrations_in_the_code", lambda: known | {"axiom.9999_next"})
    (failing,) = probe.get("/readyz").json()["failing"]
    assert failing == {
        "check": "migrations",
        "reason": "1 are not applied: run `manage.py migrate`.",
    }
