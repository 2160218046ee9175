"""How work ends: the result, the state people see and the events, in one short transaction."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Sum
from django.db.models.functions import Length
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.documents.events import (
    DocumentExtracted,
    DocumentGenerated,
    DocumentOcrCompleted,
    JobCompleted,
    WorkerExtractCompleted,
    WorkerGenerateCompleted,
    WorkerOcrCompleted,
)
from apps.documents.extraction import Found
from apps.documents.models import DocumentVersion, ExtractedValue, Job, Page
from apps.documents.services.queue import held, renew
from apps.documents.storage import Incoming
from apps.events.outbox import publish_many

State, Method = DocumentVersion.State, DocumentVersion.Method

NO_ENGINE = gettext_noop("Text recognition is not installed where the workers run.")


@dataclass(frozen=True)
class ReadPage:
    """What was read on a page."""

    number: int
    text: str
    method: str
    confidence: float | None = None


def begin(job: Job) -> None:
    """Show that somebody works on it."""
    states = {
        Job.Kind.OCR: State.READING,
        Job.Kind.EXTRACT: State.EXTRACTING,
        Job.Kind.GENERATE: State.GENERATING,
    }
    with held(job) as mine:
        _show(mine.version, state=states[Job.Kind(mine.kind)], error="")


def store_pages(job: Job, pages: list[ReadPage]) -> None:
    """Keep what was read so far: it is not read again, whatever happens to this worker."""
    with held(job) as mine:
        renew(mine)
        Page.objects.bulk_create(
            [Page(version=mine.version, **vars(page)) for page in pages], ignore_conflicts=True
        )
        _show(mine.version, pages_done=mine.version.pages.count())


def finish_reading(job: Job) -> None:
    """All pages are read: say so, which sets the extraction going."""
    with held(job) as mine:
        version = mine.version
        figures = version.pages.aggregate(pages=Count("pk"), characters=Sum(Length("text")))
        recognised = version.pages.filter(method=Method.OCR).exists()
        confidence = text_confidence(version) if recognised else None
        method = Method.OCR if recognised else Method.TEXT_LAYER
        _show(version, state=State.EXTRACTING, method=method, text_confidence=confidence)
        known = DocumentOcrCompleted(
            **_about(version),
            pages_count=figures["pages"],
            characters_count=figures["characters"] or 0,
            method=method.value,
            confidence=confidence,
        )
        _end(mine, Job.State.DONE, known, pages_count=figures["pages"])


def text_confidence(version: DocumentVersion) -> float:
    """That of the pages, by how much is written on each; a text layer is certain."""
    pages = version.pages.annotate(length=Length("text")).values_list("length", "confidence")
    letters = sum(length for length, _ in pages)
    sure = sum(length * (1.0 if share is None else share) for length, share in pages)
    return round(sure / letters, 4) if letters else 0.0


def wait_for_engine(job: Job) -> None:
    """Nobody here can read pictures: keep what is known and say what is missing."""
    with held(job) as mine:
        _show(mine.version, state=State.NEEDS_OCR_ENGINE, error=NO_ENGINE)
        mine.error = NO_ENGINE
        _end(mine, Job.State.NEEDS_OCR_ENGINE, pages_count=mine.version.pages.count())


def finish_extraction(job: Job, found: list[Found]) -> None:
    """The fields of a version are known: say so."""
    with held(job) as mine:
        version = mine.version
        version.fields.all().delete()
        ExtractedValue.objects.bulk_create(
            [ExtractedValue(version=version, **vars(each)) for each in found]
        )
        confidence = min((each.confidence for each in found), default=0.0)
        _show(version, state=State.READY, confidence=confidence, error="")
        fields = {each.name: {"value": each.value, "confidence": each.confidence} for each in found}
        known = DocumentExtracted(
            **_about(version),
            fields=fields,
            confidence=confidence,
            workitem_id=version.workitem_id,
        )
        _end(mine, Job.State.DONE, known, fields_count=len(found))


def finish_generation(job: Job, made: Incoming, key: str) -> None:
    """The document is made and its file is in its place: say so."""
    with held(job) as mine:
        version, request = mine.version, mine.request
        _show(
            version, state=State.READY, error="", storage_key=key, size_bytes=made.size,
            sha256=made.sha256,
        )  # fmt: skip
        known = DocumentGenerated(
            **_about(version),
            template=request["template"],
            format=request["format"],
            file_name=version.file_name,
            size_bytes=made.size,
            sha256=made.sha256,
            workitem_id=version.workitem_id,
        )
        _end(mine, Job.State.DONE, known)


def fail(job: Job, error: str) -> None:
    """It will not work: say so, and leave it to people."""
    with held(job) as mine:
        _show(mine.version, state=State.FAILED, error=error[:500])
        mine.error = error[:500]
        _end(mine, Job.State.FAILED)


_COMPLETED: dict[str, type[JobCompleted]] = {
    Job.Kind.OCR: WorkerOcrCompleted,
    Job.Kind.EXTRACT: WorkerExtractCompleted,
    Job.Kind.GENERATE: WorkerGenerateCompleted,
}
_OUTCOMES = {
    Job.State.DONE: "done",
    Job.State.NEEDS_OCR_ENGINE: "needs_ocr_engine",
    Job.State.FAILED: "failed",
}


def _end(job: Job, state: Job.State, *known: Any, **figures: Any) -> None:
    job.state, job.finished_at = state, timezone.now()
    job.claim_token = job.leased_until = None
    job.save()
    if job.kind == Job.Kind.GENERATE:
        figures["template"] = job.request["template"]
    over = _COMPLETED[job.kind](
        **_about(job.version),
        job_id=job.pk,
        outcome=_OUTCOMES[state],
        duration_ms=job.duration_ms,
        error=job.error,
        **figures,
    )
    publish_many([*known, over])


def _about(version: DocumentVersion) -> dict[str, UUID | int | Any]:
    return {
        "document_id": version.document_id,
        "case_id": version.document.case_id,
        "document_version": version.number,
    }


def _show(version: DocumentVersion, **changes: Any) -> None:
    for name, value in changes.items():
        setattr(version, name, value)
    version.save(update_fields=[*changes, "changed_at"])
