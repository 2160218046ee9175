"""How fast one relay process empties the outbox."""

import contextlib
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import psycopg

from apps.events import bus
from apps.events.relay import Relay

from . import servers
from .figure import Figure, Round, Size, faster, quantile
from .processes import wait_until
from .stage import STREAM, Stage, stage

EVENTS = 100_000
RAW_BATCH = 500
WARM_UP = 5_000
POLL_MS = 5.0


def drain(place: Stage, count: int) -> float:
    """Events per second from the commit that makes them visible until the last is settled."""
    before, length = place.published(), place.length()
    servers.checkpoint()
    place.fill(count)
    begin = time.monotonic()
    place.nudge()
    wait_until(lambda: place.length() - length >= count)
    wait_until(place.all_settled, pause=0.001)
    elapsed = time.monotonic() - begin
    assert place.published() - before == count == place.length() - length
    return count / elapsed


def fresh_drain(place: Stage, count: int) -> float:
    """The same with nothing else in the table."""
    place.clear()
    return drain(place, count)


def raw_xadd(place: Stage) -> float:
    """Entries per second when redis-py pipelines what the stream holds into another stream."""
    entries = [fields for _, fields in place.client.xrange(STREAM)]
    begin = time.monotonic()
    for start in range(0, len(entries), RAW_BATCH):
        _pipelined(place.client, entries[start : start + RAW_BATCH])
    elapsed = time.monotonic() - begin
    place.client.delete("raw")
    return len(entries) / elapsed


def _pipelined(client: Any, entries: list[dict[bytes, bytes]]) -> None:
    pipe = client.pipeline(transaction=False)
    for fields in entries:
        pipe.xadd("raw", fields)
    pipe.execute()


def relay_drain(size: Size) -> Iterator[Figure]:
    """100,000 waiting events by one relay process, against raw pipelined XADD of the same."""
    count = size.of(EVENTS)
    with stage("drain", 1) as place, place.relay():
        fresh_drain(place, size.of(WARM_UP))
        rounds = [(fresh_drain(place, count), raw_xadd(place)) for _ in range(size.rounds(3))]
    yield faster("relay_drain", rounds, against="raw pipelined XADD", least=0.40)


def relay_drain_big(size: Size) -> Iterator[Figure]:
    """The same with 1,000,000 published rows in the table."""
    with stage("drain", 1) as small, stage("big", 2) as big:
        with big.relay():  # The epoch begins: later, all these would be sent again.
            big.fill(size.of(10 * EVENTS), status="PUBLISHED")
        big.connection.execute("VACUUM ANALYZE event_outbox")
        rounds = _side_by_side(small, big, size)
    yield faster("relay_drain_big", rounds, against="relay_drain", least=0.85)


def relay_drain_churned(size: Size) -> Iterator[Figure]:
    """The same after ten rounds of fill and drain without vacuum."""
    with stage("drain", 1) as small, stage("churned", 3) as churned:
        with churned.relay():
            for _ in range(10):
                drain(churned, size.of(EVENTS))
        churned.client.xtrim(STREAM, maxlen=0, approximate=False)
        rounds = _side_by_side(small, churned, size)
    yield faster("relay_drain_churned", rounds, against="relay_drain", least=0.85)


def _side_by_side(small: Stage, other: Stage, size: Size) -> list[Round]:
    """The other stage's drain and the small one's, in turn."""
    count = size.of(EVENTS)
    with small.relay(), other.relay():
        drain(other, size.of(WARM_UP))
        fresh_drain(small, size.of(WARM_UP))
        return [(drain(other, count), fresh_drain(small, count)) for _ in range(size.rounds(3))]


def relay_idle(size: Size) -> Iterator[Figure]:
    """An idle poll while another session holds a snapshot older than 100,000 carried events."""
    with stage("here", 0) as place, _old_snapshot(place):
        relay = Relay(bus.connect(), "bench")
        relay.relay_batch()
        place.fill(size.of(EVENTS))
        while relay.relay_batch():
            continue
        polls = [_seconds(relay.relay_batch) * 1000 for _ in range(size.of(500, 50))]
    yield _poll_figure(median(polls), quantile(polls, 0.99))


@contextlib.contextmanager
def _old_snapshot(place: Stage) -> Iterator[None]:
    """The worst of sessions: its snapshot keeps every dead row, its number holds up the floor."""
    with psycopg.connect(place.database) as session:
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        session.execute("SELECT pg_current_xact_id(), count(*) FROM event_outbox")
        yield


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _poll_figure(p50: float, p99: float) -> Figure:
    return Figure(
        bench="relay_idle", value=p50, unit="ms", against="the bar", against_value=POLL_MS,
        ratio=p50 / POLL_MS, bar=f"p50 < {POLL_MS:.0f} ms", met=p50 < POLL_MS,
        p50_ms=p50, p99_ms=p99,
    )  # fmt: skip
