"""One process of a run: started on a leash, watched, started again, stopped in bounded time."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from axiom.startup import BASE_DIR

from . import leash, logfiles, records

FIRST_DELAY = 0.5
LONGEST_DELAY = 30
# Who lived this long is well again: the next fall counts as the first.
WELL_SECONDS = 60


class Child:
    """A process with its log, its record and its back-off."""

    def __init__(
        self, directory: Path, name: str, command: tuple[str, ...], environment: dict[str, str]
    ) -> None:
        self.directory = directory
        self.name = name
        self.command = command
        self.environment = environment
        self.log = directory / "logs" / f"{name}.log"
        self.ready_file = directory / "run" / f"{name}.ready"
        self.process: subprocess.Popen[bytes] | None = None
        self.delay = FIRST_DELAY
        self.started_at = 0.0
        self.due_at: float | None = None

    def start(self) -> None:
        self.ready_file.unlink(missing_ok=True)
        self.started_at, self.due_at = time.monotonic(), None
        with logfiles.open_log(self.log) as log:
            self.process = subprocess.Popen(
                self._leashed(),
                cwd=BASE_DIR,
                env={**self.environment, "AXIOM_READY_FILE": str(self.ready_file)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A group of its own: Ctrl-C is for the supervisor, which stops the rest in order.
                start_new_session=True,
            )
        records.remember(self.directory, self.name, self.process.pid)

    def _leashed(self) -> list[str]:
        leashed = [sys.executable, "-I", "-S", str(leash.__file__), str(os.getpid())]
        return [*leashed, *self.command]

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self.process.poll() if self.process else None

    def tend(self, now: float) -> str:
        """Start it again if it fell, later each time; the sentence to say, if any."""
        if self.due_at is not None:
            return self._start_when_due(now)
        code = self.exit_code()
        if code is None:
            return ""
        self.clear()
        self.delay = FIRST_DELAY if now - self.started_at > WELL_SECONDS else self.delay
        self.due_at = now + self.delay
        said = f"{self.name} stopped ({cause(code)}): it starts again in {self.delay:g} s; "
        self.delay = min(self.delay * 2, LONGEST_DELAY)
        return said + f"{self.log} says why."

    def _start_when_due(self, now: float) -> str:
        if self.due_at is not None and now >= self.due_at:
            self.start()
            return f"{self.name} started again."
        return ""

    def stop(self, seconds: float, hurry: Callable[[], bool]) -> None:
        """Ask it to finish; what still lives after these seconds is killed."""
        self.due_at = None
        if self.process is None:
            return
        deadline = time.monotonic() + seconds
        if self.process.poll() is None:
            self.process.terminate()
        while self.process.poll() is None and time.monotonic() < deadline and not hurry():
            time.sleep(0.02)
        self.process.kill()
        self.process.wait()
        self.clear()

    def clear(self) -> None:
        """Forget a process that ended, and end what it left: pool processes, for example."""
        if self.process is not None:
            records.end_group(self.process.pid)
            records.forget(self.directory, self.name)
            self.process = None


def cause(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
