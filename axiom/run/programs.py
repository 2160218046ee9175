"""The processes that together are Axiom, in the order they start and, on Ctrl-C, stop."""

import http.client
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PYTHON = sys.executable
# Threads, because it waits for others most of the time; enough for all channels at once.
DELIVERING = (
    *("--queues", "deliveries", "--hostname", "deliveries@%h"),
    *("--pool", "threads", "--concurrency", "20"),
)


@dataclass(frozen=True)
class Program:
    """One process: what to run, how to see that it is ready, how long it may take to stop."""

    name: str
    label: str
    command: tuple[str, ...]
    is_ready: Callable[[Path], bool]
    stop_seconds: float = 10


def programs(port: int, directory: Path) -> list[Program]:
    """Web first: it is what people look at while the rest comes up."""
    return [
        Program(
            "web",
            "web server",
            (
                *(PYTHON, "-m", "daphne", "--bind", "127.0.0.1", "--port", str(port)),
                *("--verbosity", "0", "axiom.asgi:application"),
            ),
            is_ready=lambda _: answers(port, "/readyz"),
        ),
        Program(
            "workers",
            "event workers",
            (PYTHON, "manage.py", "runworker", "all"),
            is_ready=Path.exists,
            # A batch in hand is finished; its longest handler may take its time.
            stop_seconds=15,
        ),
        Program(
            "celery",
            "Celery worker",
            (*_celery("worker"), "--concurrency", "2", "--without-gossip", "--without-mingle"),
            is_ready=Path.exists,
        ),
        Program(
            "deliveries",
            "delivery worker",
            (*_celery("worker"), *DELIVERING, "--without-gossip", "--without-mingle"),
            is_ready=Path.exists,
        ),
        Program(
            "beat",
            "Celery beat",
            (*_celery("beat"), "--schedule", str(directory / "run" / "beat-schedule")),
            is_ready=Path.exists,
            stop_seconds=5,
        ),
    ]


def _celery(command: str) -> tuple[str, ...]:
    return (PYTHON, "-m", "celery", "--app", "axiom.celery", "--quiet", command)


def answers(port: int, path: str) -> bool:
    """Whether the web server here says 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
