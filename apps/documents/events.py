"""What documents say: to everyone on `axiom:events`, to the workers on `axiom:workers`."""

from typing import Any, Literal
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop
from pydantic import Field

from apps.events.catalog import Event
from apps.events.facts import Count, Fact, Sha256, Share
from apps.events.keys import Stream

_DOCUMENT = {
    "document_id": "018f2d1c-0000-7000-8000-000000000d0c",
    "case_id": "018f2d1c-0000-7000-8000-00000000ca5e",
    "document_version": 1,
}
_SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_JOB = {**_DOCUMENT, "job_id": "018f2d1c-0000-7000-8000-0000000010b1"}


class AboutDocument(Event):
    document_id: UUID
    case_id: UUID
    document_version: int = Field(ge=1)


class DocumentUploaded(
    AboutDocument,
    type="DOCUMENT_UPLOADED",
    aggregate="document",
    key="document_id",
    label=_("Document uploaded"),
    aliases=("document.uploaded",),
):
    """A document, or a new version of one, was put into a case."""

    file_name: str
    content_type: str
    size_bytes: Count
    sha256: Sha256

    example = {
        **_DOCUMENT,
        "file_name": "채권자목록.pdf",
        "content_type": "application/pdf",
        "size_bytes": 482133,
        "sha256": _SHA256,
    }


class DocumentOcrCompleted(
    AboutDocument,
    type="DOCUMENT_OCR_COMPLETED",
    aggregate="document",
    key="document_id",
    label=_("Document text recognised"),
    aliases=("document.ocr_completed",),
):
    """The text of a document is known, from its text layer or by recognition."""

    pages_count: Count
    characters_count: Count
    method: Literal["text_layer", "ocr"]
    confidence: Share | None = None

    example = {
        **_DOCUMENT,
        "pages_count": 12,
        "characters_count": 18240,
        "method": "ocr",
        "confidence": 0.94,
    }


class ExtractedField(Fact):
    """A value that was found in a document, and how sure we are of it."""

    value: Any
    confidence: Share


class DocumentExtracted(
    AboutDocument,
    type="DOCUMENT_EXTRACTED",
    aggregate="document",
    key="document_id",
    label=_("Document data extracted"),
    aliases=("document.extracted",),
):
    """The fields of a document were read out of its text."""

    fields: dict[str, ExtractedField]
    confidence: Share = Field(description=noop("That of the least certain field."))
    workitem_id: UUID | None = Field(None, description=noop("The work item that waits for it."))

    example = {
        **_DOCUMENT,
        "fields": {"total_claims": {"value": 1250000000, "confidence": 0.97}},
        "confidence": 0.97,
        "workitem_id": None,
    }


class DocumentGenerated(
    AboutDocument,
    type="DOCUMENT_GENERATED",
    aggregate="document",
    key="document_id",
    label=_("Document generated"),
    aliases=("document.generated",),
):
    """A document was made from a template."""

    template: str
    format: Literal["pdf", "docx"]
    file_name: str
    size_bytes: Count
    sha256: Sha256
    workitem_id: UUID | None = Field(None, description=noop("The work item that waits for it."))

    example = {
        **_DOCUMENT,
        "template": "creditor-notice",
        "format": "pdf",
        "file_name": "creditor-notice.pdf",
        "size_bytes": 20480,
        "sha256": _SHA256,
        "workitem_id": None,
    }


class AboutJob(AboutDocument):
    job_id: UUID = Field(description=noop("One run of the work; a repeated run has another."))


class WorkerOcrStarted(
    AboutJob,
    type="WORKER_OCR_STARTED",
    stream=Stream.WORKERS,
    aggregate="document",
    key="document_id",
    label=_("Text recognition started"),
    aliases=("worker.ocr_started",),
):
    """A document is in line to have its text recognised."""

    content_type: str

    example = {**_JOB, "content_type": "image/png"}


class JobCompleted(AboutJob):
    outcome: Literal["done", "needs_ocr_engine", "failed"]
    duration_ms: Count
    error: str = ""


_DONE = {**_JOB, "outcome": "done", "duration_ms": 5400, "error": ""}


class WorkerOcrCompleted(
    JobCompleted,
    type="WORKER_OCR_COMPLETED",
    stream=Stream.WORKERS,
    aggregate="document",
    key="document_id",
    label=_("Text recognition finished"),
    aliases=("worker.ocr_completed",),
):
    """The recognition of a document's text is over, well or not."""

    pages_count: Count = 0

    example = {**_DONE, "pages_count": 12}


class WorkerExtractCompleted(
    JobCompleted,
    type="WORKER_EXTRACT_COMPLETED",
    stream=Stream.WORKERS,
    aggregate="document",
    key="document_id",
    label=_("Data extraction finished"),
    aliases=("worker.extract_completed",),
):
    """The extraction of a document's fields is over, well or not."""

    fields_count: Count = 0

    example = {**_DONE, "fields_count": 9}


class WorkerGenerateCompleted(
    JobCompleted,
    type="WORKER_GENERATE_COMPLETED",
    stream=Stream.WORKERS,
    aggregate="document",
    key="document_id",
    label=_("Document generation finished"),
    aliases=("worker.generate_completed",),
):
    """The making of a document from a template is over, well or not."""

    template: str

    example = {**_DONE, "template": "creditor-notice"}
