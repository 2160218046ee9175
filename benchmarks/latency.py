"""How long an event takes from its commit to its handler."""

import contextlib
import json
from collections.abc import Iterator
from statistics import median

from .figure import Figure, Size, quantile
from .processes import Process, wait_until
from .stage import Stage, stage

P50_MS, P99_MS = 3.0, 15.0
PRODUCERS = 4
Moments = dict[int, float]
_HANDLED = "event_inbox JOIN event_outbox USING (event_id) WHERE event_type = 'BENCH_CLAIM_TIMED'"


def latency_50(size: Size) -> Iterator[Figure]:
    """Commit to handler at 50 events a second."""
    yield _latency("latency_50", 50, size, producers=1)


def latency_1000(size: Size) -> Iterator[Figure]:
    """Commit to handler at 1,000 events a second."""
    yield _latency("latency_1000", 1_000, size, producers=PRODUCERS)


def _latency(name: str, rate: int, size: Size, producers: int) -> Figure:
    with stage("latency", 4) as place, place.relay():
        runs = [_run(place, rate, size.of(rate * 5), producers) for _ in range(size.rounds(3))]
    return figure_of(name, runs, P50_MS, P99_MS)


def alert_latency(size: Size) -> Iterator[Figure]:
    """Commit of an event to the commit of the alert it causes, at 50 events a second."""
    with stage("latency", 4) as place, place.relay():
        runs = [_run(place, 50, size.of(250), 1, "watch") for _ in range(size.rounds(3))]
    yield figure_of("alert_latency", runs, 10.0, 40.0)


def figure_of(name: str, runs: list[list[float]], p50_bar: float, p99_bar: float) -> Figure:
    p50, p99 = (median(quantile(run, share) for run in runs) for share in (0.50, 0.99))
    return Figure(
        bench=name, value=p50, unit="ms", against="the bar", against_value=p50_bar,
        ratio=p50 / p50_bar, bar=f"p50 <= {p50_bar:.0f} ms, p99 <= {p99_bar:.0f} ms",
        met=p50 <= p50_bar and p99 <= p99_bar, p50_ms=p50, p99_ms=p99,
    )  # fmt: skip


def _run(place: Stage, rate: int, count: int, producers: int, work: str = "consume") -> list[float]:
    """The milliseconds that each event of one run took."""
    place.clear()
    with _worker(place, work) as consumer:
        committed = produced(place, rate, count, producers)
        # The producers' first ones, which are not measured, are handled too.
        wait_until(lambda: place.count(_HANDLED) >= len(committed) + producers)
        consumer.terminate()
        arrived = _told(consumer)
    return [(arrived[number] - moment) * 1000 for number, moment in committed.items()]


def produced(place: Stage, rate: int, count: int, producers: int) -> Moments:
    share = count // producers
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(
                _worker(place, "produce", rate / producers, 1 + n * share, share)
            )
            for n in range(producers)
        ]  # fmt: skip
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        return {number: at for process in processes for number, at in _told(process).items()}


@contextlib.contextmanager
def _worker(place: Stage, *command: object) -> Iterator[Process]:
    """A worker that is ready."""
    with place.process("-m", "benchmarks.worker", *map(str, command)) as process:
        assert process.stdout.readline() == "ready\n"
        yield process


def _told(process: Process) -> Moments:
    return {int(number): moment for number, moment in json.loads(process.stdout.readline()).items()}
