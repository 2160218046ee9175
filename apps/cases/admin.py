"""Cases in the console. Everything that changes goes through the services."""

from collections.abc import Callable
from typing import Any, ClassVar
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
from unfold.widgets import UnfoldAdminSelectMultipleWidget

from apps.cases import pages, services
from apps.cases.models import (
    Approval,
    Case,
    CashPosition,
    Comment,
    Dataset,
    Deadline,
    Payment,
    Review,
    WatchMark,
)
from axiom.console.admin import NOBODY, ReadOnly, TenantAdmin, TenantTabularInline
from axiom.console.groups import Group
from axiom.errors import AxiomError
from axiom.permissions import may
from axiom.roles import OPERATORS
from axiom.tenancy import current_tenant_id

_STATUS_COLOURS = {
    "open": "info", "in_progress": "info", "in_review": "warning", "on_hold": "warning",
    "closed": "success", "pending": "warning", "scheduled": "info", "met": "success",
    "paid": "success", "held": "success", "approved": "success", "rejected": "danger",
}  # fmt: skip


def colleagues() -> QuerySet[Any]:
    """Whom one may choose: the people of the tenant one acts for."""
    people: Any = Case._meta.get_field("manager").related_model
    return people.objects.filter(memberships__tenant=current_tenant_id(), is_active=True)


def person(request: HttpRequest) -> Any:
    """Who is asking; the console lets nobody in who is nobody."""
    return request.user


class OfCases(TenantAdmin):
    """What all of these pages share: chosen people are colleagues, and nothing is deleted."""

    may_delete = NOBODY

    def formfield_for_foreignkey(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        if db_field.name in {"manager", "approver"}:
            kwargs["queryset"] = colleagues()
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    @display(description=_("status"), ordering="status", label=_STATUS_COLOURS)
    def shown_status(self, row: Any) -> Any:
        return row.status, row.get_status_display()

    def act(self, request: HttpRequest, rows: Any, what: str, do: Callable[[Any], Any]) -> None:
        """Each row in a transaction of its own: what one refuses does not stop the others."""
        done = 0
        for row in rows:
            try:
                do(row)
            except AxiomError as refusal:
                self.message_user(request, f"{row}: {gettext(refusal.message)}", messages.ERROR)
                continue
            self.log_change(request, row, what)
            done += 1
        said = ngettext("%(count)d was changed.", "%(count)d were changed.", done)
        self.message_user(request, said % {"count": done}, messages.SUCCESS)


class Below(ReadOnly, TenantTabularInline):
    """What a case has, to see; it is changed on its own page."""

    show_change_link = True
    extra = 0
    tab = True

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields


class DeadlinesOfCase(Below):
    model = Deadline
    fields = ("title", "due_at", "status")
    ordering = ("due_at",)


class PaymentsOfCase(Below):
    model = Payment
    fields = ("title", "amount", "currency", "due_at", "status")
    ordering = ("due_at",)


class ReviewsOfCase(Below):
    model = Review
    fields = ("title", "stakeholder", "scheduled_at", "status")
    ordering = ("scheduled_at",)


class ApprovalsOfCase(Below):
    model = Approval
    fields = ("title", "approver", "due_at", "status")
    ordering = ("due_at",)


class DatasetsOfCase(Below):
    model = Dataset
    fields = ("name", "records_count", "issues_count", "created_at")
    ordering = ("-created_at",)


class CaseForm(forms.ModelForm):
    """A case and the people who work on it."""

    people: Any = forms.ModelMultipleChoiceField(
        queryset=None, required=False, label=_("members"), widget=UnfoldAdminSelectMultipleWidget
    )

    class Meta:
        model = Case
        fields = ("reference", "title", "kind", "description", "manager", "issue_threshold")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        chosen: Any = self.fields.get("people")
        if chosen:
            chosen.queryset = colleagues()
            if not self.instance._state.adding:
                chosen.initial = self.instance.memberships.values_list("user", flat=True)


@admin.register(Case)
class CaseAdmin(OfCases):
    """The cases of a tenant, with all that falls due in them."""

    exclude = ("tenant", "count_generation")  # and what is Axiom's own bookkeeping
    group, icon, position = Group.WORK, "folder_open", 10
    counts_on_start_page = True

    form = CaseForm
    list_display = (
        "title", "reference", "kind", "shown_status", "manager", "comment_count", "opened_at",
        "what_happened",
    )  # fmt: skip
    list_filter = ("status", "kind")
    search_fields = ("title", "reference")
    list_select_related = ("manager", "tenant")
    ordering, served_filters = ("-opened_at",), ("status__exact",)
    fields = (
        "reference", "title", "kind", "description", "status", "manager", "people",
        "issue_threshold", "comment_count", "opened_by", "opened_at", "closed_at",
    )  # fmt: skip
    readonly_fields = ("status", "comment_count", "opened_by", "opened_at", "closed_at")
    actions = ("close", "reopen")
    change_form_before_template = "cases/to_timeline.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.timeline_view)
        return [path("<uuid:pk>/timeline/", view, name="cases_case_timeline"), *super().get_urls()]

    def timeline_view(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        case = (
            self.get_queryset(request).select_related("manager", "opened_by").filter(pk=pk).first()
        )
        if case is None or not self.has_view_permission(request, case):
            raise Http404
        acts = self.has_change_permission(request, case)
        return pages.case_page(request, case, acts=acts, log=self.log_change)

    @display(description=_("timeline"))
    def what_happened(self, case: Case) -> str:
        link = reverse("admin:cases_case_timeline", args=[case.pk])
        words = gettext("what happened")
        return format_html('<a class="text-primary-600" href="{}">{}</a>', link, words)

    def get_inlines(self, request: HttpRequest, obj: Any = None) -> Any:
        every = (DeadlinesOfCase, PaymentsOfCase, ReviewsOfCase, ApprovalsOfCase, DatasetsOfCase)
        return every if obj else ()

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        shown = [name for name in self.fields if obj or name not in self.readonly_fields]
        # Who only looks gets no form, and so no field that only the form has.
        may_edit = self.has_change_permission(request, obj) if obj else True
        return shown if may_edit else [name for name in shown if name != "people"]

    def save_model(self, request: HttpRequest, obj: Case, form: Any, change: bool) -> None:
        given = dict(form.cleaned_data)
        people, manager = given.pop("people", ()), given.pop("manager")
        team: dict[str, Any] = {
            "manager_id": manager.pk if manager else None,
            "member_ids": [person.pk for person in people],
        }
        if not change:
            made = services.open_case(opened_by=person(request), **team, **given)
            obj.__dict__.update(made.__dict__)
            return
        facts = {name: given[name] for name in form.changed_data if name in given}
        services.revise_case(case=obj, **facts)
        if {"people", "manager"} & set(form.changed_data):
            services.assign(case=obj, **team)

    @admin.action(description=_("Close these cases"), permissions=["change"])
    def close(self, request: HttpRequest, cases: QuerySet[Case]) -> None:
        self.act(request, cases, "closed", lambda case: services.close_case(case=case))

    @admin.action(description=_("Reopen these cases"), permissions=["change"])
    def reopen(self, request: HttpRequest, cases: QuerySet[Case]) -> None:
        self.act(request, cases, "reopened", lambda case: services.reopen_case(case=case))


class PlannedAdmin(OfCases):
    """What falls due: made and changed by services, settled by actions."""

    add: ClassVar[Callable[..., Any]]
    list_filter: Any = ("status",)
    search_fields: Any = ("title", "case__title", "case__reference")
    list_select_related: Any = ("case", "tenant")
    autocomplete_fields: Any = ("case",)
    actions: Any = ("settle", "cancel")
    settled_as: ClassVar[str] = ""

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        settled = ("status", "settled_at")
        return ("case", *settled) if obj else settled

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields if obj else [n for n in self.fields if n not in {"status", "settled_at"}]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        given = {
            f"{name}_id" if name == "approver" else name: getattr(value, "pk", value)
            if name == "approver"
            else value
            for name, value in form.cleaned_data.items()
        }
        if not change:
            obj.__dict__.update(type(self).add(**given).__dict__)
            return
        changed = {f"{name}_id" if name == "approver" else name for name in form.changed_data}
        services.revise(item=obj, **{name: given[name] for name in changed})

    @admin.action(description=_("Mark as done"), permissions=["change"])
    def settle(self, request: HttpRequest, items: QuerySet[Any]) -> None:
        done = lambda item: services.settle(item=item, status=self.settled_as)
        self.act(request, items, self.settled_as, done)

    @admin.action(description=_("Cancel"), permissions=["change"])
    def cancel(self, request: HttpRequest, items: QuerySet[Any]) -> None:
        cancelled = lambda item: services.settle(item=item, status="cancelled")
        self.act(request, items, "cancelled", cancelled)


@admin.register(Deadline)
class DeadlineAdmin(PlannedAdmin):
    """When it is too late."""

    group, icon, position = Group.WORK, "event_busy", 11
    add, settled_as = staticmethod(services.add_deadline), "met"
    list_display = ("title", "case", "due_at", "shown_status")
    ordering = ("due_at",)
    fields = ("case", "title", "due_at", "status", "settled_at")


@admin.register(Payment)
class PaymentAdmin(PlannedAdmin):
    """What has to be paid."""

    group, icon, position = Group.WORK, "payments", 12
    add, settled_as = staticmethod(services.add_payment), "paid"
    list_display = ("title", "case", "payee", "amount", "currency", "due_at", "shown_status")
    ordering = ("due_at",)
    fields = (
        "case", "title", "payee", "amount", "currency", "due_at", "status", "settled_at",
    )  # fmt: skip


@admin.register(Review)
class ReviewAdmin(PlannedAdmin):
    """When stakeholders look at a case."""

    group, icon, position = Group.WORK, "groups", 13
    add, settled_as = staticmethod(services.schedule_review), "held"
    list_display = ("title", "case", "stakeholder", "scheduled_at", "shown_status")
    ordering = ("scheduled_at",)
    fields = ("case", "title", "stakeholder", "scheduled_at", "outcome", "status", "settled_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*super().get_readonly_fields(request, obj), "outcome")


@admin.register(Approval)
class ApprovalAdmin(PlannedAdmin):
    """What somebody has to say yes or no to."""

    group, icon, position = Group.WORK, "approval", 14
    add = staticmethod(services.request_approval)
    list_display = ("title", "case", "approver", "due_at", "shown_status", "settled_by")
    list_select_related = ("case", "tenant", "approver", "settled_by")
    ordering = ("due_at",)
    fields = (
        "case", "title", "due_at", "approver", "note", "status", "settled_at", "settled_by",
    )  # fmt: skip
    actions = ("approve", "reject", "cancel")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*super().get_readonly_fields(request, obj), "note", "settled_by")

    @admin.action(description=_("Approve"), permissions=["change"])
    def approve(self, request: HttpRequest, approvals: QuerySet[Approval]) -> None:
        yes = lambda approval: services.approve(approval=approval, by=person(request))
        self.act(request, approvals, "approved", yes)

    @admin.action(description=_("Reject"), permissions=["change"])
    def reject(self, request: HttpRequest, approvals: QuerySet[Approval]) -> None:
        no = lambda approval: services.reject(approval=approval, by=person(request))
        self.act(request, approvals, "rejected", no)


@admin.register(CashPosition)
class CashAdmin(OfCases):
    """How much cash the cases have."""

    group, icon, position = Group.WORK, "account_balance_wallet", 15
    list_display = ("case", "balance", "threshold", "currency", "low", "updated_at")
    list_select_related = ("case", "tenant")
    search_fields = ("case__title", "case__reference")
    autocomplete_fields = ("case",)
    ordering, sorts_while_short = ("case__title",), True
    fields = ("case", "balance", "threshold", "currency")

    @display(description=_("low"), boolean=True)
    def low(self, position: CashPosition) -> bool:
        return position.is_low

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("case", "currency") if obj else ()

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        given = {"case": obj.case, **form.cleaned_data}
        obj.__dict__.update(services.record_cash(**given).__dict__)


@admin.register(Dataset)
class DatasetAdmin(OfCases):
    """Data registered in the cases."""

    group, icon, position = Group.WORK, "dataset", 16
    list_display = ("name", "case", "records_count", "issues_count", "created_at")
    list_select_related = ("case", "tenant")
    search_fields = ("name", "case__title")
    autocomplete_fields = ("case",)
    ordering = ("-id",)
    fields = ("case", "name", "records_count", "issues_count")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("case",) if obj else ()

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.__dict__.update(services.register_data(**form.cleaned_data).__dict__)
            return
        facts = {name: form.cleaned_data[name] for name in form.changed_data}
        services.revise_data(dataset=obj, **facts)


@admin.register(Comment)
class CommentAdmin(ReadOnly, OfCases):
    """What was said about the cases, and taken back."""

    group, icon, position = Group.WORK, "comment", 17
    may_change = NOBODY
    list_display = ("body_beginning", "case", "author", "created_at", "deleted_at")
    list_filter = (("deleted_at", admin.EmptyFieldListFilter),)
    list_select_related = ("case", "tenant", "author")
    search_fields = ("body", "case__title", "author__email")
    ordering = ("-id",)
    fields = ("case", "author", "body", "created_at", "deleted_at")
    actions = ("take_back",)

    @display(description=_("text"))
    def body_beginning(self, comment: Comment) -> str:
        return str(comment)

    def has_take_back_permission(self, request: HttpRequest) -> bool:
        return may(request, OPERATORS)

    @admin.action(description=_("Delete these comments"), permissions=["take_back"])
    def take_back(self, request: HttpRequest, comments: QuerySet[Comment]) -> None:
        gone = lambda comment: services.delete_comment(comment=comment, by=person(request))
        self.act(request, comments.filter(deleted_at=None), "deleted", gone)


@admin.register(WatchMark)
class WatchMarkAdmin(ReadOnly, OfCases):
    """What the clockwork has said, and for which date."""

    group, icon, position = Group.WORK, "schedule", 18
    list_display = ("event_type", "mark", "aggregate_id", "due_at", "marked_at")
    list_filter = ("event_type",)
    search_fields = ("aggregate_id",)
    list_select_related = ("tenant",)
    ordering = ("-id",)
