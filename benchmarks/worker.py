"""`python -m benchmarks.worker consume|watch|produce`: one process of a latency measurement.

It says "ready", does its part, and at the end tells at which moment of the clock that all
processes share each numbered event was handled, alerted of, or committed.
"""

import json
import signal
import sys
import threading
import time
from typing import Any

import django
from django.db import transaction

from axiom.startup import settle_garbage


def consume() -> dict[int, float]:
    """Handle events until SIGTERM; when each of them arrived."""
    from apps.events import bus
    from apps.events.consumer import Consumer

    from .consumers import GROUP, arrivals

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    ready()
    Consumer(GROUP, bus.connect(), "bench-1").run(stop)
    return arrivals


def watch() -> dict[int, float]:
    """Raise an alert for every event until SIGTERM; when each of the alerts was committed."""
    from apps.events import bus, handlers
    from apps.events.consumer import Consumer
    from apps.events.groups import GROUPS
    from apps.watch import consumers

    from .alerting import ALWAYS, subscribe
    from .events import ClaimTimed

    raised: dict[int, float] = {}

    def watch_and_tell(messages: list[Any]) -> None:
        consumers.watch(messages)
        numbers = [m.payload["number"] for m in messages if m.event_type == ClaimTimed.type]
        transaction.on_commit(lambda: raised.update(dict.fromkeys(numbers, time.monotonic())))

    subscribe(ClaimTimed, [ALWAYS])
    handlers.forget(consumers.watch)
    handlers.on(handlers.EVERY, group="watch_cep_group", batch=True)(watch_and_tell)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    ready()
    Consumer(GROUPS["watch_cep_group"], bus.connect(), "bench-1").run(stop)
    return raised


def produce(rate: float, first: int, count: int) -> dict[int, float]:
    """Commit so many events at this rate, each in its transaction; when each was committed."""
    from apps.events.context import acting

    from .publishing import TENANT

    committed: dict[int, float] = {}
    with acting(tenant_id=TENANT, actor="alice@example.com"):
        _commit(-first, {})
        ready()
        sys.stdin.readline()
        begin = time.monotonic()
        for nth in range(count):
            time.sleep(max(0.0, begin + nth / rate - time.monotonic()))
            _commit(first + nth, committed)
    return committed


def _commit(number: int, committed: dict[int, float]) -> None:
    from apps.events.ids import uuid7
    from apps.events.outbox import publish

    from .events import ClaimTimed, an_event

    with transaction.atomic():
        # Before publish() adds its own: the clock is read first thing after the commit.
        transaction.on_commit(lambda: committed.setdefault(number, time.monotonic()))
        publish(an_event(ClaimTimed, number, uuid7()))


def ready() -> None:
    print("ready", flush=True)


def main() -> None:
    django.setup()
    settle_garbage()
    part, *arguments = sys.argv[1:]
    if part in ("consume", "watch"):
        told = {"consume": consume, "watch": watch}[part]()
    else:
        rate, first, count = arguments
        told = produce(float(rate), int(first), int(count))
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
