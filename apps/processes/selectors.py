"""What is known about processes. Everything here is of the current tenant."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery

from apps.processes.bpmn.drawing import with_layout
from apps.processes.models import ProcessDefinition, ProcessInstance, ProcessVersion, WorkItem
from apps.processes.services.work import WHO_APPROVES, Doer

Status = WorkItem.Status


def definitions() -> QuerySet[ProcessDefinition]:
    """Kinds of processes, with the numbers of their versions."""
    return with_versions(ProcessDefinition.objects.all())


def with_versions(rows: QuerySet[Any]) -> QuerySet[Any]:
    # Subqueries: a row that is grouped cannot be locked, and locked it is when it is changed.
    newest = ProcessVersion.across_tenants.filter(definition=OuterRef("pk")).order_by("-number")
    published = newest.filter(published_at__isnull=False)
    return rows.annotate(
        published_version=Subquery(published.values("number")[:1]),
        newest_version=Subquery(newest.values("number")[:1]),
    )


def processes() -> QuerySet[ProcessInstance]:
    """Processes, without what only the engine reads."""
    rows: QuerySet[ProcessInstance] = ProcessInstance.objects.select_related("version__definition")
    return rows.defer("state", "version__bpmn", "version__activities")


def work_items() -> QuerySet[WorkItem]:
    """Work items with whose they are and what they belong to."""
    rows: QuerySet[WorkItem] = WorkItem.objects.select_related("instance", "assignee")
    return rows.defer("instance__state", "instance__variables")


def work_item_by_id(item_id: UUID) -> WorkItem | None:
    return work_items().filter(pk=item_id).first()


def is_for(doer: Doer) -> Q:
    """Open work that this person can do or approve now."""
    person = Q(performer=WorkItem.Performer.PERSON)
    nobodys = Q(assignee=None, role__in=["", doer.role])
    to_do = Q(status__in=(Status.TODO, Status.IN_PROGRESS)) & person
    judge = Q(approver_role=doer.role)
    if doer.role in WHO_APPROVES:
        judge |= Q(approver_role="")
    to_judge = Q(status=Status.SUBMITTED) & ~Q(handed_in_by=doer.user)
    machines = ~person & (Q(assignee=doer.user) | (Q(assignee=None) & judge))
    return (to_do & (Q(assignee=doer.user) | nobodys)) | (to_judge & (machines | (person & judge)))


def is_overdue(now: datetime) -> Q:
    return Q(due_at__lt=now, status__in=WorkItem.OPEN)


def standing_of(instance: ProcessInstance) -> dict[str, Any]:
    """A process's diagram, and where it stands in it."""
    return {
        "bpmn": with_layout(instance.version.bpmn),
        "stands_at": instance.stands_at,
        "been_at": instance.been_at,
    }
