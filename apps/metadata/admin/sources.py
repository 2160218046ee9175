"""Data sources and their runs: who reads what, how far it is, and what waits for approval."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.widgets import UnfoldAdminPasswordWidget

from apps.metadata import selectors, services
from apps.metadata.admin.acts import CatalogAdmin, OfSource
from apps.metadata.models import DataSource, ExtractionRun
from axiom.console.admin import ReadOnly
from axiom.console.groups import Group
from axiom.errors import AxiomError
from axiom.permissions import may
from axiom.roles import ADMINS, Role

KEEPERS = ADMINS | {Role.ENGINEER}
State = ExtractionRun.State
COLOURS = {
    State.QUEUED: "info", State.RUNNING: "info", State.HELD: "warning", State.DONE: "success",
    State.FAILED: "danger", State.CANCELLED: "warning", State.REJECTED: "warning",
    State.APPROVED: "success",
}  # fmt: skip
LISTED = 50


class DataSourceForm(forms.ModelForm):
    """A data source; its password is written, never shown."""

    password = forms.CharField(
        label=_("password"),
        required=False,
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=_("Left empty, the one that is stored stays."),
    )

    class Meta:
        model = DataSource
        # The others are added by the admin: choices of the tenant's, and here is none yet.
        fields = ("name",)


@admin.register(DataSource)
class DataSourceAdmin(CatalogAdmin):
    """The databases whose structure is kept."""

    group, icon, position = Group.CATALOG, "database", 10
    may_add = may_change = may_delete = KEEPERS
    counts_on_start_page = True
    form = DataSourceForm
    list_display = (
        "name", "title", "engine", "tables_count", "columns_count", "last_extracted_at",
        "is_active",
    )  # fmt: skip
    list_filter = ("engine", "is_active")
    exclude = ("tenant", "sealed_password", "identity_scope")
    search_fields = ("name", "title", "database")
    list_select_related = ("tenant",)
    autocomplete_fields = ("case",)
    ordering = ("name",)
    fields = (
        "name", "title", "engine", "host", "port", "database", "username", "password", "ssl_mode",
        "schemas", "case", "tolerated_removals", "every_minutes", "is_active",
    )  # fmt: skip
    _known = ("tables_count", "columns_count", "last_extracted_at", "next_run_at", "created_by")
    actions = ("extract", "try_connection")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return self.fields
        # Who only looks gets no form, and so no field that only the form has.
        shown = [name for name in self.fields if name != "password"]
        return [*(self.fields if may(request, KEEPERS) else shown), *self._known]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("name", *self._known) if obj else ()

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        given = dict(form.cleaned_data)
        password = given.pop("password", "")
        if not change:
            made = services.add_datasource(password=password, **given)
            obj.__dict__.update(made.__dict__)
            return
        before = DataSource.objects.get(pk=obj.pk)
        facts = {name: given[name] for name in form.changed_data if name in given}
        services.change_datasource(datasource=before, password=password or None, **facts)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        services.remove_datasource(datasource=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[DataSource]) -> None:
        for datasource in queryset:
            services.remove_datasource(datasource=datasource)

    @admin.action(description=_("Read these now"), permissions=["change"])
    def extract(self, request: HttpRequest, rows: QuerySet[DataSource]) -> None:
        read = lambda datasource: services.request_extraction(datasource=datasource)
        self.act(request, rows, "extraction requested", read)

    @admin.action(description=_("Try to connect"), permissions=["change"])
    def try_connection(self, request: HttpRequest, rows: QuerySet[DataSource]) -> None:
        for datasource in rows:
            try:
                said, level = services.try_connection(datasource=datasource), messages.SUCCESS
            except AxiomError as refusal:
                said, level = refusal.message, messages.ERROR
            self.message_user(request, f"{datasource}: {said}", level)


@admin.register(ExtractionRun)
class ExtractionRunAdmin(ReadOnly, CatalogAdmin):
    """Readings, newest first; one that is held shows what would change, and for whom."""

    group, icon, position = Group.CATALOG, "sync", 11
    list_display = (
        "datasource", "shown_state", "progress", "tables_count", "added_count", "removed_count",
        "changed_count", "breaking_count", "created_at",
    )  # fmt: skip
    list_filter = ("state", OfSource)
    list_select_related = ("datasource", "tenant")
    ordering = ("-created_at",)
    exclude = ("tenant", "approved_removals")
    fields = (
        "datasource", "shown_state", "progress", "trigger", "held_because", "pending_changes",
        "affected", "error", "tables_count", "columns_count", "added_count", "removed_count",
        "changed_count", "breaking_count", "requested_by", "created_at", "started_at",
        "finished_at", "decided_by", "decided_at", "note",
    )  # fmt: skip
    actions = ("approve", "reject", "cancel")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return may(request, KEEPERS)

    @display(description=_("state"), ordering="state", label=COLOURS)
    def shown_state(self, run: ExtractionRun) -> Any:
        return run.state, run.get_state_display()

    @display(description=_("progress"))
    def progress(self, run: ExtractionRun) -> str:
        if run.state != State.RUNNING or not run.total:
            return str(run.get_step_display())
        return f"{run.get_step_display()}: {run.done} / {run.total}"

    @display(description=_("pending changes"))
    def pending_changes(self, run: ExtractionRun) -> Any:
        rows = ((each["kind"], f"{each['schema']}.{each['table']}", each["name"])
                for each in run.pending[:LISTED])  # fmt: skip
        return _listed(rows, len(run.pending))

    @display(description=_("who is affected"))
    def affected(self, run: ExtractionRun) -> Any:
        found = selectors.affected_by_run(run) if run.pending else []
        return _listed(((each.kind, each.name, each.how) for each in found[:LISTED]), len(found))

    @admin.action(description=_("Approve: let the tables go"), permissions=["decide"])
    def approve(self, request: HttpRequest, runs: QuerySet[ExtractionRun]) -> None:
        self.act(request, runs, "approved", lambda run: services.approve(run=run))

    @admin.action(description=_("Reject: keep the catalog"), permissions=["decide"])
    def reject(self, request: HttpRequest, runs: QuerySet[ExtractionRun]) -> None:
        self.act(request, runs, "rejected", lambda run: services.reject(run=run))

    @admin.action(description=_("Stop"), permissions=["decide"])
    def cancel(self, request: HttpRequest, runs: QuerySet[ExtractionRun]) -> None:
        self.act(request, runs, "cancelled", lambda run: services.cancel(run=run))


def _listed(rows: Any, count: int) -> Any:
    shown = format_html_join("", "<li>{} <b>{}</b> {}</li>", rows)
    more = format_html("<li>… {}</li>", count) if count > LISTED else ""
    return format_html("<ul>{}{}</ul>", shown, more) if count else "-"
