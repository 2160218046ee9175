"""The embedded servers: private, and healed of every way to die."""

import os
import shlex
import signal
import socket
import subprocess
import sys

import psutil
import psycopg
import pytest
import redis

from axiom import embedded
from axiom.embedded.identity import is_alive
from axiom.embedded.state import remembered_number
from axiom.embedded.unprivileged import popen_user

from .conftest import eventually, manage


@pytest.fixture(scope="module")
def directory(own_directory):
    """One pair of servers for the module; each test leaves them startable."""
    path = own_directory / "with a space"
    yield path
    embedded.stop(path)


@pytest.fixture
def servers(directory):
    embedded.start(directory)
    return embedded.servers(directory)


def test_a_shell_gets_both_urls(servers, directory):
    lines = manage("embedded", "env", AXIOM_DIR=directory).stdout.splitlines()
    urls = dict(shlex.split(line)[1].split("=", 1) for line in lines)
    assert psycopg.connect(urls["DATABASE_URL"]).execute("SELECT 1").fetchone() == (1,)
    assert redis.Redis.from_url(urls["REDIS_URL"]).ping()


def test_status_tells_by_words_and_exit_code(servers, directory):
    assert manage("embedded", "status", AXIOM_DIR=directory).returncode == 0
    embedded.stop(directory)
    stopped = manage("embedded", "status", AXIOM_DIR=directory)
    assert stopped.returncode == 3
    assert stopped.stdout.splitlines() == ["PostgreSQL is not running.", "Valkey is not running."]


def test_env_of_stopped_servers_says_how_to_start_them(directory):
    embedded.stop(directory)
    done = manage("embedded", "env", AXIOM_DIR=directory)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`python manage.py embedded start`" in done.stderr


def test_no_password_shows_in_the_list_of_processes(servers, directory):
    shown = [" ".join(server.process().cmdline()) for server in servers]
    passwords = [path.read_text() for path in directory.glob("*.password")]
    assert len(passwords) == 3
    assert not [word for word in passwords for line in shown if word in line]
    secret_files = [*directory.glob("*.password"), directory / "valkey" / "valkey.conf"]
    assert {path.stat().st_mode & 0o077 for path in secret_files} == {0}


@pytest.mark.parametrize("number", [0, 1], ids=["postgres", "valkey"])
def test_a_killed_server_starts_again_at_the_same_place(servers, directory, number):
    server = servers[number]
    url, killed = server.url(), server.process()
    killed.kill()
    eventually(lambda: server.process() is None)
    embedded.start(directory)
    assert server.running()
    assert (server.url(), server.process() != killed) == (url, True)


def test_a_stranger_with_the_old_number_is_neither_taken_for_the_server_nor_harmed(
    servers, directory
):
    postgres, valkey = servers
    for server in servers:
        server.process().kill()
    eventually(lambda: not any(server.process() for server in servers))
    # Of the same account: PostgreSQL takes no notice of a number that belongs to another one.
    stranger = subprocess.Popen(["sleep", "600"], **popen_user())
    try:
        pidfile = postgres.data / "postmaster.pid"
        lines = pidfile.read_text().splitlines()
        pidfile.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
        valkey.pidfile.write_text(str(stranger.pid))
        embedded.start(directory)
        assert all(server.running() for server in servers)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("number", [0, 1], ids=["postgres", "valkey"])
def test_a_port_that_somebody_took_is_exchanged(servers, directory, number):
    server = servers[number]
    port = server.port()
    server.stop()
    with socket.create_server(("127.0.0.1", port)):
        embedded.start(directory)
        assert server.running()
        assert server.port() != port
    assert remembered_number(server.portfile) == server.port()


def test_backends_that_outlive_their_killed_postmaster_do_not_block_the_next(servers, directory):
    postgres, _ = servers
    connection = psycopg.connect(postgres.url())
    backend = psutil.Process(connection.execute("SELECT pg_backend_pid()").fetchone()[0])
    # A stopped process cannot notice that its postmaster died.
    backend.suspend()
    postgres.process().kill()
    eventually(lambda: postgres.process() is None)
    embedded.start(directory)
    assert postgres.running()
    assert not is_alive(backend)


def test_a_lost_pid_file_does_not_hide_a_running_valkey(servers, directory):
    _, valkey = servers
    hidden = valkey.process()
    valkey.pidfile.unlink()
    embedded.start(directory)
    assert valkey.running()
    assert not is_alive(hidden)


def test_a_cluster_whose_making_was_killed_is_made_again(own_directory):
    path = own_directory / "interrupted"
    start = [sys.executable, "manage.py", "embedded", "start"]
    first = subprocess.Popen(start, env=os.environ | {"AXIOM_DIR": str(path)})
    eventually(lambda: list(path.glob("postgres.new-*/PG_VERSION")))
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert not (path / "postgres").exists()
    try:
        embedded.start(path)
        assert all(server.running() for server in embedded.servers(path))
    finally:
        embedded.stop(path)


def test_two_starts_at_once_share_the_servers(directory):
    embedded.stop(directory)
    start = [sys.executable, "manage.py", "embedded", "start"]
    both = [
        subprocess.Popen(
            start, env=os.environ | {"AXIOM_DIR": str(directory)}, stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    said = {process.communicate(timeout=60)[0] for process in both}
    assert len(said) == 1
    assert [process.returncode for process in both] == [0, 0]


def test_exec_runs_a_command_with_servers_and_leaves_them_as_found(directory):
    embedded.stop(directory)
    ask = "import os, psycopg; psycopg.connect(os.environ['DATABASE_URL']); raise SystemExit(5)"
    done = manage("embedded", "exec", sys.executable, "-c", ask, AXIOM_DIR=directory)
    assert done.returncode == 5, done.stderr
    assert not any(server.process() for server in embedded.servers(directory))
