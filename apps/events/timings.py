"""How long handling took in the last minutes, in all workers of all machines.

Prometheus can tell that too, but Axiom's own alerts must not depend on somebody running it. Each
worker process adds to a hash per minute what its histograms counted since it last did.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping

from axiom.metrics import Histogram

from . import keys, observe
from .connections import redis_client

MINUTES = 5
_KEPT_SECONDS = 15 * 60

Buckets = Mapping[float, int]
"""How many took at most so many seconds; the last bound is infinite."""


class Timings:
    """What this process has to tell."""

    def __init__(self) -> None:
        self._told: Counter[str] = Counter(dict(_counted()))

    def tell(self, now: float | None = None) -> None:
        """Add what is new to the current minute. What Redis did not take is told next time."""
        counted = Counter(dict(_counted()))
        if not (news := counted - self._told):
            return
        key = keys.timings(_minute(now))
        pipe = redis_client().pipeline()
        for name, count in news.items():
            pipe.hincrby(key, name, count)
        pipe.expire(key, _KEPT_SECONDS).execute()
        self._told = counted


def handler_seconds(quantile: float = 0.99, now: float | None = None) -> dict[str, float]:
    """By group: what this share of the handlers' calls of the last five minutes stayed under."""
    return _quantiles(observe.duration, quantile, now)


def delay_seconds(quantile: float = 0.99, now: float | None = None) -> dict[str, float]:
    """By group: the same for the way from publishing to the end of handling."""
    return _quantiles(observe.delay, quantile, now)


def _counted() -> Iterator[tuple[str, int]]:
    """What this process's histograms hold, by metric, group and bound."""
    counts: Counter[str] = Counter()
    for metric in (observe.duration, observe.delay):
        for sample in (each for family in metric.collect() for each in family.samples):
            if sample.name.endswith("_bucket"):
                name = f"{_name(metric)}|{sample.labels['group']}|{sample.labels['le']}"
                counts[name] += int(sample.value)
    yield from counts.items()


def _name(metric: Histogram) -> str:
    return next(iter(metric.describe())).name


def _minute(now: float | None) -> int:
    return int((now or time.time()) // 60)


def _quantiles(metric: Histogram, quantile: float, now: float | None) -> dict[str, float]:
    by_group: dict[str, Counter[float]] = {}
    for name, count in _lately(now).items():
        what, group, bound = name.split("|")
        if what == _name(metric):
            by_group.setdefault(group, Counter())[float(bound)] += count
    return {group: value_at(quantile, buckets) for group, buckets in sorted(by_group.items())}


def _lately(now: float | None) -> Counter[str]:
    last = _minute(now)
    pipe = redis_client().pipeline(transaction=False)
    for minute in range(last - MINUTES + 1, last + 1):
        pipe.hgetall(keys.timings(minute))
    counts: Counter[str] = Counter()
    for told in pipe.execute():
        counts.update({name.decode(): int(count) for name, count in told.items()})
    return counts


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
