"""How often the relay speaks to its servers: counted on the wire, not timed."""

import tempfile
from collections.abc import Iterator
from typing import IO, Any

import redis
from django.db import connection

from apps.events.bus.redis_streams import RedisStreams
from apps.events.relay import Relay

from .figure import Figure, Size
from .stage import Stage, stage

BATCHES = 20
MOST = 0.01
_STATEMENTS = ("\tF\t", ("Execute", "Query"))


class Counted(redis.Connection):
    """A connection that counts how often somebody sends and then waits."""

    trips = 0

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        Counted.trips += 1
        super().send_packed_command(command, check_health)


def relay_roundtrips(size: Size) -> Iterator[Figure]:
    """SQL statements and Redis round trips per event, in full batches."""
    with stage("here", 0) as place:
        relay = Relay(RedisStreams(_counted_client(place)), "bench")
        relay.relay_batch()
        batches = size.of(BATCHES, 2)
        count = batches * relay.batch
        place.fill(count)
        statements, trips = _relayed(relay, batches)
    yield _figure("SQL statements per event", statements / count)
    yield _figure("Redis round trips per event", trips / count)


def _counted_client(place: Stage) -> "redis.Redis[bytes]":
    pool = redis.ConnectionPool.from_url(place.redis_url, connection_class=Counted)
    return redis.Redis(connection_pool=pool)


def _relayed(relay: Relay, batches: int) -> tuple[int, int]:
    """Carry so many full batches; the statements and the round trips that took."""
    Counted.trips = 0
    with tempfile.TemporaryFile("w+") as trace:
        wire: Any = connection.connection
        wire.pgconn.trace(trace.fileno())
        for _ in range(batches):
            assert relay.relay_batch() == relay.batch
        wire.pgconn.untrace()
        return _statements(trace), Counted.trips


def _statements(trace: IO[str]) -> int:
    trace.seek(0)
    side, kinds = _STATEMENTS
    return sum(side in line and any(kind in line for kind in kinds) for line in trace)


def _figure(unit: str, value: float) -> Figure:
    return Figure(
        bench="relay_roundtrips", value=value, unit=unit, against="the bar", against_value=MOST,
        ratio=value / MOST, bar=f"value <= {MOST}", met=value <= MOST,
    )  # fmt: skip
