"""Runs the relay and the consumers by name, several in one process."""

import threading
from collections.abc import Callable, Iterator, Sequence

import structlog
from django.db import connection

from axiom.startup import say_ready

from . import bus, failpoints, heartbeats
from .consumer import Consumer
from .groups import RELAY, WORKERS, groups_of
from .handlers import active_groups
from .housekeeping import Housekeeper
from .relay import Relay

log = structlog.get_logger(__name__)

Loop = Callable[[threading.Event], None]

_beside: dict[str, list[Callable[[str], Loop]]] = {}


def run_beside(worker: str, make: Callable[[str], Loop]) -> None:
    """Wherever this worker runs, run this loop too, in a thread of its own.

    For work that is too long for a handler: the loop takes it from rows that a handler wrote.
    `make` is given the name of the process's worker.
    """
    _beside.setdefault(worker, []).append(make)


def names(wanted: Sequence[str]) -> list[str]:
    """The workers meant by these words; "all" stands for every one."""
    unknown = sorted(set(wanted) - {"all", *WORKERS})
    if unknown:
        raise ValueError(f"No worker is called {unknown[0]!r}. There are: {', '.join(WORKERS)}.")
    return list(WORKERS) if "all" in wanted else list(dict.fromkeys(wanted))


def run(workers: Sequence[str], stop: threading.Event) -> None:
    """Run these workers until told to stop; each finishes the batch in hand."""
    failpoints.arm_from_environment()
    name = heartbeats.new_worker_name()
    heart = heartbeats.Heart(name, workers)
    loops: list[Loop] = [heart.run, *_loops(workers, name)]
    threads = [_thread(loop, stop) for loop in loops]
    log.info("workers started", worker=name, workers=list(workers))
    say_ready()
    for thread in threads:
        thread.join()
    heart.stop()
    log.info("workers stopped", worker=name)


def _loops(workers: Sequence[str], name: str) -> Iterator[Loop]:
    active = active_groups()
    for worker in workers:
        if worker == RELAY:
            yield Relay(bus.connect(), name).run
            yield Housekeeper(bus.connect()).run
        for group in groups_of(worker):
            if group.name in active:
                yield Consumer(group, bus.connect(), name).run
        yield from (make(name) for make in _beside.get(worker, ()))


def _thread(loop: Loop, stop: threading.Event) -> threading.Thread:
    def keep_running() -> None:
        while not stop.is_set():
            try:
                loop(stop)
            except Exception:
                # Not foreseen: say so, and begin this one anew with a fresh connection.
                log.exception("worker loop failed")
                stop.wait(1)
            finally:
                connection.close()

    thread = threading.Thread(target=keep_running, name=getattr(loop, "__qualname__", "loop"))
    thread.start()
    return thread
