"""The doctor: every finding with its fix, and an exit code that scripts can use."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from apps.events import bus, handlers, heartbeats
from apps.events.groups import GROUPS, WORKERS
from apps.events.keys import Stream
from axiom import doctor
from axiom.doctor import Verdict

pytestmark = pytest.mark.django_db


def row(name: str) -> doctor.Row:
    doctor.known()
    return doctor.examine(name)[-1]


@pytest.fixture
def own_check():
    """Adds a check for one test."""

    def add(look):
        return doctor.check("own", fix="Do this.")(look)

    yield add
    doctor.CHECKS.pop("own", None)


@pytest.mark.parametrize(
    "name", ["database", "database role", "migrations", "redis", "append-only file", "eviction"]
)
def test_a_sound_installation_has_no_fix(name):
    assert (row(name).verdict, row(name).fix) == (Verdict.OK, "")


def test_a_superuser_role_fails_with_its_fix():
    with connection.cursor() as cursor:
        # Shadows the catalog inside this transaction: the tests' role cannot make superusers.
        cursor.execute(
            "CREATE TEMP TABLE pg_roles AS "
            "SELECT current_user AS rolname, true AS rolsuper, false AS rolbypassrls"
        )
        cursor.execute("SET LOCAL search_path TO pg_temp, pg_catalog, public")
    found = row("database role")
    assert (found.verdict, "superuser" in found.seen) == (Verdict.FAIL, True)
    assert "NOSUPERUSER" in found.fix


def test_no_append_only_file_fails(redis_client):
    redis_client.config_set("appendonly", "no")
    try:
        assert row("append-only file").verdict is Verdict.FAIL
    finally:
        redis_client.config_set("appendonly", "yes")


def test_mail_that_reaches_nobody_is_a_warning_here_and_a_failure_in_production(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert row("mail").verdict is Verdict.WARN
    settings.PRODUCTION = True
    assert row("mail").verdict is Verdict.FAIL


def test_a_check_that_breaks_is_told_and_hides_no_other(own_check):
    own_check(lambda: 1 / 0)
    assert row("own") == doctor.Row(
        "own", Verdict.FAIL, "ZeroDivisionError: division by zero", "Do this."
    )
    assert [each.verdict for each in doctor.examine("own", "database")] == ["ok", "fail"]


def test_the_command_ends_with_1_when_something_fails(own_check, capsys):
    own_check(lambda: doctor.fail("broken"))
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", "own")
    assert ended.value.code == 1
    assert "→ Do this." in capsys.readouterr().out


def test_an_unknown_check_is_answered_with_the_known_ones():
    with pytest.raises(CommandError, match=r"No check is called 'heart'.*There are: database, "):
        call_command("doctor", "heart")


def test_what_cannot_be_told_is_said_once(settings):
    settings.REDIS_URL = "redis://127.0.0.1:9/0"
    doctor.known()
    seen = {each.name: each.seen for each in doctor.examine("append-only file", "migrations")}
    assert "Connection refused" in seen["redis"]
    assert seen["append-only file"] == "cannot be told without redis"
    assert seen["migrations"] == "all applied"


def test_no_worker_is_a_failure_and_a_heartbeat_is_none(redis_client):
    assert "no heartbeat of" in row("workers").seen
    heartbeats.Heart("one", WORKERS).beat()
    assert row("workers").verdict is Verdict.OK


def test_streams_are_there_once_the_bus_has_an_epoch(redis_client):
    assert row("streams").verdict is Verdict.FAIL
    bus.connect().begin_epoch("first", {stream: [] for stream in Stream})
    assert row("streams").seen == "6, 0 entries"


def test_a_group_without_its_place_on_the_stream_fails(redis_client, handler):
    begin_epoch(without="vision_group")
    assert row("groups").seen == "not there: vision_group on axiom:events"
    bus.connect().ensure_group("axiom:events", "vision_group")
    assert row("groups").verdict is Verdict.OK


def test_a_group_far_behind_is_a_warning(redis_client, handler):
    begin_epoch()
    for _ in range(101):
        redis_client.xadd(Stream.EVENTS, {"any": "thing"})
    assert row("groups").verdict is Verdict.WARN
    assert "vision_group on axiom:events (lag 101, pending 0)" in row("groups").seen


def begin_epoch(without: str = "") -> None:
    """Make every stream with the groups that have something to do."""
    active = set(handlers.active_groups()) - {without}
    groups = {
        stream: [name for name in active if stream in GROUPS[name].streams] for stream in Stream
    }
    bus.connect().begin_epoch("first", groups)


@pytest.fixture
def handler():
    """Somebody who reads: a group without a handler is not expected to be there."""

    def react(message):
        raise NotImplementedError

    handlers.on("*", group="vision_group")(react)
    yield react
    handlers.forget(react)
