"""Tells a server of ours from a stranger: by its program and the directory it works in."""

import contextlib
import signal
import time
from pathlib import Path

import psutil

REMAINS_SECONDS = 3


def server_at(pid: int, program: str, data: Path) -> psutil.Process | None:
    """The live server with this number, never a stranger that got the number of a dead one."""
    try:
        process = psutil.Process(pid)
        return process if _is_ours(process, program, data) else None
    except psutil.Error:
        return None


def end_remains(program: str, data: Path, how: signal.Signals) -> None:
    """End what a killed server left running: it would hold the data's lock."""
    remains = [process for process in psutil.process_iter() if _is_ours(process, program, data)]
    end(remains, how, signal.SIGKILL, seconds=REMAINS_SECONDS)


def end(processes: list[psutil.Process], *signals: signal.Signals, seconds: float) -> None:
    """Send one signal after the other, each time to those that live on after these seconds."""
    for number in signals:
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        processes = _still_there(processes, seconds)


def _still_there(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    deadline = time.monotonic() + seconds
    while (processes := [each for each in processes if is_alive(each)]) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.01)
    return processes


def is_alive(process: psutil.Process) -> bool:
    """Whether it still does or holds something: one that nobody buried yet does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _is_ours(process: psutil.Process, program: str, data: Path) -> bool:
    try:
        return program in process.name() and Path(process.cwd()) == data
    except (psutil.Error, FileNotFoundError):
        return False
