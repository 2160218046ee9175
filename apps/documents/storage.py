"""Where files lie: outside the web root, under names of our own, durable before a row says so.

A file is written under `incoming/`, flushed to the disk, and renamed to its place. Only then is
its row committed. If that never happens, the file is an orphan, and the sweep takes it.
"""

import contextlib
import hashlib
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest

from apps.documents.errors import DocumentTooLarge, FileMissing

log = structlog.get_logger(__name__)

ORPHAN_AFTER_SECONDS = 3600
"""Longer than any transaction: a younger file may be one whose row is about to be committed."""
_INCOMING = "incoming"


class Incoming:
    """A file on its way in: counted and hashed as it is written."""

    def __init__(self) -> None:
        folder = _folder(_INCOMING)
        self.path = folder / uuid.uuid4().hex
        self._digest = hashlib.sha256()
        self.size = 0
        self.file = os.fdopen(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "w+b")

    def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size > settings.DOCUMENTS_MAX_BYTES:
            self.discard()
            raise DocumentTooLarge(max_bytes=settings.DOCUMENTS_MAX_BYTES)
        self._digest.update(chunk)
        self.file.write(chunk)

    def finish(self) -> "Incoming":
        """Bring it to the disk; what is not there may not be promised."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.seek(0)
        return self

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def discard(self) -> None:
        """Leave nothing behind, unless it has found its place meanwhile."""
        self.file.close()
        self.path.unlink(missing_ok=True)


def receive(chunks: Iterable[bytes]) -> Incoming:
    """Write what comes; it is `keep`ed or discarded by the caller."""
    incoming = Incoming()
    try:
        for chunk in chunks:
            incoming.write(chunk)
        return incoming.finish()
    except BaseException:
        incoming.discard()
        raise


def keep(incoming: Incoming, tenant_id: uuid.UUID) -> str:
    """Put the file into its place; returns the key to find it by."""
    incoming.file.close()
    name = uuid.uuid4().hex
    key = f"{tenant_id}/{name[:2]}/{name}"
    place = _folder(str(tenant_id), name[:2]) / name
    os.replace(incoming.path, place)
    _sync(place.parent)
    return key


def path_of(key: str) -> Path:
    return Path(settings.DOCUMENTS_DIR) / key


def opened(key: str) -> Any:
    try:
        return path_of(key).open("rb")
    except FileNotFoundError:
        raise FileMissing from None


def remove(key: str) -> None:
    path_of(key).unlink(missing_ok=True)


@contextlib.contextmanager
def taken_back_on_failure(key: str) -> Iterator[None]:
    """A row that is not written needs no file. (After a crash, the sweep sees to it.)"""
    try:
        yield
    except Exception:
        remove(key)
        raise


@dataclass(frozen=True)
class Found:
    """A file in the store, and its key."""

    key: str
    path: Path


def old_files(*, now: float | None = None) -> Iterator[Found]:
    """Files old enough that a row must know them, or nobody ever will."""
    root, before = Path(settings.DOCUMENTS_DIR), (now or time.time()) - ORPHAN_AFTER_SECONDS
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    yield Found(path.relative_to(root).as_posix(), path)


def _folder(*parts: str) -> Path:
    """The folder, made durable together with its parents when it is new."""
    folder = Path(settings.DOCUMENTS_DIR).joinpath(*parts)
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for each in (folder, *list(folder.parents)[: len(parts)]):
            _sync(each.parent if each != folder else each)
    return folder


def _sync(folder: Path) -> None:
    """A name is durable when its folder is."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


class IncomingFile(UploadedFile):
    """An upload that is in the store's antechamber already. Closed, it is gone unless kept."""

    def __init__(self, incoming: Incoming, name: str, content_type: str) -> None:
        super().__init__(incoming.file, name, content_type, incoming.size)
        self.incoming = incoming

    def close(self) -> None:
        self.incoming.discard()


class StraightToStore(FileUploadHandler):
    """Writes an upload where it will stay, once, and stops reading at the limit."""

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self.incoming: Incoming | None = None

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self.incoming = Incoming()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        assert self.incoming
        self.incoming.write(raw_data)

    def file_complete(self, file_size: int) -> IncomingFile:
        assert self.incoming
        done, self.incoming = self.incoming.finish(), None
        return IncomingFile(done, str(self.file_name), str(self.content_type))

    def upload_interrupted(self) -> None:
        if self.incoming:
            self.incoming.discard()
