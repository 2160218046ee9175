"""What processes write on the timeline of their case."""

from collections.abc import Iterator
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.processes.models import ProcessInstance, WorkItemStep
from axiom.console.timeline import Entry, Stretch, Topic

# What the engine keeps for itself is large, and nobody reads it here.
_READ = ("tenant_id", "title", "status", "reason", "end_event", "started_at", "ended_at")


def started(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    rows = _of(case_id).select_related("started_by")
    people = ("started_by__name", "started_by__email")
    for each in stretch.of(rows.only(*_READ, *people), "started_at"):
        who = str(each.started_by) if each.started_by else ""
        yield Entry(each.started_at, each.pk, _("Process started"), each.title, who, _diagram(each))


def ended(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    titles = {
        ProcessInstance.Status.COMPLETED: _("Process completed"),
        ProcessInstance.Status.TERMINATED: _("Process terminated"),
    }
    for each in stretch.of(_of(case_id).only(*_READ), "ended_at"):
        text = ": ".join(filter(None, [each.title, each.reason or each.end_event]))
        title = titles[ProcessInstance.Status(each.status)]
        yield Entry(each.ended_at, each.pk, title, text, link=_diagram(each))


def _of(case_id: UUID) -> QuerySet[ProcessInstance]:
    rows: QuerySet[ProcessInstance] = ProcessInstance.objects.filter(case=case_id)
    return rows


def _diagram(instance: ProcessInstance) -> str:
    return reverse("admin:processes_processinstance_diagram", args=[instance.pk])


def work(case_id: UUID, stretch: Stretch) -> Iterator[Entry]:
    """Every step of every work item."""
    rows = WorkItemStep.objects.filter(work_item__instance__case=case_id)
    rows = rows.select_related("work_item").only(
        "tenant_id", "kind", "actor", "note", "at", "work_item__tenant_id",
        "work_item__activity_name",
    )  # fmt: skip
    for step in stretch.of(rows, "at"):
        title = f"{step.work_item.activity_name}: {step.get_kind_display()}"
        link = reverse("admin:processes_workitem_change", args=[step.work_item_id])
        yield Entry(step.at, step.pk, title, step.note, step.actor, link)


TOPICS = (
    Topic("processes", gettext_lazy("Processes"), "account_tree", 50, (started, ended)),
    Topic("work", gettext_lazy("Work items"), "task_alt", 60, (work,)),
)
