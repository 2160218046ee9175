"""What a tenant sets up: patterns to find fields with, templates to make documents from."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.documents import confine
from apps.documents.errors import TakesTooLong, TemplateFails
from apps.documents.extraction import WrongPattern, compiled
from apps.documents.models import DocumentTemplate, ExtractionPattern

MOST_PATTERNS = 200


@transaction.atomic
def add_pattern(**facts: Any) -> ExtractionPattern:
    """Find a field in documents from now on."""
    if ExtractionPattern.objects.count() >= MOST_PATTERNS:
        raise ValidationError(_("There are %(count)d patterns already.") % {"count": MOST_PATTERNS})
    return _save_pattern(ExtractionPattern(**facts))


@transaction.atomic
def change_pattern(pattern: ExtractionPattern, /, **facts: Any) -> ExtractionPattern:
    return _save_pattern(_with(pattern, facts))


@transaction.atomic
def remove_pattern(pattern: ExtractionPattern) -> None:
    pattern.delete()


def _save_pattern(pattern: ExtractionPattern) -> ExtractionPattern:
    pattern.full_clean()
    try:
        compiled(pattern.pattern)
    except WrongPattern as error:
        raise ValidationError({"pattern": str(error)}) from None
    pattern.save()
    return pattern


@transaction.atomic
def add_template(**facts: Any) -> DocumentTemplate:
    """Let documents be made from this text."""
    return _save_template(DocumentTemplate(**facts))


@transaction.atomic
def change_template(template: DocumentTemplate, /, **facts: Any) -> DocumentTemplate:
    """What is in the making already is made from the text as it was."""
    return _save_template(_with(template, facts))


@transaction.atomic
def remove_template(template: DocumentTemplate) -> None:
    template.delete()


def _save_template(template: DocumentTemplate) -> DocumentTemplate:
    template.full_clean()
    template.variables = _variables_of(template.body)
    template.save()
    return template


def _variables_of(body: str) -> list[str]:
    seconds = settings.DOCUMENTS_INSPECT_SECONDS
    try:
        return list(confine.run("variables", seconds=seconds, template=body)["variables"])
    except (TemplateFails, TakesTooLong) as error:
        raise ValidationError({"body": error.message}) from None


def _with(row: Any, facts: dict[str, Any]) -> Any:
    for name, value in facts.items():
        setattr(row, name, value)
    return row
