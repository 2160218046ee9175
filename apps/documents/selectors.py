"""What is known about documents. Everything here is of the current tenant."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext

from apps.documents.models import (
    Document,
    DocumentTemplate,
    DocumentVersion,
    ExtractionPattern,
    Job,
)
from axiom.tenancy import ForeignTenant


def documents() -> QuerySet[Document]:
    """The documents with their latest versions: one query, however many."""
    return Document.objects.select_related("latest")


def document_by_id(document_id: UUID | str) -> Document:
    """The tenant's document of this id; what is not there, or not the tenant's, is a 404."""
    document = documents().filter(pk=document_id).first()
    if document is None:
        raise ForeignTenant
    return document


def versions_of(document_id: UUID | str | None) -> QuerySet[DocumentVersion]:
    """The versions of a document with the fields found in them: two queries, however many."""
    return DocumentVersion.objects.filter(document_id=document_id).prefetch_related("fields")


def text_of(version: DocumentVersion) -> list[Any]:
    """What was read, page by page."""
    return list(version.pages.order_by("number").values("number", "text", "method", "confidence"))


def templates() -> QuerySet[DocumentTemplate]:
    return DocumentTemplate.objects.all()


def find_template(name: str) -> DocumentTemplate | None:
    """The tenant's active template of this name, or None."""
    return templates().filter(name=name, is_active=True).first()


def patterns() -> QuerySet[ExtractionPattern]:
    return ExtractionPattern.objects.all()


def jobs() -> QuerySet[Job]:
    return Job.objects.select_related("version__document")


def progress_of(version: DocumentVersion) -> dict[str, Any]:
    """How far a version has come: all that a page which follows it needs, from one row.

    The API answers it, the console asks for it, and it is what a live stream would push.
    """
    return {
        "document_id": str(version.document_id),
        "version": version.number,
        "state": version.state,
        "state_label": str(version.get_state_display()),
        "is_settled": version.is_settled,
        "pages_done": version.pages_done,
        "pages_count": version.pages_count,
        "confidence": version.confidence,
        "error": gettext(version.error) if version.error else "",
        "changed_at": version.changed_at.isoformat(),
    }
