"""Work items as a process makes and drops them, and the trail of each."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from apps.accounts import selectors as accounts
from apps.events.catalog import Event
from apps.events.context import current
from apps.processes.bpmn import Activity
from apps.processes.bpmn.checking import INITIATOR
from apps.processes.bpmn.moments import moment
from apps.processes.bpmn.running import Stuck, Waiting
from apps.processes.errors import InvalidExpression
from apps.processes.events import WorkitemCreated
from apps.processes.models import ProcessInstance, WorkItem, WorkItemStep
from axiom.roles import OPERATORS
from axiom.tenancy import current_tenant_id

Status, Kind = WorkItem.Status, WorkItemStep.Kind


def settle(instance: ProcessInstance, waiting: Sequence[Waiting], *, now: datetime) -> list[Event]:
    """There is one open work item for every task that waits, and none for any other."""
    wanted = {each.task_id: each for each in waiting}
    gone = []
    for item in open_items_of(instance):
        if wanted.pop(item.task_id, None) is None:
            gone.append(item)
    cancel(instance, gone, note="", now=now)
    return create(instance, [_item(instance, each, now) for each in wanted.values()], now=now)


def open_items_of(instance: ProcessInstance) -> QuerySet[WorkItem]:
    found: QuerySet[WorkItem] = instance.work_items.filter(status__in=WorkItem.OPEN)
    return found


def create(instance: ProcessInstance, items: Sequence[WorkItem], *, now: datetime) -> list[Event]:
    """Keep new work items and say what to publish of them."""
    _assign(instance, items)
    WorkItem.objects.bulk_create(items)
    trace(items, Kind.CREATED, now=now)
    return [_created(instance, item) for item in items]


def cancel(
    instance: ProcessInstance, items: Sequence[WorkItem], *, note: str, now: datetime
) -> None:
    """Nobody needs this work any more."""
    # Asked again with the status: somebody may have finished one in this very moment.
    still_open = WorkItem.objects.filter(
        pk__in=[item.pk for item in items], status__in=WorkItem.OPEN
    ).select_for_update(no_key=True)
    dropped = list(still_open) if items else []
    for item in dropped:
        item.status, item.ended_at = Status.CANCELLED, now
    WorkItem.objects.bulk_update(dropped, ["status", "ended_at"])
    trace(dropped, Kind.CANCELLED, note=note, now=now)


def trace(items: Iterable[WorkItem], kind: str, *, now: datetime, note: str = "") -> None:
    """Add to the trail of these work items."""
    actor = current().actor
    WorkItemStep.objects.bulk_create(
        [WorkItemStep(work_item=each, kind=kind, actor=actor, note=note, at=now) for each in items]
    )


def again(item: WorkItem, *, now: datetime, **changes: Any) -> WorkItem:
    """The same work once more, after its result was rejected."""
    kept = (
        "instance", "task_id", "activity_id", "activity_name", "performer", "assignee", "role",
        "agent", "service", "threshold", "always_approved", "approver_role", "due_at",
    )  # fmt: skip
    values = {name: getattr(item, name) for name in kept} | changes
    return WorkItem(**values, attempt=item.attempt + 1, created_at=now)


def _item(instance: ProcessInstance, task: Waiting, now: datetime) -> WorkItem:
    activity = Activity(**instance.version.activities[task.activity_id])
    machine = activity.performer != WorkItem.Performer.PERSON
    default = settings.PROCESSES_CONFIDENCE if machine else None
    item = WorkItem(
        instance=instance,
        task_id=task.task_id,
        activity_id=activity.id,
        activity_name=activity.name,
        performer=activity.performer,
        role=activity.role,
        agent=activity.agent,
        service=activity.service,
        threshold=default if activity.confidence is None else activity.confidence,
        always_approved=activity.approval == "always",
        approver_role=activity.approver,
        due_at=_due(activity, instance, now),
        created_at=now,
    )
    item._wanted_assignee = activity.assignee  # type: ignore[attr-defined]
    return item


def _due(activity: Activity, instance: ProcessInstance, now: datetime) -> datetime | None:
    try:
        return moment(activity.due, instance.variables, now=now) if activity.due else None
    except InvalidExpression as error:
        raise Stuck(error.message) from error


def _assign(instance: ProcessInstance, items: Sequence[WorkItem]) -> None:
    """Give the work to whom the diagram names. Who is not here any more gets nothing."""
    wanted = {each: str(getattr(each, "_wanted_assignee", "")).lower() for each in items}
    emails = {name for name in wanted.values() if "@" in name}
    if not any(wanted.values()):
        return
    able = accounts.members_of(current_tenant_id()).filter(
        user__is_active=True, role__in=OPERATORS, user__email__in=emails
    )
    known: dict[str, UUID | None] = {each.user.email: each.user_id for each in able}
    known[INITIATOR] = instance.started_by_id
    for item, name in wanted.items():
        item.assignee_id = known.get(name)


def _created(instance: ProcessInstance, item: WorkItem) -> WorkitemCreated:
    return WorkitemCreated(
        **about(item, instance),
        activity_id=item.activity_id,
        performer=item.performer,
        assignee_id=item.assignee_id,
        role=item.role,
        agent=item.agent,
        due_at=item.due_at,
    )


def about(item: WorkItem, instance: ProcessInstance) -> dict[str, Any]:
    return {
        "workitem_id": item.pk,
        "proc_inst_id": instance.pk,
        "activity_name": item.activity_name,
        "case_id": instance.case_id,
    }
