"""Workers as processes: named, listed, stopped politely, one event all the way through."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from apps.events import heartbeats, workers
from apps.events.groups import WORKERS
from apps.events.models import OutboxEvent
from tests.programs import eventually

ROOT = Path(__file__).resolve().parents[2]


def test_the_command_is_ours_and_lists_the_workers(capsys):
    call_command("runworker", "--list")

    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()[:-1]]
    assert listed == [
        "relay", "watch_cep", "notifications", "bpm", "documents", "vision", "synapse",
        "synapse_mining", "oracle", "canvas", "chat",
    ]  # fmt: skip


def test_all_means_every_worker():
    assert workers.names(["all"]) == list(WORKERS)


def test_a_wrong_name_is_refused_with_the_right_ones():
    with pytest.raises(CommandError, match=r"No worker is called 'rely'. There are: relay, "):
        call_command("runworker", "rely")


def test_no_name_is_refused():
    with pytest.raises(CommandError, match="Say which workers"):
        call_command("runworker")


@pytest.mark.django_db(transaction=True)
def test_relay_and_consumer_carry_an_event_in_one_process(redis_client, happen, handle):
    handled = []
    handle(lambda message: handled.append(message.payload["number"]), "TEST_THING_HAPPENED")
    stop = threading.Event()
    process = threading.Thread(target=workers.run, args=(["relay", "notifications"], stop))
    process.start()
    try:
        eventually(lambda: len(heartbeats.alive()) == 1)
        happen(1, 2, 3)
        eventually(lambda: handled == [1, 2, 3])
        (alive,) = heartbeats.alive()
        assert list(alive.workers) == ["relay", "notifications"]
    finally:
        stop.set()
        process.join(60)
    assert heartbeats.alive() == []


@pytest.mark.django_db(transaction=True)
def test_sigterm_ends_a_worker_process_politely(redis_client, happen):
    environment = os.environ | {
        "DATABASE_URL": os.environ["DATABASE_URL"].rsplit("/", 1)[0]
        + f"/{connection.settings_dict['NAME']}"
    }
    process = subprocess.Popen(
        [sys.executable, "manage.py", "runworker", "relay"], cwd=ROOT, env=environment,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        happen(1)
        eventually(lambda: OutboxEvent.objects.filter(status="PUBLISHED").exists(), 60)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert b"workers stopped" in err
