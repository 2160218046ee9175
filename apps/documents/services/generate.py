"""Documents made from templates."""

import json
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.cases import selectors as cases
from apps.documents.errors import TemplateFails
from apps.documents.kinds import KINDS, cleaned
from apps.documents.models import Document, DocumentTemplate, DocumentVersion, Job
from apps.documents.services.queue import new_job, waker
from apps.events.context import current

LARGEST_DATA = 200_000


@transaction.atomic
def generate_document(
    *,
    template: DocumentTemplate,
    case_id: UUID,
    format: str = "pdf",
    data: dict[str, Any] | None = None,
    title: str = "",
    workitem_id: UUID | None = None,
) -> Document:
    """Ask for a document; it is there at once, and its file when it is made."""
    case = cases.locked_open(cases.open_case_by_id(case_id))
    values = _complete(template, {**_given(case), **(data or {})})
    document = Document(case=case, title=title or template.title, created_by=current().actor)
    document.full_clean()
    document.save(force_insert=True)
    version = _first_version(document, template, format, workitem_id)
    request = {"template": template.name, "body": template.body, "format": format, "data": values}
    new_job(version, Job.Kind.GENERATE, Job.State.QUEUED, **request)
    transaction.on_commit(waker.set)
    return document


def _first_version(
    document: Document, template: DocumentTemplate, format: str, workitem_id: UUID | None
) -> DocumentVersion:
    version = DocumentVersion(
        document=document,
        number=1,
        origin=DocumentVersion.Origin.GENERATED,
        state=DocumentVersion.State.GENERATING,
        file_name=cleaned(f"{template.name}.{format}"),
        content_type=KINDS[format].content_type,
        workitem_id=workitem_id,
        created_by=current().actor,
    )
    version.full_clean()
    version.save(force_insert=True)
    document.latest = version
    document.save(update_fields=["latest"])
    return version


def _given(case: Any) -> dict[str, Any]:
    """What every template may use."""
    facts = {name: str(getattr(case, name)) for name in ("id", "title", "reference", "status")}
    return {
        "case": facts,
        "today": timezone.localdate().isoformat(),
        "author": current().actor,
    }


def _complete(template: DocumentTemplate, values: dict[str, Any]) -> dict[str, Any]:
    missing = sorted(set(template.variables) - set(values))
    if missing:
        raise TemplateFails(f"Values are missing: {', '.join(missing)}.", missing=missing)
    if len(json.dumps(values)) > LARGEST_DATA:
        raise TemplateFails(f"The values are larger than {LARGEST_DATA} characters.")
    return values
