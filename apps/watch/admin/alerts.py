"""Alerts in the console: look, understand, and do something about them."""

import json
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from apps.cases import selectors as cases
from apps.events.context import acting
from apps.watch import selectors, services
from apps.watch.models import Alert, AlertEvent, AlertHistory, AlertWatcher, Audience, Escalation
from apps.watch.severity import Severity
from axiom.console.admin import (
    NOBODY,
    RoleTabularInline,
    TenantAdmin,
    TenantTabularInline,
)
from axiom.console.groups import Group

SEVERITY_COLOURS = {
    Severity.LOW.label: "info",
    Severity.MEDIUM.label: "warning",
    Severity.HIGH.label: "warning",
    Severity.CRITICAL.label: "danger",
}
STATUS_COLOURS = {
    Alert.Status.UNREAD.label: "danger",
    Alert.Status.ACKNOWLEDGED.label: "info",
    Alert.Status.RESOLVED.label: "success",
}


# What one may do: a service, called with who does it and their words.
DEEDS: dict[str, tuple[Any, Any]] = {
    "acknowledge": (
        _("Acknowledge"),
        lambda alert, by, words: services.acknowledge(alert=alert, by=by, note=words),
    ),
    "root_cause": (
        _("Write down the root cause"),
        lambda alert, by, words: services.record_root_cause(alert=alert, root_cause=words),
    ),
    "team_notified": (
        _("Write down that the team was notified"),
        lambda alert, by, words: services.record_team_notified(alert=alert, note=words),
    ),
    "action": (
        _("Write down what was done"),
        lambda alert, by, words: services.record_action(alert=alert, action=words),
    ),
    "resolve": (
        _("Resolve: in words, the root cause"),
        lambda alert, by, words: services.resolve(alert=alert, by=by, root_cause=words),
    ),
    "dismiss": (
        _("Dismiss: it was right, but there is nothing to do"),
        lambda alert, by, words: services.dismiss(
            alert=alert, by=by, false_positive=False, reason=words
        ),
    ),
    "false_positive": (
        _("Dismiss as a false positive"),
        lambda alert, by, words: services.dismiss(
            alert=alert, by=by, false_positive=True, reason=words
        ),
    ),
}


class DeedForm(forms.ModelForm):  # type: ignore[type-arg]
    """What is to be done about the alert."""

    deed = forms.ChoiceField(
        label=_("What do you do?"),
        choices=[(name, label) for name, (label, _act) in DEEDS.items()],
        widget=UnfoldAdminSelectWidget,
    )
    words = forms.CharField(
        label=_("In words"),
        required=False,
        max_length=10_000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )

    class Meta:
        model = Alert
        fields: tuple[str, ...] = ()


class HistoryInline(RoleTabularInline):
    """Everything that was done, the first first."""

    model = AlertHistory
    fields = readonly_fields = ("at", "kind", "actor", "note")
    may_add = may_change = may_delete = NOBODY
    ordering = ("id",)
    verbose_name_plural = _("History")


class EventInline(RoleTabularInline):
    """What made it."""

    model = AlertEvent
    fields = readonly_fields = ("occurred_at", "event_id", "seen")
    may_add = may_change = may_delete = NOBODY
    ordering = ("occurred_at", "id")
    verbose_name_plural = _("Events that made it (the first hundred)")
    per_page = 10

    @display(description=_("what the rule saw"))  # type: ignore[untyped-decorator]
    def seen(self, event: AlertEvent) -> str:
        return format_html("<code>{}</code>", json.dumps(event.facts, ensure_ascii=False))


class EscalationInline(TenantTabularInline):
    model = Escalation
    fields = readonly_fields = ("level", "state", "due_at", "audience", "channels", "settled_at")
    may_add = may_change = may_delete = NOBODY
    ordering = ("level",)


class WatcherInline(TenantTabularInline):
    model = AlertWatcher
    fields = readonly_fields = ("subscription", "muted", "since")
    may_add = may_change = may_delete = NOBODY


@admin.register(Alert)
class AlertAdmin(TenantAdmin):
    """What people have to know. Nobody writes alerts by hand; what is done about them is."""

    exclude = ("tenant", "idempotency_key", "rank")  # and what is Axiom's own bookkeeping
    group, icon, position = Group.ALERTS, "notifications_active", 10
    may_add = may_delete = NOBODY
    form = DeedForm

    list_display = (
        "__str__", "shown_severity", "shown_status", "detected_at", "count", "flaps", "next_at",
    )  # fmt: skip
    list_filter = (
        "status",
        "severity",
        "detected_at",
        ("flapping_since", admin.EmptyFieldListFilter),
    )
    search_fields = ("message", "aggregate_id", "event_type")
    ordering = ("-detected_at", "-id")
    served_filters = ("status__exact", "detected_at__gte", "detected_at__lt")
    inlines = (HistoryInline, EscalationInline, EventInline, WatcherInline)
    actions = ("acknowledge_chosen", "dismiss_chosen", "false_positive_chosen")
    readonly_fields = (
        "told_message", "shown_severity", "shown_status", "what_next", "event_type", "aggregate_type",
        "aggregate_id", "shown_case", "count", "detected_at", "last_seen_at", "acknowledged_at",
        "acknowledged_by", "team_lead", "team_notified_at", "root_cause", "resolved_at",
        "dismissed_at", "settled_by", "false_positive", "reopened", "flapping_since",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Alert]:
        # Across tenants too, for who runs the platform; the alerts themselves are chosen above.
        levels = Prefetch("escalations", Escalation.across_tenants.all())
        return super().get_queryset(request).prefetch_related(levels)

    def get_fields(self, request: HttpRequest, obj: Alert | None = None) -> list[str]:
        deed = ["deed", "words"] if obj and self.has_change_permission(request, obj) else []
        return [*deed, *self.readonly_fields]

    def has_change_permission(self, request: HttpRequest, obj: Alert | None = None) -> bool:
        allowed: bool = super().has_change_permission(request, obj)
        return allowed and (obj is None or obj.is_open)

    def save_model(self, request: HttpRequest, obj: Alert, form: Any, change: bool) -> None:
        _label, act = DEEDS[form.cleaned_data["deed"]]
        act(obj, request.user, form.cleaned_data["words"])

    def construct_change_message(self, request: HttpRequest, form: Any, *args: Any) -> Any:
        label, _act = DEEDS[form.cleaned_data["deed"]]
        return str(label)

    @display(description=_("message"))  # type: ignore[untyped-decorator]
    def told_message(self, alert: Alert) -> str:
        return alert.told()

    @display(description=_("severity"), ordering="rank", label=SEVERITY_COLOURS)  # type: ignore[untyped-decorator]
    def shown_severity(self, alert: Alert) -> str:
        return alert.get_severity_display()

    @display(description=_("status"), ordering="status", label=STATUS_COLOURS)  # type: ignore[untyped-decorator]
    def shown_status(self, alert: Alert) -> str:
        return alert.get_status_display()

    @display(description=_("case"))  # type: ignore[untyped-decorator]
    def shown_case(self, alert: Alert) -> str:
        """By name only in the tenant whose it is: an event may name any case."""
        with acting(tenant_id=alert.tenant_id):
            case = cases.find_case(alert.case_id) if alert.case_id else None
        return str(case or alert.case_id or "–")

    @display(description=_("flapping"), boolean=True)  # type: ignore[untyped-decorator]
    def flaps(self, alert: Alert) -> bool:
        return alert.is_flapping

    @display(description=_("escalates"))  # type: ignore[untyped-decorator]
    def next_at(self, alert: Alert) -> Any:
        waiting = [e.due_at for e in alert.escalations.all() if e.state == "waiting"]
        return min(waiting, default=None)

    @display(description=_("what happens next"))  # type: ignore[untyped-decorator]
    def what_next(self, alert: Alert) -> str:
        stage = selectors.next_stage(alert)
        if stage is None:
            return gettext("Nothing: nobody else will be told.")
        return gettext("At %(when)s, unless somebody acknowledges: %(who)s by %(how)s.") % {
            "when": date_format(localtime(stage.due_at), "DATETIME_FORMAT"),
            "who": Audience(stage.audience).label,
            "how": ", ".join(stage.channels),
        }

    @admin.action(description=_("Acknowledge"), permissions=["change"])
    def acknowledge_chosen(self, request: HttpRequest, alerts: QuerySet[Alert]) -> None:
        self._settle_chosen(request, alerts, services.acknowledge)

    @admin.action(description=_("Dismiss: nothing to do"), permissions=["change"])
    def dismiss_chosen(self, request: HttpRequest, alerts: QuerySet[Alert]) -> None:
        self._settle_chosen(request, alerts, services.dismiss, false_positive=False)

    @admin.action(description=_("Dismiss as false positives"), permissions=["change"])
    def false_positive_chosen(self, request: HttpRequest, alerts: QuerySet[Alert]) -> None:
        self._settle_chosen(request, alerts, services.dismiss, false_positive=True)

    def _settle_chosen(
        self, request: HttpRequest, alerts: QuerySet[Alert], act: Any, **given: Any
    ) -> None:
        ids = alerts.order_by().values_list("pk", flat=True)
        outcome = services.settle_many(act, ids, by=request.user, **given)
        for alert in outcome.done:
            self.log_change(request, alert, alert.get_status_display())
        done = len(outcome.done)
        said = ngettext("%(done)d alert is done.", "%(done)d alerts are done.", done)
        messages.success(request, said % {"done": done})
        for reason in sorted({error.message for _pk, error in outcome.refused}):
            messages.warning(request, gettext(reason))
