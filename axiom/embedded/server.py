"""What the two embedded servers have in common: start, stop, and healing after a crash."""

import abc
import signal
import time
from pathlib import Path
from typing import ClassVar

import psutil

from .errors import EmbeddedError
from .identity import end, end_remains, server_at

# Recovering after a crash or loading a large file takes its time.
START_SECONDS = 60
# A server that lives and says nothing for this long has to go.
SILENCE_SECONDS = 20
STOP_SECONDS = 20


class Server(abc.ABC):
    """A server of one data directory; every call may be repeated and heals what a crash left."""

    name: ClassVar[str]
    program: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]
    # Ends it at once, without harm to what was committed.
    end_signal: ClassVar[signal.Signals]

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self.data = self.directory / self.program
        self.log = self.directory / "logs" / f"{self.program}.log"

    def start(self) -> str:
        """Run the server, creating its data the first time, and return the application's URL."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._create_data()
        if not self._already_runs():
            end_remains(self.program, self.data, self.end_signal)
            self._launch()
        return self.url()

    def stop(self) -> None:
        """Stop it in order, or by force when it takes too long."""
        process = self.process()
        if process is not None:
            end([process], self.stop_signal, self.end_signal, signal.SIGKILL, seconds=STOP_SECONDS)

    @abc.abstractmethod
    def url(self) -> str: ...

    @abc.abstractmethod
    def port(self) -> int: ...

    def remembered_url(self) -> str:
        """Where the server listens or last listened; empty when it was never started."""
        try:
            return self.url()
        except EmbeddedError:
            return ""

    def running(self) -> bool:
        return self.process() is not None and self._answers()

    def process(self) -> psutil.Process | None:
        """The live server of this directory, never a stranger that got its number."""
        pid = self._pid()
        return server_at(pid, self.program, self.data) if pid else None

    def _already_runs(self) -> bool:
        """Whether it answers; one that is still loading or recovering gets time to."""
        deadline = time.monotonic() + SILENCE_SECONDS
        while self.process() is not None and time.monotonic() < deadline:
            if self._answers():
                return True
            time.sleep(0.05)
        return False

    @abc.abstractmethod
    def _pid(self) -> int | None: ...

    @abc.abstractmethod
    def _answers(self) -> bool: ...

    @abc.abstractmethod
    def _create_data(self) -> None: ...

    @abc.abstractmethod
    def _launch(self) -> None: ...
