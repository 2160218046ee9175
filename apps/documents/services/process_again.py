"""Going on with a document that waits, failed, or is to be looked at with new patterns."""

from django.db import transaction

from apps.documents import ocr
from apps.documents.errors import NothingToDo, StillInProgress
from apps.documents.models import DocumentVersion, Job
from apps.documents.services.queue import new_job, request_reading, waker
from apps.events.context import fresh

State = DocumentVersion.State


@transaction.atomic
def process_again(*, version: DocumentVersion) -> DocumentVersion:
    """Do what is missing: read what is not read, else extract anew, else make it again."""
    version = DocumentVersion.objects.select_for_update(no_key=True).get(pk=version.pk)
    if not version.is_settled:
        raise StillInProgress
    if version.origin == DocumentVersion.Origin.GENERATED:
        _make_again(version)
    elif version.state == State.READY:
        _extract_again(version)
    else:
        _read_on(version)
    return version


def _make_again(version: DocumentVersion) -> None:
    if version.state == State.READY:
        raise NothingToDo
    last = version.jobs.latest("created_at")
    _show(version, State.GENERATING)
    new_job(version, Job.Kind.GENERATE, Job.State.QUEUED, **last.request)
    transaction.on_commit(waker.set)


def _extract_again(version: DocumentVersion) -> None:
    _show(version, State.EXTRACTING)
    new_job(version, Job.Kind.EXTRACT, Job.State.QUEUED)
    transaction.on_commit(waker.set)


def _read_on(version: DocumentVersion) -> None:
    _show(version, State.WAITING)
    request_reading(version)


def _show(version: DocumentVersion, state: State) -> None:
    version.state, version.error = state, ""
    version.save(update_fields=["state", "error", "changed_at"])


def resume_what_waits(*, most: int = 20) -> int:
    """Where there is an engine now, go on with documents that waited for one; say how many."""
    if not ocr.is_available():
        return 0
    waiting = DocumentVersion.across_tenants.filter(state=State.NEEDS_OCR_ENGINE).order_by("pk")
    return sum(_resume(version) for version in waiting[:most])


def _resume(version: DocumentVersion) -> bool:
    with fresh(tenant_id=version.tenant_id, source="documents"):
        try:
            process_again(version=version)
        except StillInProgress:
            return False  # Another worker was quicker.
    return True
