"""Definitions and their versions: drafted, published, and then never changed."""

import hashlib
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from apps.processes import bpmn
from apps.processes.errors import AnotherProcess, KeyTaken, VersionPublished
from apps.processes.models import ProcessDefinition, ProcessVersion


@transaction.atomic
def upload_definition(
    *, text: str, name: str = "", note: str = "", by: Any = None
) -> ProcessDefinition:
    """Keep a new kind of process, its first version as a draft."""
    blueprint = bpmn.prove(text)
    definition = ProcessDefinition(
        key=blueprint.key, name=name or blueprint.name, created_by=by
    ).claimed()
    try:
        with transaction.atomic():
            definition.save(force_insert=True)
    except IntegrityError:
        raise KeyTaken from None
    _draft(definition, 1, text, blueprint, note=note, by=by)
    return definition


@transaction.atomic
def revise_definition(
    *, definition: ProcessDefinition, name: str, is_active: bool
) -> ProcessDefinition:
    """Rename a kind of process, or let it be started no more."""
    definition.name, definition.is_active = name, is_active
    definition.full_clean()
    definition.save(update_fields=["name", "is_active"])
    return definition


@transaction.atomic
def add_version(
    *, definition: ProcessDefinition, text: str, note: str = "", by: Any = None
) -> ProcessVersion:
    """Keep another diagram of the same process, as a draft."""
    blueprint = _same_process(definition, text)
    # Two at once would take the same number.
    ProcessDefinition.objects.select_for_update(no_key=True).get(pk=definition.pk)
    last = definition.versions.aggregate(last=Max("number"))["last"] or 0
    return _draft(definition, last + 1, text, blueprint, note=note, by=by)


@transaction.atomic
def revise_draft(*, version: ProcessVersion, text: str, note: str) -> ProcessVersion:
    """Put another diagram in the place of a draft."""
    draft = _locked_draft(version)
    blueprint = _same_process(draft.definition, text)
    _draw(draft, text, blueprint)
    draft.note = note
    draft.save()
    return draft


@transaction.atomic
def discard_draft(*, version: ProcessVersion) -> None:
    """Forget a draft, and its definition when there is nothing else of it."""
    draft = _locked_draft(version)
    definition = draft.definition
    draft.delete()
    if not definition.versions.exists():
        definition.delete()


@transaction.atomic
def publish_version(
    *, version: ProcessVersion, by: Any = None, now: datetime | None = None
) -> ProcessVersion:
    """From now on, processes begin on this version; those that run keep theirs."""
    draft = _locked_draft(version)
    bpmn.prove(draft.bpmn)
    draft.published_at, draft.published_by = now or timezone.now(), by
    draft.save(update_fields=["published_at", "published_by"])
    return draft


def _draft(
    definition: ProcessDefinition, number: int, text: str, blueprint: bpmn.Blueprint, **how: Any
) -> ProcessVersion:
    version = ProcessVersion(
        definition=definition, number=number, note=how["note"], created_by=how["by"]
    )
    _draw(version, text, blueprint)
    version.full_clean()
    version.save(force_insert=True)
    return version


def _draw(version: ProcessVersion, text: str, blueprint: bpmn.Blueprint) -> None:
    version.bpmn, version.sha256 = text, hashlib.sha256(text.encode()).hexdigest()
    version.activities = {name: each.as_json() for name, each in blueprint.activities.items()}


def _same_process(definition: ProcessDefinition, text: str) -> bpmn.Blueprint:
    blueprint: bpmn.Blueprint = bpmn.prove(text)
    if blueprint.key != definition.key:
        raise AnotherProcess
    return blueprint


def _locked_draft(version: ProcessVersion) -> ProcessVersion:
    fresh: ProcessVersion = (
        ProcessVersion.objects.select_for_update(of=("self",))
        .select_related("definition")
        .get(pk=version.pk)
    )
    if fresh.is_published:
        raise VersionPublished
    return fresh
