"""Instances: begun, moved on while their row is locked, ended."""

from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.utils import timezone

from apps.cases import selectors as cases
from apps.events.catalog import Event
from apps.events.context import acting
from apps.events.outbox import publish, publish_many
from apps.processes import facts
from apps.processes.bpmn import Run, Stuck, specs_of
from apps.processes.errors import (
    CannotStart,
    DefinitionRetired,
    NothingPublished,
    NotStuck,
    ProcessOver,
)
from apps.processes.events import ProcessCompleted, ProcessStarted, ProcessTerminated
from apps.processes.models import (
    ProcessDefinition,
    ProcessInstance,
    ProcessTimer,
    ProcessVersion,
    WorkItem,
)
from apps.processes.services import items

log = structlog.get_logger(__name__)

Status = ProcessInstance.Status


@transaction.atomic
def start_process(
    *,
    definition: ProcessDefinition,
    case_id: UUID | None = None,
    title: str = "",
    variables: dict[str, Any] | None = None,
    by: Any = None,
    now: datetime | None = None,
) -> ProcessInstance:
    """Begin a process on the newest published version, and move it to where it first waits."""
    now, version = now or timezone.now(), _version_to_start(definition)
    instance = ProcessInstance(
        version=version,
        case=cases.open_case_by_id(case_id) if case_id else None,
        title=title or definition.name,
        started_by=by,
        started_at=now,
    )
    instance.full_clean()
    instance.save(force_insert=True)
    try:
        run = Run.begin(_specs(instance), facts.checked(dict(variables or {})), now=now)
        run.go()
        news = _put_back(instance, run, now)
    except Stuck as problem:
        raise CannotStart(str(problem)) from problem
    publish_many([_started(instance), *news])
    return instance


@transaction.atomic
def advance(instance_id: UUID, *, now: datetime | None = None) -> ProcessInstance | None:
    """Move a process on with what was done and what is due. Called again, nothing happens."""
    instance = _locked(instance_id)
    if instance is not None and instance.status == Status.RUNNING:
        publish_many(_move(instance, now or timezone.now()))
    return instance


@transaction.atomic
def resume_process(
    *, instance: ProcessInstance, variables: dict[str, Any], now: datetime | None = None
) -> ProcessInstance:
    """Let a stuck process try again, with the values that it was missing."""
    fresh = _locked(instance.pk)
    if fresh is None or fresh.status != Status.STUCK:
        raise NotStuck
    fresh.variables = facts.checked({**fresh.variables, **variables})
    fresh.status, fresh.problem = Status.RUNNING, ""
    fresh.save(update_fields=["variables", "status", "problem"])
    publish_many(_move(fresh, now or timezone.now()))
    return fresh


@transaction.atomic
def terminate_process(
    *, instance: ProcessInstance, reason: str, now: datetime | None = None
) -> ProcessInstance:
    """Stop a process before its end; what was to be done is cancelled."""
    fresh, now = _locked(instance.pk), now or timezone.now()
    if fresh is None or not fresh.is_open:
        raise ProcessOver
    items.cancel(fresh, list(items.open_items_of(fresh)), note=reason, now=now)
    fresh.timers.filter(fired_at=None).delete()
    fresh.status, fresh.reason, fresh.ended_at = Status.TERMINATED, reason, now
    fresh.stands_at = []
    fresh.save()
    publish(ProcessTerminated(**_about(fresh), reason=reason))
    return fresh


def fire_due_timers(*, now: datetime | None = None, at_most: int = 500) -> int:
    """Move on every process whose time has come; say how many. Others may scan at the same time."""
    now = now or timezone.now()
    due = ProcessTimer.across_tenants.filter(
        fired_at=None, due_at__lte=now, instance__status=Status.RUNNING
    )
    found = due.order_by("due_at").values_list("tenant_id", "instance_id")[:at_most]
    return sum(_fire(*each, now) for each in dict.fromkeys(found))


def _fire(tenant_id: UUID, instance_id: UUID, now: datetime) -> bool:
    """A process that breaks is told of and keeps nobody else waiting."""
    try:
        with acting(tenant_id=tenant_id, source="timers"), transaction.atomic():
            return _fire_in_hand(instance_id, now)
    except Exception:
        log.exception("timer failed", process=str(instance_id))
        return False


def _fire_in_hand(instance_id: UUID, now: datetime) -> bool:
    instance = _locked(instance_id, skip_locked=True)
    still_due = instance is not None and (
        instance.status == Status.RUNNING
        and instance.timers.filter(fired_at=None, due_at__lte=now).exists()
    )
    if instance is not None and still_due:
        publish_many(_move(instance, now))
    return still_due


def _version_to_start(definition: ProcessDefinition) -> ProcessVersion:
    if not definition.is_active:
        raise DefinitionRetired
    published = definition.versions.filter(published_at__isnull=False)
    version: ProcessVersion | None = published.order_by("-number").first()
    if version is None:
        raise NothingPublished
    version.definition = definition
    return version


def _locked(instance_id: UUID, **how: bool) -> ProcessInstance | None:
    """The row, for us alone. Rows that point to it may still be written (no_key)."""
    rows = ProcessInstance.objects.select_related("version__definition")
    found: ProcessInstance | None = (
        rows.select_for_update(of=("self",), no_key=True, **how).filter(pk=instance_id).first()
    )
    return found


def _specs(instance: ProcessInstance) -> Any:
    version = instance.version
    return specs_of(version.pk, version.bpmn, version.definition.key)


def _move(instance: ProcessInstance, now: datetime) -> list[Event]:
    """Hand in what was done, go on, and put it back; or say why that is not possible."""
    try:
        with transaction.atomic():
            variables = dict(instance.variables)
            run = Run.resume(_specs(instance), instance.state, variables, now=now)
            _hand_in(instance, run, now)
            run.go()
            return _put_back(instance, run, now)
    except Stuck as problem:
        log.warning("process is stuck", process=str(instance.pk), problem=str(problem))
        # As it was before: what was tried must not be there when it is tried again.
        instance.refresh_from_db()
        instance.status, instance.problem = Status.STUCK, str(problem)
        instance.save(update_fields=["status", "problem"])
        return []


def _hand_in(instance: ProcessInstance, run: Run, now: datetime) -> None:
    done = instance.work_items.filter(status=WorkItem.Status.DONE, moved_at=None)
    for item in done.order_by("ended_at", "id"):
        run.finish(item.task_id, item.result)
        item.moved_at = now
        item.save(update_fields=["moved_at"])


def _put_back(instance: ProcessInstance, run: Run, now: datetime) -> list[Event]:
    """Keep where it stands, and what is to be done and waited for there."""
    instance.state, instance.variables = run.state(), run.variables
    instance.stands_at, instance.been_at = run.stands_at(), run.been_at()
    news = items.settle(instance, run.waiting(), now=now)
    _set_timers(instance, run, now)
    if run.is_over:
        instance.status, instance.ended_at = Status.COMPLETED, now
        instance.end_event = run.end()[:200]
        news.append(_completed(instance))
    instance.save()
    return news


def _set_timers(instance: ProcessInstance, run: Run, now: datetime) -> None:
    waiting = {each.task_id: each for each in run.timers()}
    for timer in instance.timers.filter(fired_at=None):
        if waiting.pop(timer.task_id, None) is not None:
            continue
        if run.has_passed(timer.task_id):
            timer.fired_at = now
            timer.save(update_fields=["fired_at"])
        else:
            timer.delete()
    ProcessTimer.objects.bulk_create(
        [ProcessTimer(instance=instance, **each._asdict()) for each in waiting.values()]
    )


def _about(instance: ProcessInstance) -> dict[str, Any]:
    return {
        "proc_inst_id": instance.pk,
        "proc_def_id": instance.version.definition_id,
        "case_id": instance.case_id,
    }


def _started(instance: ProcessInstance) -> ProcessStarted:
    first = instance.work_items.order_by("created_at", "id").first()
    return ProcessStarted(
        **_about(instance),
        initiator_id=instance.started_by_id,
        first_workitem_id=first.pk if first else None,
    )


def _completed(instance: ProcessInstance) -> ProcessCompleted:
    return ProcessCompleted(
        **_about(instance), started_at=instance.started_at, end_event=instance.end_event
    )
