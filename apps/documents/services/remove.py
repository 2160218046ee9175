"""Rows go first, files after them: a row without its file would be worse than the reverse."""

import contextlib
import itertools
from collections.abc import Iterable

import structlog
from django.db import transaction

from apps.documents import storage
from apps.documents.errors import StillInProgress
from apps.documents.models import Document, DocumentVersion, Job

log = structlog.get_logger(__name__)


@transaction.atomic
def remove_document(*, document: Document) -> None:
    """Remove a document with all its versions; its files follow once that is certain."""
    if Job.objects.filter(version__document=document, state=Job.State.RUNNING).exists():
        raise StillInProgress
    document.delete()


def remove_file_after_commit(key: str) -> None:
    transaction.on_commit(lambda: storage.remove(key), robust=True)


def sweep_orphans(*, now: float | None = None) -> int:
    """Remove files that no row knows: of uploads rolled back, of rows deleted in a crash."""
    count = 0
    files = storage.old_files(now=now)
    while batch := list(itertools.islice(files, 1000)):
        known = _known(file.key for file in batch)
        for orphan in (file for file in batch if file.key not in known):
            with contextlib.suppress(FileNotFoundError):
                orphan.path.unlink()
                count += 1
    if count:
        log.info("orphaned files removed", count=count)
    return count


def _known(keys: Iterable[str]) -> set[str | None]:
    rows = DocumentVersion.across_tenants.filter(storage_key__in=list(keys))
    return set(rows.values_list("storage_key", flat=True))
