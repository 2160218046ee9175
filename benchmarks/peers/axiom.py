"""Axiom: outbox, relay, Redis Streams, inbox. Two processes: the relay and one worker."""

import contextlib
from collections.abc import Iterator

from django.db import transaction

from apps.events.context import acting
from apps.events.ids import uuid7
from apps.events.outbox import publish_many

from ..consumers import GROUP
from ..events import ClaimTimed, an_event
from ..publishing import TENANT
from ..stage import STREAM, Stage


class Axiom:
    told = "Axiom"
    _said = 0

    @contextlib.contextmanager
    def at_work(self, place: Stage) -> Iterator[None]:
        with place.relay(), place.process("-m", "benchmarks.worker", "consume") as consumer:
            assert consumer.stdout.readline() == "ready\n"
            yield

    def enqueue(self, place: Stage, count: int) -> None:
        with acting(tenant_id=TENANT, actor="alice@example.com"), transaction.atomic():
            publish_many([an_event(ClaimTimed, number, uuid7()) for number in range(count)])
        self._said += count

    def done(self, place: Stage) -> bool:
        (group,) = (
            g for g in place.client.xinfo_groups(STREAM) if g["name"] == GROUP.name.encode()
        )
        return group["entries-read"] == self._said and not group["pending"]
