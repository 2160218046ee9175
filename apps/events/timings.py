"""How much was carried and how long it took lately, in all workers of all machines.

Prometheus can tell that too, but Axiom's own alerts and its first page must not depend on somebody
running it. Each worker process adds to a hash per minute, and to one per hour, what its metrics
counted since it last did.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from axiom.metrics import Histogram

from . import keys, observe
from .connections import redis_client

MINUTES = 5

Buckets = Mapping[float, int]
"""How many took at most so many seconds; the last bound is infinite."""


class Span(NamedTuple):
    """A piece of time that is counted by itself, and how many of them are kept."""

    name: str
    seconds: int
    shown: int

    def number(self, now: float | None) -> int:
        return int((now or time.time()) // self.seconds)


MINUTE, HOUR = Span("minute", 60, 60), Span("hour", 3600, 72)
SPANS = (MINUTE, HOUR)


class Timings:
    """What this process has to tell."""

    def __init__(self) -> None:
        self._told: Counter[str] = Counter(dict(_counted()))

    def tell(self, now: float | None = None) -> None:
        """Add what is new to the current minute. What Redis did not take is told next time."""
        counted = Counter(dict(_counted()))
        if not (news := counted - self._told):
            return
        pipe = redis_client().pipeline()
        for span in SPANS:
            key = keys.timings(span.name, span.number(now))
            for name, count in news.items():
                pipe.hincrby(key, name, count)
            pipe.expire(key, span.seconds * (span.shown + 2))
        pipe.execute()
        self._told = counted


def handler_seconds(quantile: float = 0.99, now: float | None = None) -> dict[str, float]:
    """By group: what this share of the handlers' calls of the last five minutes stayed under."""
    return _quantiles(observe.duration, quantile, now)


def delay_seconds(quantile: float = 0.99, now: float | None = None) -> dict[str, float]:
    """By group: the same for the way from publishing to the end of handling."""
    return _quantiles(observe.delay, quantile, now)


class Passed(NamedTuple):
    """What happened in one span: events sent to their streams, and how late they were handled."""

    at: datetime
    events: int
    delay_seconds: float
    """What 99 of 100 batches of the slowest group stayed under."""


def course(span: Span, now: float | None = None) -> list[Passed]:
    """What happened in the last spans, the oldest first: the last hour, or three days."""
    last = span.number(now)
    numbers = range(last - span.shown + 1, last + 1)
    told = _told_in(span, numbers)
    return [_passed(span, number, each) for number, each in zip(numbers, told, strict=True)]


def _passed(span: Span, number: int, told: Counter[str]) -> Passed:
    at = datetime.fromtimestamp(number * span.seconds, UTC)
    delays = _by_group(observe.delay, told)
    slowest = max((value_at(0.99, buckets) for buckets in delays.values()), default=0.0)
    return Passed(at, told[_SENT], slowest)


_SENT = "sent||"


def _counted() -> Iterator[tuple[str, int]]:
    """What this process's metrics hold: by metric, group and bound, and how much was sent."""
    counts: Counter[str] = Counter()
    for metric in (observe.duration, observe.delay):
        for sample in (each for family in metric.collect() for each in family.samples):
            if sample.name.endswith("_bucket"):
                name = f"{_name(metric)}|{sample.labels['group']}|{sample.labels['le']}"
                counts[name] += int(sample.value)
    samples = (each for family in observe.processed.collect() for each in family.samples)
    counts[_SENT] = sum(
        int(each.value) for each in samples
        if each.name.endswith("_total") and each.labels["result"] == "published"
    )  # fmt: skip
    yield from counts.items()


def _name(metric: Histogram) -> str:
    return next(iter(metric.describe())).name


def _quantiles(metric: Histogram, quantile: float, now: float | None) -> dict[str, float]:
    last = MINUTE.number(now)
    lately: Counter[str] = sum(
        _told_in(MINUTE, range(last - MINUTES + 1, last + 1)), start=Counter()
    )
    found = _by_group(metric, lately)
    return {group: value_at(quantile, buckets) for group, buckets in sorted(found.items())}


def _by_group(metric: Histogram, told: Counter[str]) -> dict[str, Counter[float]]:
    by_group: dict[str, Counter[float]] = {}
    for name, count in told.items():
        what, group, bound = name.split("|")
        if what == _name(metric):
            by_group.setdefault(group, Counter())[float(bound)] += count
    return by_group


def _told_in(span: Span, numbers: range) -> list[Counter[str]]:
    """What all workers counted in each of these spans: one round trip."""
    pipe = redis_client().pipeline(transaction=False)
    for number in numbers:
        pipe.hgetall(keys.timings(span.name, number))
    return [
        Counter({name.decode(): int(count) for name, count in told.items()})
        for told in pipe.execute()
    ]


def value_at(quantile: float, buckets: Buckets) -> float:
    """The quantile, taking the values of a bucket to be spread evenly; at most the last bound."""
    wanted, lower, below = quantile * buckets[math.inf], 0.0, 0
    for bound in sorted(buckets):
        if bound == math.inf:
            break
        if buckets[bound] >= wanted:
            share = (wanted - below) / max(1, buckets[bound] - below)
            return lower + (bound - lower) * share
        lower, below = bound, buckets[bound]
    return lower
