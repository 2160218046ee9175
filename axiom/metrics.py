"""What Axiom counts: written by every process, read at /metrics.

`Counter`, `Gauge` and `Histogram` are taken from here, never from prometheus_client: which kind
of value a metric holds is decided when it is declared, and this module decides it.

Each process writes files of its own under settings.METRICS_DIR, and a scrape adds them up. A
process is alive as long as it holds the lock on its `.alive` file: the kernel drops that lock
however the process ends, and it works across containers that share the directory, where process
numbers repeat. What the dead counted is kept; what they gauged is forgotten.
"""

import contextlib
import fcntl
import hmac
import ipaddress
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, values
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

__all__ = ["Counter", "Gauge", "GaugeMetricFamily", "Histogram", "Metric", "at_scrape"]

log = structlog.get_logger(__name__)

_alive: dict[int, tuple[str, IO[bytes]]] = {}


def identity() -> str:
    """This process, unmistakable among all that write to the same directory."""
    number = os.getpid()
    if number not in _alive:
        # The collector splits file names at underscores.
        name = f"{socket.gethostname().replace('_', '-')}-{number}"
        _alive[number] = (name, _announce(name))
    return _alive[number][0]


def _announce(name: str) -> IO[bytes]:
    """Hold the lock that says: this process lives."""
    settings.METRICS_DIR.mkdir(parents=True, exist_ok=True)
    with directory_lock():
        # A dead process of the same name left files: they are past, not the beginning of ours.
        _bury(name)
        file = (settings.METRICS_DIR / f"{name}.alive").open("wb")
        fcntl.flock(file, fcntl.LOCK_EX)
    return file


def _forget_parent() -> None:
    """A forked child must not hold the lock that says its parent lives."""
    for _name, file in _alive.values():
        file.close()
    _alive.clear()


os.register_at_fork(after_in_child=_forget_parent)


@contextlib.contextmanager
def directory_lock() -> Iterator[None]:
    """One scrape or one burial at a time, so that nothing is counted twice or not at all."""
    with (settings.METRICS_DIR / "directory.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def bury_the_dead() -> None:
    """Fold the files of processes that ended into the archive."""
    for path in settings.METRICS_DIR.glob("*.alive"):
        if _is_dead(path):
            _bury(path.stem)
            path.unlink()


def _is_dead(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _bury(name: str) -> None:
    for path in settings.METRICS_DIR.glob(f"*_{name}.db"):
        if not path.name.startswith("gauge_"):
            _add_to_archive(path)
        path.unlink()


def _add_to_archive(path: Path) -> None:
    kind = path.name.partition("_")[0]
    archive = MmapedDict(str(settings.METRICS_DIR / f"{kind}_past.db"))
    for key, value, timestamp, _position in MmapedDict.read_all_values_from_file(str(path)):
        archive.write_value(key, archive.read_value(key)[0] + value, timestamp)
    archive.close()


os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(settings.METRICS_DIR)
values.ValueClass = values.MultiProcessValue(process_identifier=identity)

Tell = Callable[[], Iterable[Metric]]
_tellers: list[Tell] = []


def at_scrape(tell: Tell) -> Tell:
    """Ask this function at every scrape.

    For what is true of the whole system and known to the database or Redis: kept by no process,
    asked once.
    """
    _tellers.append(tell)
    return tell


@at_scrape
def living_processes() -> Iterator[Metric]:
    living = len(list(settings.METRICS_DIR.glob("*.alive")))
    yield GaugeMetricFamily("axiom_processes", "Processes that count", value=living)


class _Found(Collector):
    """Metrics already gathered, in the shape the exposition wants."""

    def __init__(self, metrics: list[Metric]) -> None:
        self.metrics = metrics

    def collect(self) -> list[Metric]:
        return self.metrics


def scrape() -> bytes:
    """All metrics of all processes, as Prometheus reads them."""
    with directory_lock():
        bury_the_dead()
        collector = MultiProcessCollector(None, path=str(settings.METRICS_DIR))
        counted = list(collector.collect())
    registry = CollectorRegistry()
    registry.register(_Found(counted + [metric for tell in _tellers for metric in _told(tell)]))
    return generate_latest(registry)


def _told(tell: Tell) -> list[Metric]:
    """One that cannot tell (its server is away) must not silence the others."""
    try:
        return list(tell())
    except Exception:
        log.exception("metrics missing from a scrape", teller=tell.__qualname__)
        return []


@require_GET
def metrics_view(request: HttpRequest) -> HttpResponse:
    """GET /metrics: for the monitoring, not for the public."""
    if not _may_read(request):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    return HttpResponse(scrape(), content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    """With a token set, only its bearer; without one, only this machine, never in production."""
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "").encode()
        return hmac.compare_digest(given, f"Bearer {settings.METRICS_TOKEN}".encode())
    # Behind a proxy every caller has the proxy's address, so an address proves nothing there.
    return not settings.PRODUCTION and _is_this_machine(request.META.get("REMOTE_ADDR", ""))


def _is_this_machine(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


REQUESTS = Counter("axiom_http_requests", "Requests answered", ["method", "route", "status"])
REQUEST_SECONDS = Histogram("axiom_http_request_seconds", "Time to answer", ["method", "route"])
LIVE_CONNECTIONS = Gauge("axiom_live_connections", "Open live streams", multiprocess_mode="livesum")
TASK_SECONDS = Histogram("axiom_task_seconds", "Time in Celery tasks", ["task", "state"])
DOCUMENT_JOB_SECONDS = Histogram(
    "axiom_document_job_seconds", "Time to read, extract from or make a document", ["kind"],
    buckets=(0.1, 0.5, 1, 5, 15, 60, 300, 1200, 3600),
)  # fmt: skip
