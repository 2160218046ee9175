"""Processes in the console. Everything that changes goes through the services."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from apps.processes import pages, selectors, services
from apps.processes.bpmn.reading import LARGEST
from apps.processes.errors import BpmnTooLarge, InvalidBpmn
from apps.processes.models import (
    AgentFeedback,
    AgentKnowledge,
    ProcessDefinition,
    ProcessInstance,
    ProcessVersion,
    WorkItem,
    WorkItemStep,
)
from axiom.console.admin import NOBODY, ReadOnly, TenantAdmin, TenantTabularInline
from axiom.console.groups import Group
from axiom.permissions import may, role_of
from axiom.roles import Role, Roles

WHO_DEFINES: Roles = frozenset({Role.ADMIN, Role.MANAGER, Role.ENGINEER})
WHO_LEADS: Roles = frozenset({Role.ADMIN, Role.MANAGER})


class UploadForm(forms.ModelForm):
    """A file with a BPMN diagram."""

    file = forms.FileField(
        label=_("BPMN file"),
        help_text=_("BPMN 2.0, at most 1 MB, as any modeler saves it."),
        widget=UnfoldAdminFileFieldWidget,
    )
    note = forms.CharField(
        label=_("note"), max_length=500, required=False, widget=UnfoldAdminTextInputWidget
    )

    def clean_file(self) -> str:
        file = self.cleaned_data["file"]
        if file.size > LARGEST:
            raise forms.ValidationError(gettext(BpmnTooLarge.sentence()))
        try:
            return file.read().decode()
        except UnicodeDecodeError:
            raise forms.ValidationError(gettext(InvalidBpmn.sentence())) from None


class DefinitionForm(UploadForm):
    class Meta:
        model = ProcessDefinition
        fields = ()


class VersionForm(UploadForm):
    definition = forms.ModelChoiceField(
        label=_("process definition"),
        queryset=ProcessDefinition.across_tenants.none(),
        widget=UnfoldAdminSelectWidget,
    )

    class Meta:
        model = ProcessVersion
        # Not the definition: the service makes the row, and the form must not judge half of one.
        fields = ("note",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Not in the class body: no tenant there.
        choice: Any = self.fields["definition"]
        choice.queryset = ProcessDefinition.objects.all()


class VersionInline(TenantTabularInline):
    model = ProcessVersion
    may_add = may_change = may_delete = NOBODY
    fields = readonly_fields = ("number", "note", "created_at", "published_at")
    show_change_link = True
    ordering = ("-number",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("bpmn", "activities")


@admin.register(ProcessDefinition)
class DefinitionAdmin(TenantAdmin):
    """Kinds of processes. A new one begins with the file of its diagram."""

    group, icon, position = Group.WORK, "schema", 40
    may_add = may_change = WHO_DEFINES
    may_delete = NOBODY

    list_display = ("name", "key", "published", "is_active", "created_at")
    list_filter = ("is_active",)
    search_fields = ("name", "key")
    inlines = (VersionInline,)
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return selectors.with_versions(super().get_queryset(request))

    @display(description=_("published version"))
    def published(self, definition: Any) -> str:
        return str(definition.published_version or "–")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        shown = ["key", "name", "is_active", "created_by", "created_at"]
        return shown if obj else ["file", "note"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["key", "created_by", "created_at"] if obj else []

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        return self.inlines if obj else ()

    def get_form(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        return super().get_form(request, obj, **kwargs) if obj else DefinitionForm

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            services.revise_definition(definition=obj, name=obj.name, is_active=obj.is_active)
            return
        given = form.cleaned_data
        made = services.upload_definition(text=given["file"], note=given["note"], by=request.user)
        obj.__dict__.update(made.__dict__)


@admin.register(ProcessVersion)
class VersionAdmin(TenantAdmin):
    """Diagrams. A draft becomes public here, and then never changes."""

    exclude = ("tenant", "sha256")  # and what is Axiom's own bookkeeping
    group, icon, position = Group.WORK, "history", 41
    may_add, may_change, may_delete = WHO_DEFINES, NOBODY, NOBODY

    list_display = ("definition", "number", "note", "created_at", "published_at")
    list_filter = (("published_at", admin.EmptyFieldListFilter),)
    search_fields = ("definition__name", "definition__key")
    list_select_related = ("definition",)
    fields = (
        "definition", "number", "note", "sha256", "created_by", "created_at", "published_by",
        "published_at", "bpmn",
    )  # fmt: skip
    actions = ("publish",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields if obj else ["definition", "file", "note"]

    def get_form(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        return super().get_form(request, obj, **kwargs) if obj else VersionForm

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        given = form.cleaned_data
        made = services.add_version(
            definition=given["definition"], text=given["file"], note=given["note"], by=request.user
        )
        obj.__dict__.update(made.__dict__)

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return may(request, WHO_DEFINES)

    @admin.action(description=_("Publish these versions"), permissions=["publish"])
    def publish(self, request: HttpRequest, versions: QuerySet[ProcessVersion]) -> None:
        drafts = list(versions.filter(published_at=None).order_by("number"))
        for version in drafts:
            services.publish_version(version=version, by=request.user)
            self.log_change(request, version, "published")
        said = ngettext(
            "%(n)d version was published.", "%(n)d versions were published.", len(drafts)
        )
        self.message_user(request, said % {"n": len(drafts)}, messages.SUCCESS)


class WorkItemInline(TenantTabularInline):
    model = WorkItem
    may_add = may_change = may_delete = NOBODY
    fields = readonly_fields = ("activity_name", "status", "performer", "assignee", "due_at")
    show_change_link = True
    ordering = ("created_at", "id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("assignee")


@admin.register(ProcessInstance)
class ProcessAdmin(ReadOnly, TenantAdmin):
    """Processes that run or ran, and where they stand."""

    exclude = ("tenant", "state")  # and what is Axiom's own bookkeeping
    group, icon, position = Group.WORK, "account_tree", 30

    list_display = (
        "title",
        "definition",
        "shown_status",
        "case",
        "started_at",
        "ended_at",
        "where",
    )
    list_filter, served_filters = ("status",), ("status__exact",)
    search_fields = ("title", "version__definition__name")
    list_select_related = ("version__definition", "case")
    fields = readonly_fields = (
        "title", "where", "definition", "shown_status", "problem", "reason", "end_event", "case",
        "started_by", "started_at", "ended_at", "variables",
    )  # fmt: skip
    inlines = (WorkItemInline,)
    actions = ("terminate",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        return rows.defer("state", "version__bpmn", "version__activities")

    def get_urls(self) -> list[URLPattern]:
        name = "processes_processinstance_diagram"
        view = self.admin_site.admin_view(self.diagram_view)
        return [path("<uuid:pk>/diagram/", view, name=name), *super().get_urls()]

    @display(description=_("process definition"), ordering="version__definition__name")
    def definition(self, instance: ProcessInstance) -> str:
        return str(instance.version)

    @display(
        description=_("status"),
        ordering="status",
        label={
            ProcessInstance.Status.RUNNING.label: "info",
            ProcessInstance.Status.STUCK.label: "danger",
            ProcessInstance.Status.COMPLETED.label: "success",
        },
    )
    def shown_status(self, instance: ProcessInstance) -> str:
        return instance.get_status_display()

    @display(description=_("diagram"))
    def where(self, instance: ProcessInstance) -> str:
        link = reverse("admin:processes_processinstance_diagram", args=[instance.pk])
        words = _("where it stands")
        return format_html('<a class="text-primary-600" href="{}">{}</a>', link, words)

    def diagram_view(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """The diagram, drawn in the browser, with where the process stands."""
        rows = self.get_queryset(request).select_related("version__definition", "case")
        instance = rows.filter(pk=pk).first() if self.has_view_permission(request) else None
        if instance is None:
            raise Http404
        return pages.diagram_page(request, instance)

    def has_terminate_permission(self, request: HttpRequest) -> bool:
        return may(request, WHO_LEADS)

    @admin.action(description=_("Terminate these processes"), permissions=["terminate"])
    def terminate(self, request: HttpRequest, instances: QuerySet[ProcessInstance]) -> None:
        running = list(instances.filter(status__in=ProcessInstance.OPEN))
        for instance in running:
            services.terminate_process(
                instance=instance, reason=gettext("Terminated in the console.")
            )
            self.log_change(request, instance, "terminated")
        said = ngettext(
            "%(n)d process was terminated.", "%(n)d processes were terminated.", len(running)
        )
        self.message_user(request, said % {"n": len(running)}, messages.SUCCESS)


class StepInline(TenantTabularInline):
    model = WorkItemStep
    may_add = may_change = may_delete = NOBODY
    fields = readonly_fields = ("at", "kind", "actor", "note")


@admin.register(WorkItem)
class WorkItemAdmin(ReadOnly, TenantAdmin):
    """What there is to do and what was done."""

    exclude = ("tenant", "task_id", "moved_at")  # and what is Axiom's own bookkeeping
    group, icon, position = Group.WORK, "task_alt", 20

    list_display = ("activity_name", "process", "shown_status", "performer", "assignee", "due_at")
    list_filter = ("status", "performer", "role")
    search_fields = ("activity_name", "instance__title", "assignee__email", "agent")
    list_select_related = ("instance", "assignee")
    fields = readonly_fields = (
        "activity_name", "process", "shown_status", "attempt", "performer", "assignee", "role",
        "agent", "service", "threshold", "confidence", "result", "submitted_by", "due_at",
        "created_at", "started_at", "submitted_at", "ended_at",
    )  # fmt: skip
    inlines = (StepInline,)
    actions = ("approve",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("instance__state", "instance__variables")

    @display(description=_("process"), ordering="instance__title")
    def process(self, item: WorkItem) -> str:
        link = reverse("admin:processes_processinstance_diagram", args=[item.instance_id])
        return format_html('<a class="text-primary-600" href="{}">{}</a>', link, item.instance)

    @display(
        description=_("status"),
        ordering="status",
        label={
            WorkItem.Status.IN_PROGRESS.label: "info",
            WorkItem.Status.SUBMITTED.label: "warning",
            WorkItem.Status.DONE.label: "success",
            WorkItem.Status.REJECTED.label: "danger",
        },
    )
    def shown_status(self, item: WorkItem) -> str:
        return item.get_status_display()

    def has_approve_permission(self, request: HttpRequest) -> bool:
        return may(request, WHO_LEADS)

    @admin.action(description=_("Approve these results"), permissions=["approve"])
    def approve(self, request: HttpRequest, items: QuerySet[WorkItem]) -> None:
        submitted = list(items.filter(status=WorkItem.Status.SUBMITTED))
        doer = services.Doer(request.user, role_of(request))
        for item in submitted:
            services.approve_work(item=item, by=doer)
            self.log_change(request, item, "approved")
        said = ngettext(
            "%(n)d result was approved.", "%(n)d results were approved.", len(submitted)
        )
        self.message_user(request, said % {"n": len(submitted)}, messages.SUCCESS)


@admin.register(AgentFeedback)
class FeedbackAdmin(ReadOnly, TenantAdmin):
    """What people think of agents' results."""

    group, icon, position = Group.WORK, "reviews", 50

    list_display = ("agent", "verdict", "work_item", "text", "given_by", "created_at")
    list_filter = ("verdict", "agent")
    search_fields = ("agent", "text")
    list_select_related = ("work_item", "given_by")
    ordering = ("-id",)


@admin.register(AgentKnowledge)
class KnowledgeAdmin(TenantAdmin):
    """What agents know."""

    group, icon, position = Group.WORK, "school", 51
    may_add = WHO_DEFINES
    may_change = may_delete = NOBODY

    list_display = ("agent", "summary", "source", "added_by", "created_at")
    list_filter = ("source", "agent")
    search_fields = ("agent", "summary")
    list_select_related = ("added_by",)
    ordering = ("-id",)
    actions = None

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        shown = ["agent", "summary", "source", "feedback", "added_by", "created_at"]
        return shown if obj else ["agent", "summary"]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        made = services.teach(agent=obj.agent, summary=obj.summary, by=request.user)
        obj.__dict__.update(made.__dict__)
