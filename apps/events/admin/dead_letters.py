"""Dead letters in the console: understand them, send them again, edit them, discard them."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action, display
from unfold.forms import ActionForm
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.events import selectors, services
from apps.events.models import DeadLetter, DeadLetterAct
from apps.events.selectors.letters import MOST_SELECTED, kinds_lately
from apps.events.whose import tenant_shown, who
from axiom.console.admin import NOBODY, Figure, RoleTabularInline
from axiom.errors import AxiomError

from .acts import NeededReasonForm, ReasonForm, act_page, found
from .edit_letter import edit_page
from .history import GroupFilter, as_uuid, as_written, indented, journey_link
from .lists import EventsAdmin
from .redrive_matching import redrive_page

STATUS_COLOURS = {
    DeadLetter.Status.OPEN.label: "danger", DeadLetter.Status.REDRIVEN.label: "success",
    DeadLetter.Status.REPLACED.label: "success", DeadLetter.Status.DISCARDED.label: "warning",
}  # fmt: skip


class StatusFilter(admin.SimpleListFilter):
    """Open ones, unless somebody asks for others."""

    title, parameter_name = _("status"), "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(DeadLetter.Status.choices)

    def value(self) -> str:
        return super().value() or DeadLetter.Status.OPEN

    def choices(self, changelist: Any) -> Any:
        # Without Django's "All": none chosen means open, and each status has its index.
        chosen = super().choices(changelist)
        next(chosen)
        yield from chosen

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(status=self.value())


class KindFilter(admin.SimpleListFilter):
    """Letters of one kind most likely have one cause."""

    title, parameter_name = _("kind"), "fingerprint"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        kinds = kinds_lately(selectors.letters_of(tenant_shown(request)))
        named = {k.fingerprint: f"{k.error_type}, {k.group} ({k.count})" for k in kinds}
        if asked := request.GET.get(self.parameter_name):
            named.setdefault(asked, asked)
        return list(named.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(fingerprint=self.value()) if self.value() else queryset


class ActWithReason(ActionForm):
    reason = forms.CharField(
        label="", required=False, max_length=2000,
        widget=UnfoldAdminTextInputWidget({"placeholder": _("reason"), "x-show": "action"}),
    )  # fmt: skip


class ActInline(RoleTabularInline):
    """What was done about a letter. Nobody changes that."""

    model = DeadLetterAct
    fields = readonly_fields = ("at", "kind", "actor", "reason", "diff", "redrive")
    may_add = may_change = may_delete = NOBODY
    ordering = ("id",)
    max_num = 0


@admin.register(DeadLetter)
class DeadLetterAdmin(EventsAdmin):
    """What somebody gave up on."""

    icon, position = "mark_email_unread", 10
    ordering = ("-id",)
    list_display = (
        "shown_event", "group_name", "shown_error", "attempts", "shown_status", "created_at",
    )  # fmt: skip
    list_filter = (StatusFilter, KindFilter, GroupFilter)
    search_fields = ("event_id", "trace_id", "aggregate_id")
    search_help_text = _("Id of an event, a trace or an aggregate")
    fieldsets = (
        (None, {"fields": ("shown_status", "became", "journey", "same_kind", "error_type", "error",
                           "attempts", "created_at")}),
        (_("Event"), {"fields": ("group", "stream", "entry_id", "event_id", "event_type",
                                 "aggregate_type", "aggregate_id", "tenant_id", "trace_id",
                                 "replaced_by", "shown_payload")}),
        (_("Stack"), {"fields": ("shown_stack",)}),
    )  # fmt: skip
    readonly_fields = (
        "shown_status", "became", "journey", "same_kind", "shown_payload", "shown_stack",
    )  # fmt: skip
    inlines = (ActInline,)
    action_form = ActWithReason
    actions = ("send_selected_again", "discard_selected")
    actions_list = ("redrive_matching",)
    actions_detail = ("redrive", "edit", "discard")

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeadLetter]:
        return selectors.letters_of(tenant_shown(request)).order_by("-id")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[DeadLetter], search_term: str
    ) -> tuple[QuerySet[DeadLetter], bool]:
        name, rows = search_term.strip(), queryset.defer("stack", "raw", "fields")
        if not name:
            return rows, False
        event_id = as_uuid(name)
        wanted = Q(trace_id=name) | Q(aggregate_id=name)
        return rows.filter(wanted | Q(event_id=event_id) if event_id else wanted), False

    def figure(self, request: HttpRequest) -> Figure | None:
        """How many are open, counted as far as a list goes."""
        status = DeadLetter.Status.OPEN
        rows = self.get_queryset(request).order_by().filter(status=status)
        count = rows[:MOST_SELECTED].count()
        link = reverse("admin:events_deadletter_changelist")
        return Figure(gettext("Open dead letters"), count, self.icon, link)

    # Columns

    @display(description=_("event"))
    def shown_event(self, letter: DeadLetter) -> str:
        return letter.event_type or gettext("unreadable")

    @display(description=_("group"))
    def group_name(self, letter: DeadLetter) -> str:
        return letter.group

    @display(description=_("error"))
    def shown_error(self, letter: DeadLetter) -> str:
        return f"{letter.error_type}: {letter.error}"[:120]

    @display(description=_("status"), label=STATUS_COLOURS)
    def shown_status(self, letter: DeadLetter) -> str:
        return letter.get_status_display()

    @display(description=_("what became of it"))
    def became(self, letter: DeadLetter) -> str:
        return selectors.what_became_of(letter) or "-"

    @display(description=_("journey"))
    def journey(self, letter: DeadLetter) -> str:
        return journey_link(letter.event_id)

    @display(description=_("of the same kind"))
    def same_kind(self, letter: DeadLetter) -> str:
        query = {"fingerprint": letter.fingerprint}
        url = reverse("admin:events_deadletter_changelist", query=query)
        text = gettext("Show them")
        return format_html('<a class="text-primary-600" href="{}">{}</a>', url, text)

    @display(description=_("payload"))
    def shown_payload(self, letter: DeadLetter) -> str:
        return indented(str(letter.fields.get("payload", "")) or services.raw_text(letter))

    @display(description=_("stack"))
    def shown_stack(self, letter: DeadLetter) -> str:
        return as_written(letter.stack)

    # Acting on those that are ticked

    @admin.action(description=_("Send these again"), permissions=["act"])
    def send_selected_again(self, request: HttpRequest, letters: QuerySet[DeadLetter]) -> None:
        count = self._each(request, letters, services.redrive, "sent again")
        said = ngettext("%(count)d letter was sent again.", "%(count)d letters were sent again.", count)  # fmt: skip
        self.message_user(request, said % {"count": count}, messages.SUCCESS)

    @admin.action(description=_("Discard these"), permissions=["act"])
    def discard_selected(self, request: HttpRequest, letters: QuerySet[DeadLetter]) -> None:
        count = self._each(request, letters, services.discard, "discarded")
        said = ngettext("%(count)d letter was discarded.", "%(count)d letters were discarded.", count)  # fmt: skip
        self.message_user(request, said % {"count": count}, messages.SUCCESS)

    def _each(
        self, request: HttpRequest, letters: QuerySet[DeadLetter], act: Any, what: str
    ) -> int:
        """Act on each, and say once for every reason why some were refused."""
        refused: dict[str, int] = {}
        acted = 0
        for letter in letters[:MOST_SELECTED]:
            try:
                act(letter, by=who(request), reason=request.POST.get("reason", "")[:2000])
            except AxiomError as error:
                refused[error.message] = refused.get(error.message, 0) + 1
            else:
                self.log_change(request, letter, what)
                acted += 1
        for reason, count in refused.items():
            self.message_user(request, f"{gettext(reason)} ({count})", messages.WARNING)
        return acted

    # Acting on one, or on all of a kind

    @action(description=_("Send again"), url_path="redrive", icon="replay", permissions=["act"])
    def redrive(self, request: HttpRequest, object_id: UUID) -> HttpResponse:
        return act_page(
            self, request, found(self, request, object_id), title=_("Send again"),
            explanation=_("The event goes to the group that gave up on it, and to nobody else."),
            form_class=ReasonForm, act=services.redrive, done=_("The event was sent again."),
        )  # fmt: skip

    @action(description=_("Edit or try"), url_path="edit", icon="edit", permissions=["act"])
    def edit(self, request: HttpRequest, object_id: UUID) -> HttpResponse:
        return edit_page(self, request, found(self, request, object_id))

    @action(description=_("Discard"), url_path="discard", icon="delete", permissions=["act"])
    def discard(self, request: HttpRequest, object_id: UUID) -> HttpResponse:
        return act_page(
            self, request, found(self, request, object_id), title=_("Discard"),
            explanation=_("The event will not be handled. Nothing is deleted; the reason stays."),
            form_class=NeededReasonForm, act=services.discard, done=_("The letter was discarded."),
        )  # fmt: skip

    @action(
        description=_("Send many again"), url_path="redrive-matching", icon="replay",
        permissions=["act"],
    )  # fmt: skip
    def redrive_matching(self, request: HttpRequest) -> HttpResponse:
        return redrive_page(self, request)
