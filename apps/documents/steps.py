"""The work itself. It takes its time, and holds no transaction while it does."""

import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from apps.documents import confine, extraction, kinds, ocr, storage
from apps.documents.errors import DocumentRefused, FileMissing, TakesTooLong
from apps.documents.models import DocumentVersion, ExtractionPattern, Job
from apps.documents.services import settle
from apps.documents.services.settle import ReadPage

Method = DocumentVersion.Method

_PAGES_AT_ONCE = 20


@dataclass(frozen=True)
class Work:
    """A job in hand, and who may call us off it."""

    job: Job
    stop: threading.Event

    @property
    def version(self) -> DocumentVersion:
        return self.job.version

    def confined(self, verb: str, **order: object) -> dict[str, object]:
        began = self.job.started_at or timezone.now()
        if timezone.now() - began > timedelta(seconds=settings.DOCUMENTS_JOB_SECONDS):
            raise TakesTooLong
        seconds = settings.DOCUMENTS_PAGE_SECONDS
        return confine.run(verb, seconds=seconds, stop=self.stop, **order)

    @property
    def file(self) -> dict[str, str]:
        path = storage.path_of(str(self.version.storage_key))
        if not path.exists():
            raise FileMissing
        return {"path": str(path), "kind": kinds.kind_of_type(self.version.content_type).name}


def read(work: Work) -> None:
    """The text of every page: as it is in the file, or else recognised."""
    done = set(work.version.pages.values_list("number", flat=True))
    scans = [number for batch in _batches(work.version, done) for number in _read(work, batch)]
    if scans and not ocr.is_available():
        settle.wait_for_engine(work.job)
        return
    for number in scans:
        settle.store_pages(work.job, [_recognised(work, number)])
    settle.finish_reading(work.job)


def _batches(version: DocumentVersion, done: set[int]) -> Iterator[list[int]]:
    missing = [number for number in range(1, version.pages_count + 1) if number not in done]
    for start in range(0, len(missing), _PAGES_AT_ONCE):
        yield missing[start : start + _PAGES_AT_ONCE]


def _read(work: Work, numbers: list[int]) -> list[int]:
    """Store what these pages carry as text; returns those that are pictures."""
    answer: dict = work.confined("read", **work.file, first=numbers[0], last=numbers[-1])
    pages = [page for page in answer["pages"] if page["number"] in numbers]
    texts = [page for page in pages if not page["scanned"]]
    settle.store_pages(
        work.job, [ReadPage(page["number"], page["text"], Method.TEXT_LAYER) for page in texts]
    )
    return [page["number"] for page in pages if page["scanned"]]


def _recognised(work: Work, number: int) -> ReadPage:
    try:
        answer: dict = work.confined(
            "recognise",
            **work.file,
            number=number,
            engine=settings.DOCUMENTS_TESSERACT,
            languages=settings.DOCUMENTS_OCR_LANGUAGES,
            max_pixels=settings.DOCUMENTS_MAX_PIXELS,
        )
    except DocumentRefused:
        # One page that cannot be read is no reason to lose the others; we are just not sure.
        return ReadPage(number, "", Method.OCR, 0.0)
    return ReadPage(number, answer["text"], Method.OCR, answer["confidence"])


def extract(work: Work) -> None:
    """The fields that the tenant's patterns find in the text."""
    patterns = ExtractionPattern.objects.filter(is_active=True).order_by("pk")
    pages = work.version.pages.order_by("number")
    settle.finish_extraction(work.job, extraction.extract(pages, patterns))


def generate(work: Work) -> None:
    """The filled-in template, as a file in its place."""
    request = work.job.request
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "made"
        work.confined(
            "make",
            template=request["body"],
            data=request["data"],
            format=request["format"],
            title=work.version.document.title,
            out=str(out),
        )
        with out.open("rb") as file:
            made = storage.receive(iter(lambda: file.read(1 << 16), b""))
    key = storage.keep(made, work.job.tenant_id)
    with storage.taken_back_on_failure(key):
        settle.finish_generation(work.job, made, key)


STEPS: dict[str, Callable[[Work], None]] = {
    Job.Kind.OCR: read,
    Job.Kind.EXTRACT: extract,
    Job.Kind.GENERATE: generate,
}
