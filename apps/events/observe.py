"""What the backbone tells of itself: counters and timings, by stream and group."""

import functools
import time
from collections import Counter as Tally
from collections.abc import Iterable, Sequence

import structlog

from axiom.metrics import Counter, Histogram

from .claims import Claimed, Failure
from .ids import made_at
from .message import Message

log = structlog.get_logger(__name__)

processed = Counter(
    "axiom_outbox_processed_total", "Events that left the outbox", ["stream", "result"]
)
waits = Counter("axiom_relay_waits_total", "Times the relay waited for Redis or PostgreSQL")
handled = Counter("axiom_events_handled_total", "Events handled", ["group", "result"])
duration = Histogram(
    "axiom_handler_duration_seconds", "Time in handlers", ["group", "event_type"],
    buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60),
)  # fmt: skip
delay = Histogram(
    "axiom_event_delay_seconds", "From publishing to the end of handling", ["group"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)  # fmt: skip


def relayed(rows: Iterable[Claimed]) -> None:
    for stream, count in Tally(row.stream for row in rows).items():
        processed.labels(stream, "published").inc(count)


def relay_failed(failures: Sequence[Failure]) -> None:
    """Count events that the bus refused, and say of each which it was and why."""
    for failure in failures:
        processed.labels(failure.row.stream, "retry" if failure.retry_at else "dead").inc()
        say, what = (
            (log.warning, "event refused") if failure.retry_at else (log.error, "dead letter")
        )
        say(
            what, group="relay", error=f"{failure.code}: {failure.message}",
            attempt=failure.row.attempt_count, **failure.row.log_fields,
        )  # fmt: skip


def relay_waits() -> None:
    waits.inc()


@functools.cache
def handler_seconds(group: str, event_type: str) -> Histogram:
    """The timings of one kind of event; looking the labels up costs as much as observing."""
    return duration.labels(group, event_type)


def group_handled(group: str, messages: Sequence[Message]) -> None:
    """Count a batch; the delay of its oldest event stands for all.

    By the time it was published: what is told late did not travel slowly. And only of what came
    straight from the stream: how long a retry or a redrive took says nothing of the way.
    """
    if not messages:
        return
    handled.labels(group, "done").inc(len(messages))
    if messages[0].attempts:
        published = made_at(messages[0].event_id).timestamp()
        delay.labels(group).observe(max(0.0, time.time() - published))


def group_failed(group: str, result: str) -> None:
    handled.labels(group, result).inc()
