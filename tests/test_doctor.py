"""The doctor: every finding with its fix, and an exit code that scripts can use."""

import pytest
from django.core.management import call_command
from django.db import connection

from axiom import doctor
from axiom.doctor import Verdict

pytestmark = pytest.mark.django_db


def rows() -> dict[str, doctor.Row]:
    return {row.name: row for row in doctor.examine()}


@pytest.fixture
def own_check():
    """Adds a check for one test."""

    def add(look):
        return doctor.check("own", fix="Do this.")(look)

    yield add
    doctor.CHECKS.pop("own", None)


def test_a_sound_installation_has_no_fix():
    names = ["database", "database role", "migrations", "redis", "append-only file", "eviction"]
    assert {(rows()[name].verdict, rows()[name].fix) for name in names} == {(Verdict.OK, "")}


def test_a_superuser_role_fails_with_its_fix():
    with connection.cursor() as cursor:
        # Shadows the catalog inside this transaction: the tests' role cannot make superusers.
        cursor.execute(
            "CREATE TEMP TABLE pg_roles AS "
            "SELECT current_user AS rolname, true AS rolsuper, false AS rolbypassrls"
        )
        cursor.execute("SET LOCAL search_path TO pg_temp, pg_catalog, public")
    row = rows()["database role"]
    assert (row.verdict, "superuser" in row.seen) == (Verdict.FAIL, True)
    assert "NOSUPERUSER" in row.fix


def test_no_append_only_file_fails(redis_client):
    redis_client.config_set("appendonly", "no")
    try:
        assert rows()["append-only file"].verdict is Verdict.FAIL
    finally:
        redis_client.config_set("appendonly", "yes")


def test_mail_that_reaches_nobody_is_a_warning_here_and_a_failure_in_production(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert rows()["mail"].verdict is Verdict.WARN
    settings.PRODUCTION = True
    assert rows()["mail"].verdict is Verdict.FAIL


def test_a_check_that_breaks_is_told_and_hides_no_other(own_check):
    own_check(lambda: 1 / 0)
    assert rows()["own"] == doctor.Row(
        "own", Verdict.FAIL, "ZeroDivisionError: division by zero", "Do this."
    )
    assert rows()["migrations"].verdict is Verdict.OK


def test_the_command_ends_with_1_when_something_fails(own_check, capsys):
    own_check(lambda: doctor.fail("broken"))
    with pytest.raises(SystemExit) as ended:
        call_command("doctor")
    assert ended.value.code == 1
    assert "→ Do this." in capsys.readouterr().out


def test_what_cannot_be_told_is_said_once(own_check, settings):
    settings.REDIS_URL = "redis://127.0.0.1:9/0"
    seen = {row.name: row.seen for row in doctor.examine()}
    assert "Connection refused" in seen["redis"]
    assert seen["append-only file"] == seen["eviction"] == "cannot be told without redis"
    assert seen["migrations"] == "all applied"
