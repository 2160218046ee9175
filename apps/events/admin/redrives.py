"""Redrives in the console: how far they are, and the way to stop one."""

from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action, display

from apps.events import selectors, services
from apps.events.models import Redrive
from apps.events.whose import tenant_shown

from .acts import Confirmed, act_page, found
from .lists import EventsAdmin

STATUS_COLOURS = {
    Redrive.Status.RUNNING.label: "info", Redrive.Status.DONE.label: "success",
    Redrive.Status.STOPPED.label: "warning",
}  # fmt: skip


@admin.register(Redrive)
class RedriveAdmin(EventsAdmin):
    """Sending many letters again: started from the dead letters, watched and stopped here."""

    exclude = (
        "after_position",
        "after_letter",
    )  # Axiom's own bookkeeping
    icon, position = "replay", 15
    ordering = ("-id",)
    list_display = ("created_at", "shown_status", "progress", "rate", "actor", "reason")
    list_filter = ("status",)
    fields = (
        "shown_status", "progress", "became", "rate", "filters", "reason", "actor", "stopped_by",
        "error", "created_at", "finished_at",
    )  # fmt: skip
    readonly_fields = ("shown_status", "progress", "became")
    actions = None
    actions_detail = ("stop",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Redrive]:
        return selectors.redrives_of(tenant_shown(request)).order_by("-id")

    @display(description=_("status"), label=STATUS_COLOURS)
    def shown_status(self, redrive: Redrive) -> str:
        return redrive.get_status_display()

    @display(description=_("sent again"))
    def progress(self, redrive: Redrive) -> str:
        return f"{redrive.sent + redrive.skipped} / {redrive.total}"

    @display(description=_("what became of them"))
    def became(self, redrive: Redrive) -> str:
        found = selectors.progress_of(redrive)
        return gettext(
            "%(done)d done, %(failed)d failed again, %(waiting)d waiting, %(left)d left alone"
        ) % {
            "done": found.done, "failed": found.failed_again, "waiting": found.waiting,
            "left": redrive.skipped,
        }  # fmt: skip

    @action(description=_("Stop"), url_path="stop", icon="stop_circle", permissions=["act"])
    def stop(self, request: HttpRequest, object_id: UUID) -> HttpResponse:
        return act_page(
            self, request, found(self, request, object_id), title=_("Stop"),
            explanation=_("Letters that were not reached yet stay as they are."),
            form_class=Confirmed, act=services.stop_redrive, done=_("The redrive was stopped."),
        )  # fmt: skip
