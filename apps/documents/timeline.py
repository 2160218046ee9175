"""What documents write on the timeline of their case."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.documents.models import DocumentVersion, Job
from axiom.console.timeline import Entry, Stretch, Topic

Kind, State = Job.Kind, Job.State
_DONE = {
    Kind.OCR: gettext_lazy("Text read"),
    Kind.EXTRACT: gettext_lazy("Fields extracted"),
    Kind.GENERATE: gettext_lazy("Document made"),
}


def put_in(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    """Every version, uploaded or asked for."""
    rows = DocumentVersion.objects.filter(document__case=case_id).select_related("document")
    for each in stretch.of(rows, "created_at"):
        made = each.origin == DocumentVersion.Origin.GENERATED
        title = _("Document asked for") if made else _("Document uploaded")
        yield Entry(
            each.created_at, each.pk, title, _named(each), each.created_by, _page(each)
        )  # fmt: skip


def worked_on(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    """What the worker made of it, or why it could not."""
    rows = Job.objects.filter(version__document__case=case_id)
    for job in stretch.of(rows.select_related("version__document"), "finished_at"):
        title = str(_DONE[Kind(job.kind)])
        if job.state != State.DONE:
            title = f"{job.get_kind_display()}: {job.get_state_display()}"
        problem = _(job.error) if job.error else ""
        text = ": ".join(filter(None, [_named(job.version), problem]))
        yield Entry(job.finished_at, job.pk, title, text, link=_page(job.version))


def _named(version: Any) -> str:
    title = str(version.document.title)
    return title if version.file_name == title else f"{title} · {version.file_name}"


def _page(version: Any) -> str:
    return reverse("admin:documents_document_change", args=[version.document_id])


DOCUMENTS = Topic("documents", gettext_lazy("Documents"), "description", 70, (put_in, worked_on))
