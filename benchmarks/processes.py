"""Real processes on a stage: started, listened to, always stopped."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from .servers import ROOT

DEADLINE = 180.0
Process = subprocess.Popen[str]
_running: list[Process] = []


@contextlib.contextmanager
def started(*command: str, log: Path, **environment: str) -> Iterator[Process]:
    """Run a Python program until the block ends; what it complains of goes to the log."""
    with log.open("a") as errors:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=os.environ | environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
        )  # fmt: skip
    _running.append(process)
    try:
        yield process
    finally:
        _running.remove(process)
        _end(process)


def _end(process: Process) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_until(look: Callable[[], bool], pause: float = 0.005) -> None:
    """Come back as soon as it is so."""
    end = time.monotonic() + DEADLINE
    while not look():
        if time.monotonic() > end:
            raise TimeoutError(f"{look.__qualname__} did not happen in {DEADLINE:.0f} s")
        if died := [process.args for process in _running if process.poll() is not None]:
            raise ChildProcessError(f"{died[0]} ended; see processes.log")
        time.sleep(pause)
