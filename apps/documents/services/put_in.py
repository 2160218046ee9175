"""Files that people bring: looked at, kept, and only then told of."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from apps.cases import selectors as cases
from apps.documents import confine, kinds, storage
from apps.documents.confined import plain
from apps.documents.confined.refusal import Refused
from apps.documents.errors import SameFileAgain, StillInProgress
from apps.documents.events import DocumentUploaded
from apps.documents.models import Document, DocumentVersion
from apps.documents.services.queue import request_reading
from apps.documents.storage import Incoming
from apps.events.context import current
from apps.events.outbox import publish
from axiom.tenancy import current_tenant_id


@dataclass(frozen=True)
class Admitted:
    """A file that was found sound, and is in its place."""

    key: str
    facts: dict[str, Any]


def upload_document(
    *,
    case_id: UUID,
    incoming: Incoming,
    file_name: str,
    title: str = "",
    workitem_id: UUID | None = None,
) -> Document:
    """Put a file into a case, and set the work on it going."""
    # Before the file is opened: that takes a second, and a closed case needs none of it.
    case = cases.open_case_by_id(case_id)
    with _admitted(incoming, file_name) as file, transaction.atomic():
        title = title or PurePath(file.facts["file_name"]).stem
        document = Document(
            case=cases.locked_open(case), title=title[:200], created_by=current().actor
        )
        document.full_clean()
        document.save(force_insert=True)
        _add_version(document, 1, file, workitem_id)
    return document


def upload_version(
    *, document: Document, incoming: Incoming, file_name: str, workitem_id: UUID | None = None
) -> DocumentVersion:
    """Put a newer file in the place of the current one, which stays as it is."""
    with _admitted(incoming, file_name) as file, transaction.atomic():
        cases.locked_open(document.case)
        locked = Document.objects.select_for_update(no_key=True).get(pk=document.pk)
        latest = DocumentVersion.objects.get(pk=locked.latest_id)
        if latest.sha256 == file.facts["sha256"]:
            raise SameFileAgain
        if latest.state == DocumentVersion.State.GENERATING:
            raise StillInProgress
        version = _add_version(locked, latest.number + 1, file, workitem_id)
        document.latest = locked.latest
    return version


@transaction.atomic
def rename_document(*, document: Document, title: str) -> Document:
    document.title = title
    document.full_clean()
    document.save(update_fields=["title"])
    return document


@contextlib.contextmanager
def _admitted(incoming: Incoming, file_name: str) -> Iterator[Admitted]:
    """The file, sound and in its place. It is taken back if what follows fails."""
    facts = _inspected(incoming, kinds.cleaned(file_name))
    key = storage.keep(incoming, current_tenant_id())
    with storage.taken_back_on_failure(key):
        yield Admitted(key, facts)


def _inspected(incoming: Incoming, file_name: str) -> dict[str, Any]:
    kind = kinds.identify(incoming.path, file_name)
    return {
        "file_name": file_name,
        "content_type": kind.content_type,
        "size_bytes": incoming.size,
        "sha256": incoming.sha256,
        "pages_count": _pages_of(incoming, kind),
    }


def _pages_of(incoming: Incoming, kind: kinds.Kind) -> int:
    """How many pages a sound file has; others are refused."""
    if kind.name == "txt":
        try:
            return plain.inspect(str(incoming.path))
        except Refused as refusal:
            raise confine.error_of(refusal.reason) from None
    found = confine.run(
        "inspect",
        seconds=settings.DOCUMENTS_INSPECT_SECONDS,
        path=str(incoming.path),
        kind=kind.name,
        max_pages=settings.DOCUMENTS_MAX_PAGES,
        max_pixels=settings.DOCUMENTS_MAX_PIXELS,
    )
    return int(found["pages"])


def _add_version(
    document: Document, number: int, file: Admitted, workitem_id: UUID | None
) -> DocumentVersion:
    version = DocumentVersion(
        document=document,
        number=number,
        origin=DocumentVersion.Origin.UPLOADED,
        state=DocumentVersion.State.WAITING,
        storage_key=file.key,
        workitem_id=workitem_id,
        created_by=current().actor,
        **file.facts,
    )
    version.full_clean()
    version.save(force_insert=True)
    document.latest = version
    document.save(update_fields=["latest"])
    _tell(version)
    request_reading(version)
    return version


def _tell(version: DocumentVersion) -> None:
    publish(
        DocumentUploaded(
            document_id=version.document_id,
            case_id=version.document.case_id,
            document_version=version.number,
            file_name=version.file_name,
            content_type=version.content_type,
            size_bytes=version.size_bytes or 0,
            sha256=version.sha256,
        )
    )
