"""Starts the servers and processes of Axiom, keeps them running, stops them in order."""

import os
import signal
import time
from types import FrameType

import psycopg

from axiom import demo
from axiom.embedded import EmbeddedError
from axiom.startup import WrongValue

from . import logfiles, migrations
from .child import Child, cause
from .programs import PYTHON, Program, programs
from .servers import Servers
from .steps import say, step
from .wanted import Wanted

TICK_SECONDS = 0.1
READY_SECONDS = 120
SERVER_RETRY_SECONDS = 5
LOG_CHECK_SECONDS = 60
WRONG_VALUE = 2


class StopAsked(Exception):
    """Somebody wants it to end: Ctrl-C, SIGTERM or a closed terminal."""


class StartFailed(Exception):
    """A process did not come up; the message says why and names its log."""


class Supervisor:
    """One run of Axiom, from the servers to the last process."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.servers = Servers(wanted)
        self.children: list[tuple[Program, Child]] = []
        self.urls: dict[str, str] = {}
        self.stop_asked = 0
        self.servers_due_at = 0.0
        self.logs_due_at = 0.0

    def run(self) -> None:
        """Start everything, watch it until somebody asks to stop, then stop it."""
        self._listen()
        try:
            self._start()
            self._watch()
        except StopAsked:
            say("Stopping …")
            self._stop()
            say("Axiom is stopped.")
        except BaseException:
            self._stop()
            raise

    def _listen(self) -> None:
        signal.signal(signal.SIGINT, self._note_stop)
        signal.signal(signal.SIGTERM, self._note_stop)
        # Under nohup a closed terminal is meant to be ignored.
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._note_stop)

    def _note_stop(self, number: int, frame: FrameType | None) -> None:
        # Only noted: work in hand, such as writing down a new process, is finished first.
        self.stop_asked += 1

    def _pause(self) -> None:
        if self.stop_asked:
            raise StopAsked
        time.sleep(TICK_SECONDS)

    def _start(self) -> None:
        logfiles.cut_long_ones(self.wanted.directory / "logs")
        with step(f"{self.servers.names}: starting", f"{self.servers.names}: running"):
            self.urls = self.servers.start()
        with step("Database: migrating", "Database: up to date"):
            self._migrate()
        if not self.wanted.production and not self._demo_is_loaded():
            with step("Demo data: loading, this once", "Demo data: loaded"):
                self._manage("demo", "demo", "load", "--once")
        self._start_programs()
        say(f"Axiom is ready: {self.wanted.address} ({self._login()})")

    def _start_programs(self) -> None:
        for program in programs(self.wanted.port, self.wanted.directory):
            child = self._child(program.name, program.command)
            self.children.append((program, child))
            child.start()
        for program, child in self.children:
            with step(f"{program.label}: starting", f"{program.label}: running"):
                self._await_ready(program, child)

    def _await_ready(self, program: Program, child: Child) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not program.is_ready(child.ready_file):
            if child.exit_code() is not None:
                raise self._failure(child)
            if time.monotonic() > deadline:
                raise StartFailed(
                    f"{program.label} was not ready after {READY_SECONDS} s; {child.log} says why."
                )
            self._pause()

    def _manage(self, name: str, *arguments: str) -> None:
        """Run a management command to its end."""
        child = self._child(name, (PYTHON, "manage.py", *arguments))
        try:
            child.start()
            while child.exit_code() is None:
                self._pause()
            if child.exit_code():
                raise self._failure(child)
        finally:
            child.stop(seconds=5, hurry=self._hurry)

    def _failure(self, child: Child) -> Exception:
        """A wrong value is told in its own sentence, anything else with the log's name."""
        code, last = child.exit_code() or 0, logfiles.last_line(child.log)
        # Said plainly by manage.py, or as the end of a trace by a program that is not ours.
        _, is_wrong_value, sentence = last.rpartition(f"{WrongValue.__name__}: ")
        if is_wrong_value or (code == WRONG_VALUE and last):
            return WrongValue(sentence)
        return StartFailed(
            f"{child.name} did not work ({cause(code)}); {child.log} says why, last: {last}"
        )

    def _child(self, name: str, command: tuple[str, ...]) -> Child:
        environment = {
            "PUBLIC_URL": self.wanted.address,
            **os.environ,
            **self.urls,
            "AXIOM_DIR": str(self.wanted.directory),
            "PYTHONUNBUFFERED": "1",
        }
        return Child(self.wanted.directory, name, command, environment)

    def _migrate(self) -> None:
        database = self.urls["DATABASE_URL"]
        if not migrations.settled(self.wanted.directory, database):
            self._manage("migrate", "migrate", "--no-input")
            migrations.remember(self.wanted.directory, database)

    def _demo_is_loaded(self) -> bool:
        with psycopg.connect(self.urls["DATABASE_URL"]) as connection:
            found = connection.execute("SELECT 1 FROM axiom_demoload LIMIT 1").fetchone()
        return found is not None

    def _login(self) -> str:
        if self.wanted.production:
            return "make a login with `python manage.py createsuperuser`"
        return f"login {demo.LOGIN} / {demo.PASSWORD}"

    def _watch(self) -> None:
        while True:
            self._pause()
            now = time.monotonic()
            self._heal_servers(now)
            for _, child in self.children:
                if sentence := child.tend(now):
                    say(sentence)
            self._keep_logs_short(now)

    def _heal_servers(self, now: float) -> None:
        fallen = self.servers.fallen()
        if not fallen or now < self.servers_due_at:
            return
        say(f"{fallen} stopped: starting again.")
        self.servers_due_at = now + SERVER_RETRY_SECONDS
        try:
            self._use(self.servers.start())
            say(f"{fallen} started again.")
        except (EmbeddedError, WrongValue) as error:
            say(str(error))

    def _use(self, urls: dict[str, str]) -> None:
        """A server that had to take another port takes every process with it."""
        if urls == self.urls:
            return
        self.urls = urls
        for program, child in self.children:
            child.stop(program.stop_seconds, self._hurry)
            child.environment.update(urls)
            child.start()

    def _keep_logs_short(self, now: float) -> None:
        if now >= self.logs_due_at:
            self.logs_due_at = now + LOG_CHECK_SECONDS
            logfiles.cut_long_ones(self.wanted.directory / "logs")

    def _stop(self) -> None:
        for program, child in self.children:
            child.stop(program.stop_seconds, self._hurry)
        self.servers.stop()

    def _hurry(self) -> bool:
        """A second Ctrl-C: no more patience."""
        return self.stop_asked > 1
