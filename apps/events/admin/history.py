"""What was sent, what waits and what failed: to look at, never to change."""

import contextlib
import json
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as say
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from apps.events.groups import GROUPS
from apps.events.keys import Stream
from apps.events.models import DeadLetter, FailedAttempt, OutboxEvent, OutboxStatus, Retry
from apps.events.whose import tenant_shown

from .lists import ForThePlatform, NewestOnly

STATUS_COLOURS = {
    OutboxStatus.PENDING.label: "info", OutboxStatus.PROCESSING.label: "info",
    OutboxStatus.PUBLISHED.label: "success", OutboxStatus.DEAD.label: "danger",
}  # fmt: skip


class StreamFilter(admin.SimpleListFilter):
    """From the code, not by asking the table for what is in it."""

    title, parameter_name = _("stream"), "stream"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(stream, stream) for stream in Stream]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(stream=self.value()) if self.value() else queryset


class GroupFilter(admin.SimpleListFilter):
    title, parameter_name = _("group"), "group"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in (DeadLetter.RELAY, *GROUPS)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(group=self.value()) if self.value() else queryset


def as_uuid(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None


def journey_link(event_id: UUID | None) -> str:
    if event_id is None:
        return "-"
    url = reverse("admin:journey", query={"id": str(event_id)})
    return format_html('<a class="text-primary-600" href="{}">{}</a>', url, say("Journey"))


def indented(text: str) -> str:
    with contextlib.suppress(ValueError):  # What is no JSON is shown as it is.
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    return as_written(text)


def as_written(text: str) -> str:
    """Text whose lines count, broken where the window ends."""
    return format_html('<pre class="ax-text">{}</pre>', text)


@admin.register(OutboxEvent)
class OutboxAdmin(NewestOnly):
    """Every event, as it was written beside its change, and how far it got."""

    icon, position = "outbox", 30
    newest_by, found_by = "seq", ("event_id", "trace_id", "aggregate_id")
    left_out = ("payload", "envelope")
    search_help_text = _("Id of an event, a trace or an aggregate")

    list_display = ("event_type", "aggregate", "shown_status", "attempt_count", "created_at")
    list_filter = ("status", StreamFilter)
    fieldsets = (
        (None, {"fields": ("event_type", "journey", "letter", "status", "shown_payload")}),
        (_("Whose"), {"fields": ("tenant_id", "actor", "trace_id", "request_id", "source",
                                 "causation_id", "replaces_id")}),
        (_("What it happened to"), {"fields": ("aggregate_type", "aggregate_id")}),
        (_("The way"), {"fields": ("stream", "entry_id", "seq", "attempt_count", "max_attempts",
                                   "next_retry_at", "locked_by", "locked_until",
                                   "last_error_code", "last_error_message")}),
        (_("When"), {"fields": ("occurred_at", "created_at", "published_at")}),
    )  # fmt: skip
    readonly_fields = ("journey", "letter", "shown_payload")

    def get_queryset(self, request: HttpRequest) -> QuerySet[OutboxEvent]:
        rows: QuerySet[OutboxEvent] = super().get_queryset(request)
        tenant_id = tenant_shown(request)
        return rows if tenant_id is None else rows.filter(tenant_id=tenant_id)

    def search(self, rows: QuerySet[OutboxEvent], name: str) -> QuerySet[OutboxEvent]:
        wanted = Q(trace_id=name) | Q(aggregate_id=name)
        event_id = as_uuid(name)
        return rows.filter(wanted | Q(event_id=event_id) if event_id else wanted)

    @display(description=_("aggregate"))
    def aggregate(self, event: OutboxEvent) -> str:
        return f"{event.aggregate_type} {event.aggregate_id}"

    @display(description=_("status"), label=STATUS_COLOURS)
    def shown_status(self, event: OutboxEvent) -> str:
        return event.get_status_display()

    @display(description=_("payload"))
    def shown_payload(self, event: OutboxEvent) -> str:
        return indented(event.payload)

    @display(description=_("journey"))
    def journey(self, event: OutboxEvent) -> str:
        return journey_link(event.event_id)

    @display(description=_("dead letter"))
    def letter(self, event: OutboxEvent) -> str:
        """What can be done about an event that the relay gave up on is done to its letter."""
        letters = DeadLetter.objects.filter(event_id=event.event_id, group=DeadLetter.RELAY)
        newest = letters.order_by("-id").first()
        if newest is None:
            return "-"
        url = reverse("admin:events_deadletter_change", args=[newest.pk])
        text = newest.get_status_display()
        return format_html('<a class="text-primary-600" href="{}">{}</a>', url, text)


@admin.register(Retry)
class RetryAdmin(ForThePlatform):
    """Deliveries that wait for their next attempt, or behind one of their aggregate."""

    icon, position = "update", 40
    newest_by, found_by = "id", ("event_id",)
    left_out = ("fields",)
    search_help_text = _("Id of an event")

    list_display = ("event_id", "group", "stream", "attempts", "due_at", "journey")
    list_filter = (GroupFilter, StreamFilter)
    readonly_fields = ("journey",)

    def search(self, rows: QuerySet[Retry], name: str) -> QuerySet[Retry]:
        event_id = as_uuid(name)
        return rows.filter(event_id=event_id) if event_id else rows.none()

    @display(description=_("journey"))
    def journey(self, retry: Retry) -> str:
        return journey_link(retry.event_id)


@admin.register(FailedAttempt)
class FailedAttemptAdmin(ForThePlatform):
    """Every attempt that did not work, by the relay or by a group."""

    icon, position = "error", 50
    newest_by, found_by = "id", ("event_id",)
    search_help_text = _("Id of an event")

    list_display = ("at", "group", "number", "shown_error", "worker", "journey")
    list_filter = (GroupFilter,)
    readonly_fields = ("journey",)

    def search(self, rows: QuerySet[FailedAttempt], name: str) -> QuerySet[FailedAttempt]:
        event_id = as_uuid(name)
        return rows.filter(event_id=event_id) if event_id else rows.none()

    @display(description=_("error"))
    def shown_error(self, attempt: FailedAttempt) -> str:
        return attempt.error[:200]

    @display(description=_("journey"))
    def journey(self, attempt: FailedAttempt) -> str:
        return journey_link(attempt.event_id)
