"""Subscriptions in the console. Everything that changes goes through the services."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextareaWidget

from apps.accounts import selectors as accounts
from apps.watch import services
from apps.watch.models import Channel, Subscription
from apps.watch.rules import RuleRefused, parse
from apps.watch.severity import Severity
from axiom.console.admin import TenantAdmin
from axiom.console.groups import Group
from axiom.roles import ADMINS
from axiom.tenancy import current_tenant_id

_CHANGED = (
    "name", "user", "role", "event_types", "rule", "severity", "channels", "is_active",
    "mute_from", "mute_until",
)  # fmt: skip


class SubscriptionForm(forms.ModelForm):  # type: ignore[type-arg]
    """A rule is refused with the path and the reason."""

    event_types = forms.CharField(
        label=_("event types"),
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text=_("One per line; aliases are accepted. A sequence names its own."),
    )
    channels = forms.MultipleChoiceField(
        label=_("channels"),
        choices=Channel.choices,
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

    def clean_rule(self) -> Any:
        try:
            parse(self.cleaned_data["rule"])
        except RuleRefused as refused:
            raise forms.ValidationError(refused.message) from refused
        return self.cleaned_data["rule"]


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


@admin.register(Subscription)
class SubscriptionAdmin(TenantAdmin):
    """Who is told of what."""

    group, icon, position = Group.ALERTS, "notifications_active", 30
    may_add = may_change = may_delete = ADMINS

    form = SubscriptionForm
    list_display = ("name", "owner", "types", "shown_severity", "state", "created_at")
    list_filter = (InForce, "severity", "role")
    search_fields = ("name", "user__email", "user__name")
    list_select_related = ("user", "tenant")
    ordering = ("-created_at", "-id")
    fields = (*_CHANGED, "snoozed_until", "rule_since", "quarantined_at", "quarantine_reason")
    readonly_fields = ("snoozed_until", "rule_since", "quarantined_at", "quarantine_reason")
    actions = ("pause", "resume", "release")

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
            made = services.subscribe(created_by=request.user, **given)
        obj.__dict__.update(made.__dict__)

    def delete_model(self, request: HttpRequest, obj: Subscription) -> None:
        services.unsubscribe(subscription=obj)

    @admin.action(description=_("Pause"))
    def pause(self, request: HttpRequest, rows: QuerySet[Subscription]) -> None:
        self._each(request, rows.filter(is_active=True), is_active=False)

    @admin.action(description=_("Resume"))
    def resume(self, request: HttpRequest, rows: QuerySet[Subscription]) -> None:
        self._each(request, rows.filter(is_active=False), is_active=True)

    def _each(self, request: HttpRequest, rows: QuerySet[Subscription], **changes: Any) -> None:
        changed = [services.change_subscription(subscription=row, **changes) for row in rows]
        self._say(request, changed)

    @admin.action(description=_("Let them try again"))
    def release(self, request: HttpRequest, rows: QuerySet[Subscription]) -> None:
        waiting = rows.exclude(quarantined_at=None)
        self._say(request, [services.release_from_quarantine(subscription=row) for row in waiting])

    def _say(self, request: HttpRequest, changed: list[Subscription]) -> None:
        for row in changed:
            self.log_change(request, row, str(row))
        told = ngettext("%d subscription changed.", "%d subscriptions changed.", len(changed))
        self.message_user(request, told % len(changed), messages.SUCCESS)
