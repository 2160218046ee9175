"""Subscriptions in the console. Everything that changes goes through the services."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms.widgets import Script
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextareaWidget

from apps.accounts import selectors as accounts
from apps.events.context import current
from apps.watch import services
from apps.watch.models import Channel, Subscription
from apps.watch.models.subscriptions import only_in_app
from apps.watch.services.preview_rule import EVENT_TYPES, preview_rule
from apps.watch.severity import Severity
from axiom.console.admin import TenantAdmin
from axiom.console.groups import Group
from axiom.permissions import may
from axiom.roles import ADMINS, OPERATORS
from axiom.tenancy import current_tenant_id

from . import rule_form

_CHANGED = (
    "name", "user", "role", "event_types", "rule", "severity", "channels", "is_active",
    "mute_from", "mute_until",
)  # fmt: skip


class SubscriptionForm(forms.ModelForm):  # type: ignore[type-arg]
    """A rule is refused with the path and the reason."""

    event_types = forms.CharField(
        label=capfirst(_("event types")),
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text=_("What it looks at. A sequence or an absence names its own events."),
    )
    rule = forms.JSONField(label=capfirst(_("rule")), widget=rule_form.RuleWidget)
    channels = forms.MultipleChoiceField(
        label=capfirst(_("channels")),
        choices=Channel.choices,
        initial=only_in_app,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )

    class Meta:
        model = Subscription
        fields = _CHANGED

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.event_types:
            self.initial["event_types"] = "\n".join(self.instance.event_types)
        if "user" in self.fields:
            people = accounts.members_of(current_tenant_id()).values("user_id")
            field: Any = self.fields["user"]
            field.queryset = field.queryset.filter(pk__in=people)

    def clean_event_types(self) -> list[str]:
        return str(self.cleaned_data["event_types"]).replace(",", " ").split()

    def clean(self) -> dict[str, Any]:
        """Refused here and not while it is saved: what was written stays in the form."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if "rule" in given and "event_types" in given:
            found = preview_rule(rule=given["rule"], event_types=given["event_types"])
            for fault in found.errors:
                of_types = fault["pointer"] == EVENT_TYPES
                said = fault["detail"] if of_types else f"{fault['pointer']}: {fault['detail']}"
                self.add_error("event_types" if of_types else "rule", said)
        return given


class InForce(admin.SimpleListFilter):
    """Is it working? The operator's first question."""

    title, parameter_name = _("state"), "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("in_force", _("In force")),
            ("paused", _("Paused")),
            ("quarantined", _("In quarantine")),
            ("snoozed", _("Snoozed")),
        ]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        chosen: dict[str, dict[str, Any]] = {
            "in_force": {"is_active": True, "quarantined_at": None},
            "paused": {"is_active": False},
            "quarantined": {"quarantined_at__isnull": False},
            "snoozed": {"snoozed_until__gt": timezone.now()},
        }
        return rows.filter(**chosen.get(self.value() or "", {}))


def _may_try(request: HttpRequest) -> bool:
    """Rules are tried on the events of a tenant, by those who act in it."""
    return current().tenant_id is not None and may(request, OPERATORS)


@admin.register(Subscription)
class SubscriptionAdmin(TenantAdmin):
    """Who is told of what. Admins see to everybody's; others, viewers excepted, to their own."""

    group, icon, position = Group.ALERTS, "notifications_active", 30
    may_add = may_change = may_delete = OPERATORS

    form = SubscriptionForm
    list_display = ("name", "owner", "types", "shown_severity", "state", "created_at")
    list_filter = (InForce, "severity", "role")
    search_fields = ("name", "user__email", "user__name")
    list_select_related = ("user", "tenant")
    ordering = ("-created_at", "-id")
    readonly_fields = ("snoozed_until", "rule_since", "quarantined_at", "quarantine_reason")
    actions = ("pause", "resume", "release")
    when_empty = _("No subscription here. Make one: say what to look for and whom to tell.")

    class Media:
        js = (Script("axiom/rule-builder.js", type="module"),)

    def get_urls(self) -> list[URLPattern]:
        """What the form asks: anybody who looks may read a rule, operators may try one."""
        ask = self.admin_site.admin_view
        return [
            path("preview/", ask(self.preview_view), name="watch_subscription_preview"),
            path("try/", ask(self.try_view), name="watch_subscription_try"),
            *super().get_urls(),
        ]

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return rule_form.preview(request)

    def try_view(self, request: HttpRequest) -> HttpResponse:
        if not _may_try(request):
            raise PermissionDenied
        return rule_form.trial(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_theirs(request, obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_theirs(request, obj) and super().has_delete_permission(request, obj)

    def _is_theirs(self, request: HttpRequest, obj: Subscription | None) -> bool:
        return obj is None or may(request, ADMINS) or obj.user_id == request.user.pk

    def get_fields(self, request: HttpRequest, obj: Subscription | None = None) -> list[str]:
        """Who may not change a rule reads it; who is no admin subscribes for themselves."""
        written = list(_CHANGED)
        if obj and not self.has_change_permission(request, obj):
            written[written.index("rule")] = "rule_to_try" if _may_try(request) else "rule_in_words"
        elif not may(request, ADMINS):
            written = [name for name in written if name not in ("user", "role")]
        return [*written, *(self.readonly_fields if obj else ())]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [*self.readonly_fields, "rule_in_words", "rule_to_try"]

    @display(description=_("rule"))  # type: ignore[untyped-decorator]
    def rule_in_words(self, row: Subscription) -> SafeString:
        return rule_form.shown(row.rule, row.event_types, may_try=False)

    @display(description=_("rule"))  # type: ignore[untyped-decorator]
    def rule_to_try(self, row: Subscription) -> SafeString:
        return rule_form.shown(row.rule, row.event_types, may_try=True)

    @display(description=_("owner"))  # type: ignore[untyped-decorator]
    def owner(self, row: Subscription) -> str:
        return str(row.user) if row.user else row.get_role_display()

    @display(description=_("event types"))  # type: ignore[untyped-decorator]
    def types(self, row: Subscription) -> str:
        return ", ".join(row.event_types[:3]) + ("…" if len(row.event_types) > 3 else "")

    @display(  # type: ignore[untyped-decorator]
        description=_("severity"),
        ordering="severity",
        label={Severity.CRITICAL.label: "danger", Severity.HIGH.label: "warning"},
    )
    def shown_severity(self, row: Subscription) -> str:
        return row.get_severity_display()

    @display(description=_("state"))  # type: ignore[untyped-decorator]
    def state(self, row: Subscription) -> Any:
        if row.quarantined_at:
            return _("In quarantine")
        if not row.is_active:
            return _("Paused")
        return _("Snoozed") if row.is_snoozed(timezone.now()) else _("In force")

    def save_model(self, request: HttpRequest, obj: Subscription, form: Any, change: bool) -> None:
        given = {name: form.cleaned_data[name] for name in _CHANGED if name in form.cleaned_data}
        if change:
            # The form wrote into `obj`; the service has to see what was there before.
            row = Subscription.objects.get(pk=obj.pk)
            made = services.change_subscription(subscription=row, **given)
        else:
            made = services.subscribe(created_by=request.user, **self._owner(request) | given)
        obj.__dict__.update(made.__dict__)

    def _owner(self, request: HttpRequest) -> dict[str, Any]:
        """Whose it is unless the form says otherwise, which it does for admins only."""
        return {"user": request.user, "role": ""}

    def delete_model(self, request: HttpRequest, obj: Subscription) -> None:
        services.unsubscribe(subscription=obj)

    @admin.action(description=_("Pause"), permissions=["change"])
    def pause(self, request: HttpRequest, rows: QuerySet[Subscription]) -> None:
        self._each(request, rows.filter(is_active=True), is_active=False)

    @admin.action(description=_("Resume"), permissions=["change"])
    def resume(self, request: HttpRequest, rows: QuerySet[Subscription]) -> None:
        self._each(request, rows.filter(is_active=False), is_active=True)

    def _each(self, request: HttpRequest, rows: QuerySet[Subscription], **changes: Any) -> None:
        theirs = [row for row in rows if self._is_theirs(request, row)]
        changed = [services.change_subscription(subscription=row, **changes) for row in theirs]
        self._say(request, changed)

    @admin.action(description=_("Let them try again"), permissions=["change"])
    def release(self, request: HttpRequest, rows: QuerySet[Subscription]) -> None:
        waiting = [r for r in rows.exclude(quarantined_at=None) if self._is_theirs(request, r)]
        self._say(request, [services.release_from_quarantine(subscription=row) for row in waiting])

    def _say(self, request: HttpRequest, changed: list[Subscription]) -> None:
        for row in changed:
            self.log_change(request, row, str(row))
        told = ngettext("%d subscription changed.", "%d subscriptions changed.", len(changed))
        self.message_user(request, told % len(changed), messages.SUCCESS)
