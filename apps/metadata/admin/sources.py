"""Data sources and their runs: who reads what, how far it is, and what waits for approval."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.widgets import UnfoldAdminPasswordWidget

from apps.metadata import services
from apps.metadata.admin.acts import CatalogAdmin, OfSource
from apps.metadata.keepers import KEEPERS
from apps.metadata.models import DataSource, ExtractionRun
from apps.metadata.pages import decide
from axiom.console.admin import ReadOnly
from axiom.console.groups import Group
from axiom.errors import AxiomError
from axiom.permissions import may

State = ExtractionRun.State
DONE = {"approve": "approved", "reject": "rejected", "cancel": "cancelled"}
COLOURS = {
    State.QUEUED: "info", State.RUNNING: "info", State.HELD: "warning", State.DONE: "success",
    State.FAILED: "danger", State.CANCELLED: "warning", State.REJECTED: "warning",
    State.APPROVED: "success",
}  # fmt: skip


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
    actions = ("cancel",)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> Any:
        """A page of its own: a run is looked at and decided, not edited."""
        run = self.get_object(request, object_id)
        if run is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if not self.has_view_permission(request, run):
            raise PermissionDenied
        return self._decide(request, run) if request.method == "POST" else decide.show(request, run)

    def _decide(self, request: HttpRequest, run: ExtractionRun) -> HttpResponse:
        if not decide.may_decide(request, run):
            raise PermissionDenied
        do, note = request.POST.get("do", ""), request.POST.get("note", "").replace("\0", "")[:500]
        if do == "approve" and not request.POST.get("confirmed"):
            messages.error(request, _("Nothing was approved: confirm that you have seen its size."))
            return HttpResponseRedirect(request.path)
        if do not in decide.DECISIONS:
            return HttpResponseBadRequest()
        try:
            then = decide.DECISIONS[do](run, note)
        except AxiomError as refusal:
            messages.error(request, gettext(refusal.message))
            return HttpResponseRedirect(request.path)
        self.log_change(request, run, DONE[do])
        return HttpResponseRedirect(reverse("admin:metadata_extractionrun_change", args=[then.pk]))

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

    @admin.action(description=_("Stop"), permissions=["decide"])
    def cancel(self, request: HttpRequest, runs: QuerySet[ExtractionRun]) -> None:
        self.act(request, runs, "cancelled", lambda run: services.cancel(run=run))
