"""Work waits in rows: asked for, brought into line by its event, leased by one worker, settled.

Nothing here takes long. What does is done between `claim` and a settlement, outside of any
transaction; see docs/adr for why.
"""

import contextlib
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from apps.documents.events import WorkerOcrStarted
from apps.documents.models import DocumentVersion, Job
from apps.events.context import current
from apps.events.outbox import publish

MOST_ATTEMPTS = 3
RETRY_SECONDS = (5, 15, 45)

_NOBODY = UUID(int=0)

waker = threading.Event()
"""Tells the runners of this process that there is work. Others look every second."""


class LeaseLost(Exception):
    """Another worker has this job now, or nobody needs it any more."""


_READY = """
((state = 'QUEUED' AND coalesce(run_after, %(now)s) <= %(now)s)
 OR (state = 'RUNNING' AND leased_until < %(now)s))
"""
# One step through the index for each tenant with work, however much of it each has.
_WHOSE_TURN = f"""
WITH RECURSIVE waiting AS (
    (SELECT tenant_id FROM documents_job WHERE state IN ('QUEUED', 'RUNNING')
     ORDER BY tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT j.tenant_id FROM documents_job j
            WHERE j.state IN ('QUEUED', 'RUNNING') AND j.tenant_id > waiting.tenant_id
            ORDER BY j.tenant_id LIMIT 1)
    FROM waiting WHERE waiting.tenant_id IS NOT NULL
)
SELECT tenant_id FROM waiting
WHERE EXISTS (SELECT FROM documents_job WHERE tenant_id = waiting.tenant_id AND {_READY})
ORDER BY tenant_id <= %(served)s, tenant_id
"""
_CLAIM = f"""
UPDATE documents_job SET state = 'RUNNING', attempts = attempts + 1, claim_token = %(token)s,
       worker = %(worker)s, leased_until = %(until)s, started_at = coalesce(started_at, %(now)s)
WHERE id = (
    SELECT id FROM documents_job WHERE tenant_id = %(tenant)s AND {_READY}
    ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1
) RETURNING id
"""


def lease_seconds() -> float:
    """Longer than any single thing a worker does between two signs of life."""
    return float(settings.DOCUMENTS_PAGE_SECONDS * 2 + 30)


def new_job(version: DocumentVersion, kind: Job.Kind, state: Job.State, **request: Any) -> Job:
    return Job.objects.create(
        version=version,
        kind=kind,
        state=state,
        request=request,
        actor=current().actor,
        trace_id=current().trace_id,
    )


def request_reading(version: DocumentVersion) -> Job:
    """Ask for the text of a version; the event brings the work into line."""
    job = new_job(version, Job.Kind.OCR, Job.State.REQUESTED)
    publish(
        WorkerOcrStarted(
            document_id=version.document_id,
            case_id=version.document.case_id,
            document_version=version.number,
            job_id=job.pk,
            content_type=version.content_type,
        )
    )
    return job


@transaction.atomic
def queue_job(*, job_id: UUID) -> bool:
    """Bring requested work into line; False when it is there already, or gone."""
    asked = Job.objects.filter(pk=job_id, state=Job.State.REQUESTED)
    transaction.on_commit(waker.set)
    return bool(asked.update(state=Job.State.QUEUED))


@transaction.atomic
def queue_extraction(*, document_id: UUID, number: int) -> bool:
    """Bring the extraction of a version whose text is known into line."""
    version = (
        DocumentVersion.objects.select_for_update(no_key=True)
        .filter(document_id=document_id, number=number, state=DocumentVersion.State.EXTRACTING)
        .first()
    )
    if version is None or version.jobs.filter(state__in=Job.OPEN).exists():
        return False
    new_job(version, Job.Kind.EXTRACT, Job.State.QUEUED)
    transaction.on_commit(waker.set)
    return True


def claim(worker: str, *, served: UUID | None = None, now: datetime | None = None) -> Job | None:
    """Lease the next job: a new one, or one whose worker fell silent.

    The tenants take turns, beginning after the one that was `served` last: whoever brings a
    thousand documents waits for them, and nobody else does.
    """
    now = now or timezone.now()
    known: dict[str, Any] = {
        "now": now, "until": now + timedelta(seconds=lease_seconds()), "token": uuid4(),
        "worker": worker, "served": served or _NOBODY,
    }  # fmt: skip
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WHOSE_TURN, known)
        for (tenant_id,) in cursor.fetchall():
            cursor.execute(_CLAIM, {**known, "tenant": tenant_id})
            if row := cursor.fetchone():
                jobs = Job.across_tenants.select_related("version__document", "tenant")
                return jobs.get(pk=row[0])
    return None


@contextlib.contextmanager
def held(job: Job) -> Iterator[Job]:
    """A short transaction in which the lease is ours; else nothing is changed."""
    with transaction.atomic():
        mine = (
            Job.objects.select_for_update(no_key=True, of=("self",))
            .select_related("version__document")
            .filter(pk=job.pk, state=Job.State.RUNNING, claim_token=job.claim_token)
            .first()
        )
        if mine is None:
            raise LeaseLost
        yield mine


def renew(job: Job) -> None:
    """A sign of life, inside `held`."""
    job.leased_until = timezone.now() + timedelta(seconds=lease_seconds())
    job.save(update_fields=["leased_until"])


def put_back(job: Job) -> None:
    """We are told to stop: somebody else goes on, and it counts as no attempt."""
    with held(job) as mine:
        mine.state, mine.attempts = Job.State.QUEUED, max(mine.attempts - 1, 0)
        _unlease(mine)


def try_later(job: Job) -> None:
    """Something broke that may not break again."""
    with held(job) as mine:
        pause = RETRY_SECONDS[min(mine.attempts, len(RETRY_SECONDS)) - 1]
        mine.state, mine.run_after = Job.State.QUEUED, timezone.now() + timedelta(seconds=pause)
        _unlease(mine)


def _unlease(job: Job) -> None:
    job.claim_token = job.leased_until = None
    job.save()
