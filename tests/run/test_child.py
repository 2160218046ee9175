"""One process of a run: started again later each time, stopped in bounded time, its log bounded."""

import sys
import time

import psutil
import pytest

from axiom.embedded.identity import is_alive
from axiom.run import logfiles
from axiom.run.child import FIRST_DELAY, LONGEST_DELAY, WELL_SECONDS, Child

from .conftest import eventually


@pytest.fixture
def child(tmp_path):
    """Makes a child that runs some Python, and ends it after the test."""
    (tmp_path / "run").mkdir()
    made = []

    def make(code: str) -> Child:
        made.append(Child(tmp_path, "it", (sys.executable, "-c", code), {}))
        made[-1].start()
        return made[-1]

    yield make
    for each in made:
        each.stop(seconds=0, hurry=lambda: True)


def fall(it: Child) -> str:
    """Wait until it has fallen; what is said about it."""
    eventually(lambda: it.exit_code() is not None)
    return it.tend(time.monotonic())


def test_who_falls_again_and_again_waits_longer_each_time(child):
    it = child("raise SystemExit(3)")
    delays = []
    for _ in range(9):
        assert "it stopped (exit code 3): it starts again in" in fall(it)
        delays.append(it.due_at - time.monotonic())
        assert it.tend(it.due_at) == "it started again."
    assert [round(delay, 1) for delay in delays[:4]] == [0.5, 1, 2, 4]
    assert delays[-1] == pytest.approx(LONGEST_DELAY, abs=0.5)


def test_who_lived_well_for_a_while_is_forgiven(child):
    it = child("raise SystemExit(3)")
    fall(it)
    it.tend(it.due_at)
    eventually(lambda: it.exit_code() is not None)
    it.started_at -= WELL_SECONDS + 1
    assert f"it starts again in {FIRST_DELAY} s" in it.tend(time.monotonic())


def test_who_does_not_want_to_stop_is_killed_with_all_it_started(child, tmp_path):
    pids = tmp_path / "pids"
    it = child(
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.fork();"
        f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}} '); time.sleep(600)"
    )
    eventually(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    began = time.monotonic()
    it.stop(seconds=0.3, hurry=lambda: False)
    assert time.monotonic() - began < 5
    eventually(lambda: not any(is_there(int(pid)) for pid in pids.read_text().split()))


def is_there(pid: int) -> bool:
    return psutil.pid_exists(pid) and is_alive(psutil.Process(pid))


def test_a_long_log_is_kept_once_and_begun_again(tmp_path):
    path = tmp_path / "web.log"
    with logfiles.open_log(path) as log:
        log.write(b"x" * 100)
        log.flush()
        logfiles.cut_long_ones(tmp_path, largest=50)
        log.write(b"after\n")
    assert path.read_bytes() == b"after\n"
    assert (tmp_path / "web.log.1").read_bytes() == b"x" * 100


def test_a_short_log_is_left_alone(tmp_path):
    (tmp_path / "web.log").write_text("short")
    logfiles.cut_long_ones(tmp_path, largest=50)
    assert [path.name for path in tmp_path.iterdir()] == ["web.log"]
