"""What /metrics shows of the tables and the streams, asked once per scrape."""

from collections.abc import Iterator, Sequence

from axiom.metrics import GaugeMetricFamily, Metric, at_scrape

from . import bus, heartbeats
from .groups import WORKERS
from .keys import Stream
from .models import Redrive, Retry
from .selectors import levels

_OUTBOX = {
    "pending": "Events that wait to be sent",
    "processing": "Events being sent",
    "dead": "Events that the relay gave up on",
    "oldest_pending_seconds": "Age of the oldest event that waits to be sent",
}
_BEHIND = {"lag": "Entries not read", "pending": "Entries read and not finished"}


@at_scrape
def outbox() -> Iterator[Metric]:
    letters = levels.open_letters_by_place()
    found = levels.outbox_levels(letters)
    for name, meaning in _OUTBOX.items():
        family = _family(f"axiom_outbox_{name}", meaning, ["stream"])
        for level in found:
            family.add_metric([level.stream], getattr(level, name))
        yield family
    yield _dead_letters(letters)


def _dead_letters(letters: levels.Letters) -> Metric:
    family = _family("axiom_dlq_size", "Dead letters that are open", ["stream"])
    for stream in Stream:
        family.add_metric([stream], sum(n for (of, _), n in letters.items() if of == stream))
    return family


@at_scrape
def streams() -> Iterator[Metric]:
    line = bus.connect()
    states = [state for stream in Stream if (state := line.state(stream))]
    length = _family("axiom_stream_length", "Entries in the stream", ["stream"])
    for state in states:
        length.add_metric([state.stream], state.length)
    yield length
    for name, meaning in _BEHIND.items():
        family = _family(f"axiom_stream_{name}", meaning, ["stream", "group"])
        for state in states:
            for group in state.groups:
                family.add_metric([state.stream, group.group], getattr(group, name))
        yield family


@at_scrape
def workers() -> Iterator[Metric]:
    beating = heartbeats.alive()
    family = _family("axiom_workers_alive", "Processes that run this worker", ["worker"])
    for name in WORKERS:
        family.add_metric([name], sum(name in each.workers for each in beating))
    yield family


@at_scrape
def waiting() -> Iterator[Metric]:
    retries, redrives = Retry.objects, Redrive.objects.filter(status=Redrive.Status.RUNNING)
    yield _single("axiom_retries_waiting", "Deliveries that wait for a retry", retries.count())
    yield _single("axiom_redrives_running", "Redrives under way", redrives.count())


def _family(name: str, meaning: str, labels: Sequence[str]) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, meaning, labels=labels)


def _single(name: str, meaning: str, value: int) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, meaning, value=value)
