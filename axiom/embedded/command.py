"""`python manage.py embedded start|stop|status|env|exec`: only the servers, before any settings."""

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from axiom import embedded

NOT_RUNNING = 3


def main(arguments: Sequence[str], directory: Path) -> int:
    """Do what the command line asks and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="manage.py embedded", description="The embedded PostgreSQL and Valkey, alone."
    )
    parser.add_argument("action", choices=["start", "stop", "status", "env", "exec"])
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, help="what exec runs while the servers run"
    )
    asked = parser.parse_args(arguments)
    if asked.action == "exec":
        return _exec(directory, asked.command)
    actions = {"start": _start, "stop": _stop, "status": _status, "env": _env}
    return actions[asked.action](directory)


def _start(directory: Path) -> int:
    embedded.start(directory)
    embedded.kept_by_hand(directory).touch()
    return _status(directory)


def _stop(directory: Path) -> int:
    embedded.stop(directory)
    embedded.kept_by_hand(directory).unlink(missing_ok=True)
    _say("PostgreSQL and Valkey are stopped.")
    return 0


def _status(directory: Path) -> int:
    """Tell how each server is; like other status commands, 3 when one does not run."""
    servers = embedded.servers(directory)
    for server in servers:
        _say(_condition(server))
    return 0 if all(server.running() for server in servers) else NOT_RUNNING


def _condition(server: embedded.Server) -> str:
    process = server.process()
    if process is None or not server.running():
        return f"{server.name} is not running."
    return f"{server.name} runs on 127.0.0.1:{server.port()} (process {process.pid})."


def _env(directory: Path) -> int:
    """Lines for a shell: eval "$(python manage.py embedded env)"."""
    if not all(server.running() for server in embedded.servers(directory)):
        raise embedded.EmbeddedError(
            "The embedded servers are not running: start them with "
            "`python manage.py embedded start`."
        )
    urls = embedded.read_urls(directory)
    _say(f"export DATABASE_URL={shlex.quote(urls.database)}")
    _say(f"export REDIS_URL={shlex.quote(urls.redis)}")
    return 0


def _exec(directory: Path, command: list[str]) -> int:
    """Run a command while the servers run, and leave them as they were found."""
    before = [server for server in embedded.servers(directory) if server.running()]
    urls = embedded.start(directory)
    here = {"DATABASE_URL": urls.database, "REDIS_URL": urls.redis}
    try:
        return subprocess.run(command, env=here | os.environ, check=False).returncode
    finally:
        if not before:
            embedded.stop(directory)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
