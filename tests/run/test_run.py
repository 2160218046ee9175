"""`make run`: one line when it is ready, everything gone when it ends, healed when it was killed."""

import json
import os
import signal
import threading
import urllib.request
from urllib.parse import urlsplit

import psycopg
import pytest
import redis
from django.db import connection

from axiom import embedded
from axiom.embedded.identity import is_alive
from axiom.run import migrations

from .conftest import ROOT, Run, eventually, manage


def test_one_line_says_where_it_is_and_how_to_log_in(running):
    ready = [line for line in running.output.read_text().splitlines() if "ready" in line]
    assert ready == [
        f"Axiom is ready: http://127.0.0.1:{running.port} (login admin@hanbit.example / axiom-demo)"
    ]


def test_it_is_alive_and_ready_and_shows_its_console(running):
    assert [running.get(path) for path in ("/healthz", "/readyz", "/admin/login/")] == [200] * 3


def test_a_second_start_says_in_one_sentence_that_it_runs_already(running):
    second = manage("run", AXIOM_DIR=running.directory, PORT=running.port)
    assert second.returncode == 2
    assert one_sentence(second) == (
        f"Axiom already runs here (http://127.0.0.1:{running.port}, process {running.pid}): "
        "use that one, or stop it with Ctrl-C in its terminal."
    )


@pytest.mark.parametrize("name", ["web", "workers", "celery"])
def test_a_killed_process_is_started_again_and_said_so(running, name):
    before = running.process_of(name)
    before.kill()
    eventually(lambda: running.says(f"{name} stopped (SIGKILL): it starts again in"))
    eventually(lambda: running.says(f"{name} started again."))
    after = eventually(lambda: running.process_of(name))
    assert after.pid != before.pid
    eventually(lambda: running.get("/readyz") == 200)


@pytest.mark.parametrize("number", [0, 1], ids=["postgres", "valkey"])
def test_a_killed_server_is_started_again_where_it_was(running, number):
    server = embedded.servers(running.directory)[number]
    url = server.url()
    server.process().kill()
    eventually(lambda: running.says(f"{server.name} started again."))
    eventually(lambda: running.get("/readyz") == 200)
    assert server.url() == url


def test_the_doctor_finds_a_running_installation_well(running):
    # After their Redis was killed the workers need a moment to find it again.
    eventually(lambda: manage("doctor", AXIOM_DIR=running.directory).returncode == 0)


def test_a_supervisor_killed_during_load_is_healed_by_the_next_start(running):
    keep_something(running)
    left = running.process_of("beat")
    # A suspended process does not hear that its supervisor is gone.
    left.suspend()
    with load_on(running):
        running.process.kill()
        running.process.wait()
    again = running.start().until_ready()
    assert not is_alive(left)
    assert again.get("/readyz") == 200
    assert kept_things(again) == ("지킬 것", b"kept")
    assert len([p for p in again.processes() if "daphne" in p.cmdline()]) == 1


def test_ctrl_c_stops_every_process_it_started(running):
    assert len(running.processes()) >= 7
    assert running.end(signal.SIGINT) == 0
    assert running.processes() == []
    assert running.says("Axiom is stopped.")


def test_django_is_asked_for_migrations_only_when_something_changed(settings, tmp_path):
    (tmp_path / "run").mkdir()
    url = settings.DATABASE_URL
    assert not migrations.settled(tmp_path, url)
    migrations.remember(tmp_path, url)
    assert migrations.settled(tmp_path, url)
    requirements = ROOT / "requirements.txt"
    before = requirements.stat()
    os.utime(requirements, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    try:
        assert not migrations.settled(tmp_path, url)
    finally:
        os.utime(requirements, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.django_db(transaction=True)
def test_another_database_is_migrated(settings, tmp_path):
    (tmp_path / "run").mkdir()
    migrations.remember(tmp_path, settings.DATABASE_URL)
    other = urlsplit(settings.DATABASE_URL)._replace(path=connection.settings_dict["NAME"]).geturl()
    assert not migrations.settled(tmp_path, other)


def one_sentence(done) -> str:
    (line,) = (done.stdout + done.stderr).splitlines()
    return line


def keep_something(run: Run) -> None:
    urls = embedded.read_urls(run.directory)
    with psycopg.connect(urls.database) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (thing text)")
        connection.execute("INSERT INTO kept VALUES ('지킬 것')")
    with redis.Redis.from_url(urls.redis) as client:
        client.set("kept", "kept")
        # Written by the second, or now for a test that does not want to wait it out.
        client.execute_command("WAITAOF", 1, 0, 5000)


def kept_things(run: Run) -> tuple[str, bytes]:
    urls = embedded.read_urls(run.directory)
    with psycopg.connect(urls.database) as connection:
        row = connection.execute("SELECT thing FROM kept LIMIT 1").fetchone()
    with redis.Redis.from_url(urls.redis) as client:
        return row[0], client.get("kept")


class load_on:
    """People asking for pages while something happens."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.over = threading.Event()
        self.people = [threading.Thread(target=self._ask) for _ in range(4)]

    def _ask(self) -> None:
        while not self.over.is_set():
            self.run.get("/admin/login/")

    def __enter__(self) -> None:
        for person in self.people:
            person.start()
        assert json.load(urllib.request.urlopen(f"http://127.0.0.1:{self.run.port}/healthz"))

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for person in self.people:
            person.join()
