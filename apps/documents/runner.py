"""Does the long work of the documents worker, beside its consumer and outside its transactions."""

import threading
import time
from collections.abc import Callable
from uuid import UUID

import structlog
from django.db import Error as AnyDatabaseError
from django.utils.translation import gettext_noop

from apps.documents import services
from apps.documents.confine import Interrupted
from apps.documents.models import Job
from apps.documents.services import queue, settle
from apps.documents.steps import STEPS, Work
from apps.events.context import fresh
from axiom.errors import AxiomError
from axiom.metrics import DOCUMENT_JOB_SECONDS

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.0
RESUME_SECONDS = 60.0

ENDED_ITS_WORKER = gettext_noop("The work ended its worker several times.")
BROKE = gettext_noop("The work broke several times; the log says why.")


def loop(name: str) -> Callable[[threading.Event], None]:
    """What runs beside the consumer of the worker with this name."""
    return Runner(name).run


class Runner:
    """Takes one job after another."""

    def __init__(self, name: str = "documents") -> None:
        self.name = name
        self._served: UUID | None = None
        self._next_resume = 0.0

    def run(self, stop: threading.Event) -> None:
        """Work until told to stop; what is in hand is put back for others."""
        while not stop.is_set():
            self._resume_what_waits()
            if not self.step(stop):
                queue.waker.wait(LOOK_SECONDS)
                queue.waker.clear()

    def step(self, stop: threading.Event | None = None) -> bool:
        """Do one job; False when there is none."""
        job = queue.claim(self.name, served=self._served)
        if job is None:
            return False
        self._served = job.tenant_id
        with fresh(
            tenant_id=job.tenant_id, actor=job.actor, trace_id=job.trace_id, source="documents"
        ):
            self._perform(Work(job, stop or threading.Event()))
        return True

    def _perform(self, work: Work) -> None:
        began = time.perf_counter()
        facts = {"job_id": str(work.job.pk), "kind": work.job.kind}
        try:
            self._do(work)
        except queue.LeaseLost:
            log.warning("document job lost", **facts)
        except Interrupted:
            queue.put_back(work.job)
        except AxiomError as error:
            settle.fail(work.job, error.message)
            log.warning("document job failed", error=error.message, **facts)
        except AnyDatabaseError:
            raise  # The lease runs out, and whoever has a database goes on.
        except Exception:
            log.exception("document job broke", **facts)
            self._again_or_not(work.job)
        DOCUMENT_JOB_SECONDS.labels(work.job.kind).observe(time.perf_counter() - began)

    def _do(self, work: Work) -> None:
        if work.job.attempts > queue.MOST_ATTEMPTS:
            settle.fail(work.job, ENDED_ITS_WORKER)
            return
        settle.begin(work.job)
        STEPS[work.job.kind](work)

    def _again_or_not(self, job: Job) -> None:
        if job.attempts >= queue.MOST_ATTEMPTS:
            settle.fail(job, BROKE)
        else:
            queue.try_later(job)

    def _resume_what_waits(self) -> None:
        if time.monotonic() >= self._next_resume:
            self._next_resume = time.monotonic() + RESUME_SECONDS
            services.resume_what_waits()
