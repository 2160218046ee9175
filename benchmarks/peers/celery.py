"""Celery on Redis: enqueued after the commit, because its broker knows no transaction."""

import contextlib
from collections.abc import Iterator
from importlib.metadata import version

from django.db import transaction

from ..stage import Stage
from .peer import PAYLOAD

FAST = (
    "--without-gossip",
    "--without-mingle",
    "--without-heartbeat",
    "--prefetch-multiplier",
    "64",
    "--pool",
    "solo",
)


class Celery:
    told = f"Celery {version('celery')} on Redis, one producer, early acks, results ignored, solo pool, prefetch 64"

    @contextlib.contextmanager
    def at_work(self, place: Stage) -> Iterator[None]:
        command = ("-m", "celery", "-A", "benchmarks.peers.celery_app", "worker", "-c", "1", *FAST)
        # Without Django, which would have it look after database connections around each task.
        with place.process(*command, "--loglevel", "ERROR", DJANGO_SETTINGS_MODULE=""):
            yield

    def enqueue(self, place: Stage, count: int) -> None:
        from .celery_app import app, take

        def send() -> None:
            with app.producer_or_acquire() as producer:
                for _ in range(count):
                    take.apply_async((PAYLOAD,), producer=producer)

        with transaction.atomic():
            transaction.on_commit(send)

    def done(self, place: Stage) -> bool:
        return not place.client.exists("celery", "unacked")
