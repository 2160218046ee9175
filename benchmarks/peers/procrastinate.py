"""procrastinate in its Django form: jobs in PostgreSQL, an asyncio worker."""

import contextlib
from collections.abc import Iterator
from importlib.metadata import version

from django.db import transaction

from ..processes import wait_until
from ..stage import MANAGE, Stage
from .peer import PAYLOAD


class Procrastinate:
    told = f"procrastinate {version('procrastinate')}, batch_defer, concurrency 20, finished jobs deleted"

    @contextlib.contextmanager
    def at_work(self, place: Stage) -> Iterator[None]:
        worker = ("procrastinate", "worker", "--concurrency", "20", "--delete-jobs", "always")
        with place.process(MANAGE, *worker):
            wait_until(lambda: place.count("procrastinate_workers") > 0)
            yield

    def enqueue(self, place: Stage, count: int) -> None:
        from ..tasks import take

        with transaction.atomic():
            take.batch_defer(*[PAYLOAD] * count)

    def done(self, place: Stage) -> bool:
        return place.count("procrastinate_jobs") == 0
