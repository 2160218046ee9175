"""Definitions of processes, their versions, their instances, and the work in them."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.events.ids import uuid7
from axiom.roles import Role
from axiom.tenancy import TenantOwned

PERSON = settings.AUTH_USER_MODEL


def _by(name: Any, **options: Any) -> Any:
    """Who did it. People are deactivated, not deleted, so what they did keeps their name."""
    return models.ForeignKey(
        PERSON,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=name,
        **options,
    )


class ProcessDefinition(TenantOwned):
    """A kind of process, through all its versions."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    key = models.CharField(_("key"), max_length=100)
    name = models.CharField(_("name"), max_length=200)
    is_active = models.BooleanField(_("may be started"), default=True)
    created_by = _by(_("created by"))
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("process definition")
        verbose_name_plural = _("process definitions")
        ordering = ("name", "id")
        constraints = [
            models.UniqueConstraint(fields=["tenant", "key"], name="process_definition_key"),
        ]

    def __str__(self) -> str:
        return self.name


class ProcessVersion(TenantOwned):
    """A diagram. A draft may be changed; what is published never is: instances run on it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    definition = models.ForeignKey(
        ProcessDefinition,
        on_delete=models.CASCADE,
        related_name="versions",
        verbose_name=_("process definition"),
    )
    number = models.PositiveIntegerField(_("version"))
    bpmn = models.TextField(_("diagram"))
    sha256 = models.CharField(max_length=64)
    activities = models.JSONField(_("tasks"), default=dict, blank=True)
    note = models.CharField(_("note"), max_length=500, blank=True)
    created_by = _by(_("created by"))
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    published_by = _by(_("published by"))
    published_at = models.DateTimeField(_("published"), null=True, blank=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("process version")
        verbose_name_plural = _("process versions")
        ordering = ("-created_at", "-id")
        constraints = [
            models.UniqueConstraint(fields=["definition", "number"], name="process_version_number"),
        ]

    def __str__(self) -> str:
        return f"{self.definition} · {self.number}"

    @property
    def is_published(self) -> bool:
        return self.published_at is not None


class ProcessInstance(TenantOwned):
    """One run of a process, on the version it began with."""

    class Status(models.TextChoices):
        RUNNING = "RUNNING", _("Running")
        STUCK = "STUCK", _("Stuck")
        COMPLETED = "COMPLETED", _("Completed")
        TERMINATED = "TERMINATED", _("Terminated")

    OPEN = (Status.RUNNING, Status.STUCK)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    version = models.ForeignKey(
        ProcessVersion,
        on_delete=models.PROTECT,
        related_name="instances",
        verbose_name=_("version"),
    )
    case = models.ForeignKey(
        "cases.Case",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="processes",
        verbose_name=_("case"),
    )
    title = models.CharField(_("title"), max_length=200)
    status = models.CharField(
        _("status"), max_length=12, choices=Status.choices, default=Status.RUNNING
    )
    variables = models.JSONField(_("variables"), default=dict, blank=True)
    state = models.JSONField(default=dict, blank=True, editable=False)
    stands_at = models.JSONField(_("stands at"), default=list, blank=True)
    been_at = models.JSONField(_("passed"), default=list, blank=True)
    problem = models.TextField(_("problem"), blank=True)
    reason = models.TextField(_("reason of the termination"), blank=True)
    end_event = models.CharField(_("end"), max_length=200, blank=True)
    started_by = _by(_("started by"))
    started_at = models.DateTimeField(_("started"))
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("process")
        verbose_name_plural = _("processes")
        ordering = ("-started_at", "-id")
        constraints = [
            models.CheckConstraint(
                condition=Q(ended_at=None, status__in=("RUNNING", "STUCK"))
                | Q(ended_at__isnull=False, status__in=("COMPLETED", "TERMINATED")),
                name="process_ended_or_not",
            ),
        ]
        indexes = [
            # Read by the list of processes.
            models.Index(fields=["tenant", "-started_at", "-id"], name="process_newest"),
            # Read by the same list for one status.
            models.Index(fields=["tenant", "status", "-started_at"], name="process_by_status"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_open(self) -> bool:
        return self.status in self.OPEN


class WorkItem(TenantOwned):
    """Something to do in a process, for a person or a machine."""

    class Status(models.TextChoices):
        TODO = "TODO", _("To do")
        IN_PROGRESS = "IN_PROGRESS", _("In progress")
        SUBMITTED = "SUBMITTED", _("Submitted")
        DONE = "DONE", _("Done")
        REJECTED = "REJECTED", _("Rejected")
        CANCELLED = "CANCELLED", _("Cancelled")

    class Performer(models.TextChoices):
        PERSON = "person", _("Person")
        AGENT = "agent", _("Agent")
        SERVICE = "service", _("Service")

    OPEN = (Status.TODO, Status.IN_PROGRESS, Status.SUBMITTED)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    instance = models.ForeignKey(
        ProcessInstance,
        on_delete=models.CASCADE,
        related_name="work_items",
        verbose_name=_("process"),
    )
    task_id = models.UUIDField(editable=False)
    attempt = models.PositiveSmallIntegerField(_("attempt"), default=1)
    activity_id = models.CharField(_("element"), max_length=100)
    activity_name = models.CharField(_("task"), max_length=200)
    performer = models.CharField(_("done by a"), max_length=10, choices=Performer.choices)
    assignee = models.ForeignKey(
        PERSON,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="work_items",
        verbose_name=_("assignee"),
    )
    role = models.CharField(_("role"), max_length=20, choices=Role.choices, blank=True)
    agent = models.CharField(_("agent"), max_length=100, blank=True)
    service = models.CharField(_("service"), max_length=100, blank=True)
    threshold = models.FloatField(_("approval below confidence"), null=True, blank=True)
    always_approved = models.BooleanField(_("always needs approval"), default=False)
    approver_role = models.CharField(_("approver"), max_length=20, choices=Role.choices, blank=True)
    status = models.CharField(
        _("status"), max_length=12, choices=Status.choices, default=Status.TODO
    )
    due_at = models.DateTimeField(_("due"), null=True, blank=True)
    result = models.JSONField(_("result"), default=dict, blank=True)
    confidence = models.FloatField(_("confidence"), null=True, blank=True)
    submitted_by = models.CharField(_("submitted by"), max_length=300, blank=True)
    # Whose login handed it in, for a machine too: it may not approve it.
    handed_in_by = _by(_("handed in by"))
    created_at = models.DateTimeField(_("created"))
    started_at = models.DateTimeField(_("started"), null=True, blank=True)
    submitted_at = models.DateTimeField(_("submitted"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    # Whether the process has moved on with this result: done once, whoever tells it to.
    moved_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta(TenantOwned.Meta):
        verbose_name = _("work item")
        verbose_name_plural = _("work items")
        ordering = ("-created_at", "-id")
        constraints = [
            models.UniqueConstraint(
                fields=["instance", "task_id", "attempt"], name="work_item_attempt"
            ),
            models.UniqueConstraint(
                fields=["instance", "task_id"],
                condition=Q(status__in=("TODO", "IN_PROGRESS", "SUBMITTED")),
                name="one_open_work_item_per_task",
            ),
            models.CheckConstraint(
                condition=Q(confidence=None) | Q(confidence__gte=0, confidence__lte=1),
                name="work_item_confidence_is_a_share",
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None, status__in=("TODO", "IN_PROGRESS", "SUBMITTED"))
                | Q(ended_at__isnull=False, status__in=("DONE", "REJECTED", "CANCELLED")),
                name="work_item_ended_or_not",
            ),
        ]
        indexes = [
            # Read by the list of work items, newest first.
            models.Index(fields=["tenant", "-created_at", "-id"], name="work_item_newest"),
            # Read by the same list in the order of what is due.
            models.Index(fields=["tenant", "due_at", "id"], name="work_item_due"),
            # Read by "mine".
            models.Index(
                fields=["assignee", "tenant"],
                condition=Q(status__in=("TODO", "IN_PROGRESS", "SUBMITTED")),
                name="work_item_open_by_assignee",
            ),
            # Read by "mine" too, and by a document that looks for the work that waits for it.
            models.Index(
                fields=["tenant", "service", "role"],
                condition=Q(status__in=("TODO", "IN_PROGRESS", "SUBMITTED")),
                name="work_item_open_by_role",
            ),
        ]

    def __str__(self) -> str:
        return self.activity_name

    @property
    def is_open(self) -> bool:
        return self.status in self.OPEN

    @property
    def is_a_machines(self) -> bool:
        return self.performer != self.Performer.PERSON


class WorkItemStep(TenantOwned):
    """What was done with a work item, when and by whom. Only ever added to."""

    class Kind(models.TextChoices):
        CREATED = "created", _("Created")
        STARTED = "started", _("Started")
        SUBMITTED = "submitted", _("Submitted")
        APPROVED = "approved", _("Approved")
        REJECTED = "rejected", _("Rejected")
        DELEGATED = "delegated", _("Delegated")
        COMPLETED = "completed", _("Completed")
        CANCELLED = "cancelled", _("Cancelled")

    work_item = models.ForeignKey(
        WorkItem, on_delete=models.CASCADE, related_name="steps", verbose_name=_("work item")
    )
    kind = models.CharField(_("what"), max_length=12, choices=Kind.choices)
    actor = models.CharField(_("who"), max_length=300)
    note = models.TextField(_("note"), blank=True)
    at = models.DateTimeField(_("when"))

    class Meta(TenantOwned.Meta):
        verbose_name = _("step of a work item")
        verbose_name_plural = _("steps of work items")
        ordering = ("at", "id")

    def __str__(self) -> str:
        return f"{self.get_kind_display()} · {self.actor}"


class ProcessTimer(TenantOwned):
    """A moment that a process waits for. The scan reads what is due; it fires once."""

    instance = models.ForeignKey(
        ProcessInstance, on_delete=models.CASCADE, related_name="timers", verbose_name=_("process")
    )
    task_id = models.UUIDField(editable=False)
    activity_id = models.CharField(_("element"), max_length=100)
    due_at = models.DateTimeField(_("due"))
    fired_at = models.DateTimeField(_("fired"), null=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("timer")
        verbose_name_plural = _("timers")
        ordering = ("due_at", "id")
        constraints = [
            models.UniqueConstraint(fields=["instance", "task_id"], name="one_timer_per_task"),
        ]
        indexes = [
            # Read by the scan.
            models.Index(fields=["due_at"], condition=Q(fired_at=None), name="process_timer_due"),
        ]

    def __str__(self) -> str:
        return f"{self.activity_id} · {self.due_at}"


class AgentFeedback(TenantOwned):
    """What a person thinks of an agent's result."""

    class Verdict(models.TextChoices):
        APPROVED = "approved", _("Approved")
        CORRECTED = "corrected", _("Corrected")
        REJECTED = "rejected", _("Rejected")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    work_item = models.ForeignKey(
        WorkItem, on_delete=models.CASCADE, related_name="feedback", verbose_name=_("work item")
    )
    agent = models.CharField(_("agent"), max_length=100)
    verdict = models.CharField(_("verdict"), max_length=10, choices=Verdict.choices)
    text = models.TextField(_("feedback"), blank=True)
    given_by = _by(_("given by"))
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("feedback for an agent")
        verbose_name_plural = _("feedback for agents")
        ordering = ("-created_at", "-id")
        indexes = [
            models.Index(fields=["tenant", "agent", "-created_at"], name="feedback_by_agent")
        ]

    def __str__(self) -> str:
        return f"{self.agent} · {self.get_verdict_display()}"


class AgentKnowledge(TenantOwned):
    """Something an agent shall know from now on."""

    class Source(models.TextChoices):
        FEEDBACK = "feedback", _("Feedback")
        MANUAL = "manual", _("By hand")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    agent = models.CharField(_("agent"), max_length=100)
    summary = models.TextField(_("what it knows"))
    source = models.CharField(_("source"), max_length=10, choices=Source.choices)
    feedback = models.ForeignKey(
        AgentFeedback,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("feedback for an agent"),
    )
    added_by = _by(_("added by"))
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("knowledge of an agent")
        verbose_name_plural = _("knowledge of agents")
        ordering = ("-created_at", "-id")
        indexes = [
            models.Index(fields=["tenant", "agent", "-created_at"], name="knowledge_by_agent")
        ]

    def __str__(self) -> str:
        return f"{self.agent} · {self.summary[:60]}"
