"""Alerts in the console: look, understand, and do something about them."""

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.db.models import Count, Prefetch, QuerySet
from django.forms.widgets import Script
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from apps.events.context import acting
from apps.watch import selectors, services
from apps.watch.models import Alert, Audience, Escalation
from apps.watch.severity import Severity
from axiom.console.admin import NOBODY, TenantAdmin
from axiom.console.groups import Group
from axiom.console.saved_views import WithSavedViews

from . import alert_page, inbox
from .deeds import DEEDS, DeedForm, DismissForm, ResolveForm

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
MOST_AT_ONCE = 500
MOST_NAMED = 10


@admin.register(Alert)
class AlertAdmin(WithSavedViews, TenantAdmin):
    """What people have to know. Nobody writes alerts by hand; what is done about them is."""

    exclude = ("tenant", "idempotency_key", "rank")  # and what is Axiom's own bookkeeping
    group, icon, position = Group.ALERTS, "notifications_active", 10
    may_add = may_delete = NOBODY
    form = DeedForm
    change_form_template = "watch/alert.html"
    warn_unsaved_form = False

    built_in_views = inbox.VIEWS
    when_empty = _("No alert here. Alerts come of subscriptions: make one, and try it first.")
    list_display = (
        "__str__", "shown_severity", "shown_status", "acknowledged_by", "detected_at", "count",
        "next_at",
    )  # fmt: skip
    list_filter = (inbox.Shown, "status", "severity", inbox.Since)
    list_select_related = ("acknowledged_by",)
    search_fields = ("message", "aggregate_id", "event_type")
    ordering = ("-detected_at", "-id")
    served_filters = ("status__exact", "since")
    actions = ("acknowledge_chosen", "dismiss_chosen", "resolve_chosen")

    class Media:
        js = (Script("axiom/alerts.js", type="module"),)

    def get_urls(self) -> list[URLPattern]:
        why = self.admin_site.admin_view(self.why_view)
        pattern = "<uuid:pk>/why/<uuid:subscription_id>/"
        return [path(pattern, why, name="watch_alert_why"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Alert]:
        # Across tenants too, for who runs the platform; the alerts themselves are chosen above.
        levels = Prefetch("escalations", Escalation.across_tenants.all())
        return super().get_queryset(request).prefetch_related(levels)

    def get_fields(self, request: HttpRequest, obj: Alert | None = None) -> list[str]:
        return ["deed", "words"] if obj and self.has_change_permission(request, obj) else []

    def has_change_permission(self, request: HttpRequest, obj: Alert | None = None) -> bool:
        allowed: bool = super().has_change_permission(request, obj)
        return allowed and (obj is None or obj.is_open)

    # The page of one alert

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:  # fmt: skip
        alert, page = self.get_object(request, unquote(object_id)), {}
        if alert and self.has_view_permission(request, alert):
            may_act = self.has_change_permission(request, alert)
            page = alert_page.told(request, alert, may_act=may_act)
            page |= {"title": gettext("Alert"), "what_next": self.what_next(alert)}
        answer: HttpResponse
        answer = super().change_view(request, object_id, form_url, (extra_context or {}) | page)
        return answer

    def why_view(self, request: HttpRequest, pk: UUID, subscription_id: UUID) -> HttpResponse:
        """A part of the page: why a rule over many events fired."""
        alert = self.get_object(request, str(pk))
        if alert is None or not self.has_view_permission(request, alert):
            raise Http404
        watchers = selectors.watching(alert.pk).filter(subscription_id=subscription_id)
        watcher = watchers.first()
        if watcher is None:
            raise Http404
        with acting(tenant_id=alert.tenant_id):
            why = alert_page.why(alert, watcher.subscription, muted=watcher.muted, now=True)
        return render(request, "watch/why.html", {"each": why})

    def save_model(self, request: HttpRequest, obj: Alert, form: Any, change: bool) -> None:
        deed = DEEDS[form.cleaned_data["deed"]]
        deed.act(obj, request.user, form.cleaned_data["words"])

    def construct_change_message(self, request: HttpRequest, form: Any, *args: Any) -> Any:
        return str(DEEDS[form.cleaned_data["deed"]].label)

    def response_change(self, request: HttpRequest, obj: Alert) -> HttpResponse:
        """Stay on the page: what was done is in its history."""
        label = DEEDS[request.POST["deed"]].label
        self.message_user(request, gettext("Done: %s") % label, messages.SUCCESS)
        return HttpResponseRedirect(request.get_full_path())

    # The list

    @display(description=_("severity"), ordering="rank", label=SEVERITY_COLOURS)  # type: ignore[untyped-decorator]
    def shown_severity(self, alert: Alert) -> str:
        return alert.get_severity_display()

    @display(description=_("status"), ordering="status", label=STATUS_COLOURS)  # type: ignore[untyped-decorator]
    def shown_status(self, alert: Alert) -> str:
        return alert.get_status_display()

    @display(description=_("escalates"))  # type: ignore[untyped-decorator]
    def next_at(self, alert: Alert) -> Any:
        waiting = [e.due_at for e in alert.escalations.all() if e.state == "waiting"]
        return min(waiting, default=None)

    def what_next(self, alert: Alert) -> str:
        stage = selectors.next_stage(alert)
        if stage is None:
            return gettext("Nothing: nobody else will be told.")
        return gettext("At %(when)s, unless somebody acknowledges: %(who)s by %(how)s.") % {
            "when": date_format(localtime(stage.due_at), "DATETIME_FORMAT"),
            "who": Audience(stage.audience).label,
            "how": alert_page.channels(stage.channels),
        }

    # Many at once

    @admin.action(description=_("Acknowledge"), permissions=["change"])
    def acknowledge_chosen(self, request: HttpRequest, alerts: QuerySet[Alert]) -> None:
        if ids := self._ids(request, alerts):
            self._settle(request, services.acknowledge, ids)

    @admin.action(description=_("Dismiss…"), permissions=["change"])
    def dismiss_chosen(self, request: HttpRequest, alerts: QuerySet[Alert]) -> HttpResponse | None:
        return self._confirmed(
            request, alerts, services.dismiss, DismissForm, "dismiss_chosen", _("Dismiss")
        )

    @admin.action(description=_("Resolve…"), permissions=["change"])
    def resolve_chosen(self, request: HttpRequest, alerts: QuerySet[Alert]) -> HttpResponse | None:
        return self._confirmed(
            request, alerts, services.resolve, ResolveForm, "resolve_chosen", _("Resolve")
        )

    def _confirmed(
        self, request: HttpRequest, alerts: QuerySet[Alert], act: Any, form_class: Any, name: str,
        label: Any,
    ) -> HttpResponse | None:  # fmt: skip
        """Ask first, with how many and which; then act on exactly those."""
        ids = self._ids(request, alerts)
        form = form_class(request.POST if "confirmed" in request.POST else None)
        if not ids or form.is_valid():
            self._settle(request, act, ids, **form.given()) if ids else None
            return None
        context = {
            **self.admin_site.each_context(request), **_size(ids), "title": label, "form": form,
            "action": name, "label": label, "opts": self.opts, "chosen": ACTION_CHECKBOX_NAME,
        }  # fmt: skip
        return TemplateResponse(request, "watch/settle_chosen.html", context)

    def _ids(self, request: HttpRequest, alerts: QuerySet[Alert]) -> list[UUID]:
        """Which were chosen; none, with the reason, when they are too many for one act."""
        ids = list(alerts.order_by().values_list("pk", flat=True)[: MOST_AT_ONCE + 1])
        if len(ids) > MOST_AT_ONCE:
            told = gettext("At most %d alerts at once: choose fewer, or narrow the list.")
            messages.error(request, told % MOST_AT_ONCE)
            return []
        return ids

    def _settle(self, request: HttpRequest, act: Any, ids: list[UUID], **given: Any) -> None:
        outcome = services.settle_many(act, ids, by=request.user, **given)
        for alert in outcome.done:
            self.log_change(request, alert, alert.get_status_display())
        done = len(outcome.done)
        said = ngettext("%(done)d alert is done.", "%(done)d alerts are done.", done)
        messages.success(request, said % {"done": done})
        for reason in sorted({error.message for _pk, error in outcome.refused}):
            messages.warning(request, gettext(reason))


def _size(ids: list[UUID]) -> dict[str, Any]:
    """How many, how grave, and whose escalation ends with it."""
    rows = Alert.objects.filter(pk__in=ids)
    counts = dict(rows.order_by().values_list("severity").annotate(Count("pk")))
    gravest = sorted(Severity, key=lambda each: -each.rank)
    return {
        "ids": ids,
        "count": len(ids),
        "by_severity": [(each.label, counts[each]) for each in gravest if each in counts],
        "named": list(rows.order_by("-rank", "-id")[:MOST_NAMED]),
        "more": max(0, len(ids) - MOST_NAMED),
        "escalating": Escalation.objects.filter(
            alert__in=ids, state=Escalation.State.WAITING
        ).count(),
    }
