"""Real runs of Axiom in directories of their own."""

import os
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from axiom import embedded
from axiom.embedded.state import free_port
from tests.programs import eventually

ROOT = Path(__file__).resolve().parent.parent.parent
READY_SECONDS = 90
NOT_INHERITED = ("DATABASE_URL", "REDIS_URL", "AXIOM_DIR", "PORT", "SECRET_KEY")


def environment(**variables: object) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if k not in NOT_INHERITED}
    return inherited | {name: str(value) for name, value in variables.items()}


def manage(*arguments: str, **variables: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT, env=environment(**variables), capture_output=True, text=True, timeout=90,
        check=False,
    )  # fmt: skip


class Run:
    """`manage.py run` in a directory, as a newcomer would start it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.output = directory / "output.txt"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Run":
        self.directory.mkdir(parents=True, exist_ok=True)
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "run"],
                cwd=ROOT, env=environment(AXIOM_DIR=self.directory, PORT=self.port),
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        return self

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def says(self, words: str) -> bool:
        return words in self.output.read_text()

    def until_ready(self) -> "Run":
        def ready_or_ended() -> bool:
            return self.says("Axiom is ready") or not self.is_alive()

        eventually(ready_or_ended, READY_SECONDS)
        assert self.says("Axiom is ready"), self.output.read_text()
        return self

    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def get(self, path: str) -> int:
        """The status of an answer; 0 when there is none."""
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}{path}", timeout=10
            ) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def processes(self) -> list[psutil.Process]:
        """Everything alive that works for this directory, the servers included."""
        servers = [server.process() for server in embedded.servers(self.directory)]
        family = [process for process in psutil.process_iter() if self._started(process)]
        return [process for process in [*servers, *family] if process is not None]

    def process_of(self, name: str) -> psutil.Process | None:
        arguments = {
            "web": "daphne", "workers": "runworker", "celery": "2", "deliveries": "deliveries",
            "beat": "beat",
        }  # fmt: skip
        found = [p for p in self.processes() if arguments[name] in p.cmdline()]
        return min(found, key=lambda process: process.pid, default=None)

    def _started(self, process: psutil.Process) -> bool:
        try:
            # A process that ended and nobody asked about yet is gone all the same.
            return process.status() != psutil.STATUS_ZOMBIE and process.environ().get(
                "AXIOM_DIR"
            ) == str(self.directory)
        except psutil.Error:
            return False

    def end(self, number: int = signal.SIGINT, seconds: float = 60) -> int:
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(seconds)


@pytest.fixture(scope="module")
def own_directory() -> Iterator[Path]:
    """Not pytest's: that one is closed to the account that runs PostgreSQL for root."""
    with tempfile.TemporaryDirectory(prefix="axiom-") as path:
        yield Path(path)


@pytest.fixture(scope="module")
def axiom_run(own_directory: Path) -> Iterator[Run]:
    """One installation for all tests of a module; see `running`."""
    run = Run(own_directory / "data of 한빛")
    yield run
    run.end()
    embedded.stop(run.directory)


@pytest.fixture
def running(axiom_run: Run) -> Run:
    """The installation, started if the test before stopped it."""
    return axiom_run if axiom_run.is_alive() else axiom_run.start().until_ready()
