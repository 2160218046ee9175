"""Remembers which processes a run started, so that the next one can end what a crash left."""

import contextlib
import fcntl
import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from axiom.embedded.identity import end
from axiom.embedded.state import write_private
from axiom.startup import WrongValue

# The clock of process starts may be corrected by a second meanwhile.
CLOCK_SECONDS = 2
ORPHAN_SECONDS = 3


@dataclass(frozen=True)
class Record:
    """A process by its number and its start: a number alone is given to strangers later."""

    pid: int
    started: float
    program: str


@contextlib.contextmanager
def only_one(directory: Path, address: str) -> Iterator[None]:
    """Hold the directory; the lock goes with the process, however that ends."""
    with (directory / "run" / "supervisor.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise WrongValue(
                f"Axiom already runs here ({lock.read().strip()}): "
                "use that one, or stop it with Ctrl-C in its terminal."
            ) from None
        lock.truncate(0)
        lock.write(f"{address}, process {os.getpid()}")
        lock.flush()
        yield


def remember(directory: Path, name: str, pid: int) -> None:
    record = Record(pid, psutil.Process(pid).create_time(), sys.executable)
    write_private(_path(directory, name), json.dumps(asdict(record)))


def forget(directory: Path, name: str) -> None:
    _path(directory, name).unlink(missing_ok=True)


def end_orphans(directory: Path) -> list[str]:
    """End what an earlier run left behind and return the names."""
    ended = []
    for path in sorted((directory / "run").glob("*.process")):
        if orphans := _living(path):
            end(orphans, signal.SIGTERM, signal.SIGKILL, seconds=ORPHAN_SECONDS)
            ended.append(path.stem)
        path.unlink()
    return ended


def end_group(pid: int) -> None:
    """End at once whatever is left of the process group that this process led."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _path(directory: Path, name: str) -> Path:
    return directory / "run" / f"{name}.process"


def _living(path: Path) -> list[psutil.Process]:
    """The recorded process and its group, and no stranger."""
    try:
        record = Record(**json.loads(path.read_text()))
    except (ValueError, TypeError):
        return []
    leader = _process(record.pid)
    if leader is not None and abs(leader.create_time() - record.started) > CLOCK_SECONDS:
        return []
    return [process for process in psutil.process_iter() if _belongs(process, record)]


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def _belongs(process: psutil.Process, record: Record) -> bool:
    try:
        return (
            os.getpgid(process.pid) == record.pid
            and process.create_time() >= record.started - CLOCK_SECONDS
            and process.cmdline()[:1] == [record.program]
        )
    except (OSError, psutil.Error):
        return False
