"""Documents in the console: what is there, how far it is, and what to do about it."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminTextInputWidget

from apps.documents import selectors, services, storage
from apps.documents.models import (
    Document,
    DocumentTemplate,
    DocumentVersion,
    ExtractedValue,
    ExtractionPattern,
    Job,
)
from axiom.console.admin import NOBODY, ReadOnly, TenantAdmin, TenantTabularInline
from axiom.console.groups import Group
from axiom.errors import AxiomError
from axiom.roles import ADMINS, Role

State = DocumentVersion.State
COLOURS = {
    State.READY.label: "success",
    State.FAILED.label: "danger",
    State.NEEDS_OCR_ENGINE.label: "warning",
    State.WAITING.label: "info",
    State.READING.label: "info",
    State.EXTRACTING.label: "info",
    State.GENERATING.label: "info",
}


class UploadForm(forms.ModelForm):
    """A file for a case; the rest is read in it."""

    file = forms.FileField(
        label=_("file"), widget=UnfoldAdminFileFieldWidget, allow_empty_file=True
    )
    title = forms.CharField(
        label=_("title"), max_length=200, required=False, widget=UnfoldAdminTextInputWidget
    )

    class Meta:
        model = Document
        # The case is added by the admin: its choices are the tenant's, and here is none yet.
        fields = ("title",)


class VersionInline(TenantTabularInline):
    model = DocumentVersion
    fields = readonly_fields = (
        "number", "file_name", "state", "pages_count", "method", "confidence", "created_at",
    )  # fmt: skip
    may_add = may_change = may_delete = NOBODY
    ordering = ("-number",)


@admin.register(Document)
class DocumentAdmin(TenantAdmin):
    """Documents with the state of their latest version; the page of one follows it live."""

    group, icon, position = Group.WORK, "description", 40
    change_form_before_template = "documents/progress.html"
    may_delete = ADMINS
    counts_on_start_page = False

    list_display = ("title", "case", "shown_state", "version", "created_by", "created_at")
    list_filter = ("latest__state", "latest__origin")
    list_select_related = ("latest", "case")
    search_fields = ("title", "latest__file_name")
    ordering = ("-created_at",)
    inlines = (VersionInline,)
    actions = ("process_again",)

    @display(description=_("state"), ordering="latest__state", label=COLOURS)
    def shown_state(self, document: Document) -> str:
        return document.latest.get_state_display() if document.latest else ""

    @display(description=_("version"), ordering="latest__number")
    def version(self, document: Document) -> int | None:
        return document.latest.number if document.latest else None

    @display(description=_("file"))
    def download(self, document: Document) -> str:
        if not (document.latest and document.latest.storage_key):
            return "-"
        link = reverse("document-download", args=[document.pk])
        return format_html('<a href="{}">{}</a>', link, document.latest.file_name)

    def get_fields(self, request: HttpRequest, obj: Document | None = None) -> list[str]:
        return ["title", "case", "download", "created_by", "created_at"] if obj else [
            "case", "file", "title",
        ]  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: Document | None = None) -> list[str]:
        return ["case", "download", "created_by", "created_at"] if obj else []

    def get_inlines(self, request: HttpRequest, obj: Document | None) -> tuple[Any, ...]:
        return self.inlines if obj else ()

    def get_form(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        if obj is None:
            kwargs["form"] = UploadForm
        return super().get_form(request, obj, **kwargs)

    def save_model(self, request: HttpRequest, obj: Document, form: Any, change: bool) -> None:
        if change:
            services.rename_document(document=obj, title=obj.title)
            return
        file = form.cleaned_data["file"]
        incoming = storage.receive(file.chunks())
        try:
            made = services.upload_document(
                case_id=obj.case_id, incoming=incoming, file_name=file.name, title=obj.title
            )
        finally:
            incoming.discard()
        obj.__dict__.update(made.__dict__)

    def delete_model(self, request: HttpRequest, obj: Document) -> None:
        services.remove_document(document=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        for document in queryset:
            services.remove_document(document=document)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Versions, pages and jobs go with their document; nobody deletes them otherwise."""
        rows, counts, _forbidden, protected = super().get_deleted_objects(objs, request)
        return rows, counts, set(), protected

    @action(description=_("Go on, or extract the fields again"), permissions=["change"])
    def process_again(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        done = 0
        for document in queryset.select_related("latest"):
            version: Any = document.latest
            try:
                services.process_again(version=version)
            except AxiomError as error:
                messages.warning(request, f"{document}: {error.message}")
                continue
            done += 1
            self.log_change(request, document, [{"changed": {"fields": ["state"]}}])
        told = ngettext("%(count)d document goes on.", "%(count)d documents go on.", done)
        self.message_user(request, told % {"count": done})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> Any:
        context = {**(extra_context or {}), "progress": self._progress(request, object_id)}
        return super().change_view(request, object_id, form_url, context)

    def _progress(self, request: HttpRequest, object_id: str) -> dict[str, Any] | None:
        document = self.get_object(request, object_id)
        if document is None or document.latest is None:
            return None
        fields = document.latest.fields.order_by("name")
        return {**selectors.progress_of(document.latest), "fields": fields}


class ExtractedInline(TenantTabularInline):
    model = ExtractedValue
    fields = readonly_fields = ("name", "value", "found_text", "page", "confidence")
    may_add = may_change = may_delete = NOBODY


@admin.register(Job)
class JobAdmin(ReadOnly, TenantAdmin):
    """What the documents worker did, does and has before it."""

    exclude = ("tenant", "claim_token")  # and what is Axiom's own bookkeeping
    group, icon, position = Group.WORK, "manufacturing", 45

    list_display = ("version", "kind", "state", "attempts", "worker", "created_at", "finished_at")
    list_filter = ("state", "kind")
    list_select_related = ("version",)
    search_fields = ("version__file_name",)
    ordering = ("-id",)
    fields = (
        "version", "kind", "state", "attempts", "error", "worker", "actor", "trace_id",
        "created_at", "started_at", "finished_at",
    )  # fmt: skip


@admin.register(ExtractionPattern)
class ExtractionPatternAdmin(TenantAdmin):
    group, icon, position = Group.WORK, "regular_expression", 50
    may_add = may_change = may_delete = ADMINS | {Role.MANAGER}

    list_display = ("field", "label", "pattern", "value_type", "confidence", "is_active")
    list_filter = ("is_active", "value_type")
    search_fields = ("field", "label", "pattern")
    ordering = ("field",)
    fields = ("field", "label", "pattern", "value_type", "confidence", "is_active")

    def save_model(
        self, request: HttpRequest, obj: ExtractionPattern, form: Any, change: bool
    ) -> None:
        services.change_pattern(obj)


@admin.register(DocumentTemplate)
class DocumentTemplateAdmin(TenantAdmin):
    group, icon, position = Group.WORK, "draft", 55
    may_add = may_change = may_delete = ADMINS | {Role.MANAGER}

    list_display = ("title", "name", "is_active", "changed_at")
    list_filter = ("is_active",)
    search_fields = ("title", "name")
    ordering = ("name",)
    fields = ("name", "title", "body", "variables", "is_active")
    readonly_fields = ("variables",)

    def save_model(
        self, request: HttpRequest, obj: DocumentTemplate, form: Any, change: bool
    ) -> None:
        services.change_template(obj)
