"""Notifications in the console: what was told and sent, where it goes, what people want."""

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.urls import URLPattern, path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget

from apps.accounts import selectors as accounts
from apps.events.context import current
from apps.notifications import services
from apps.notifications.models import (
    Delivery,
    DeliveryAttempt,
    Endpoint,
    Notification,
    Preference,
)
from apps.notifications.services.resend import DeliveryNotFailed
from apps.watch.selectors import Channel
from axiom.console.admin import NOBODY, ReadOnly, RoleTabularInline, TenantAdmin
from axiom.console.groups import Group
from axiom.permissions import role_of
from axiom.roles import ADMINS, OPERATORS, Role
from axiom.tenancy import current_tenant_id

STATE_COLOURS = {
    Delivery.State.SENT.label: "success",
    Delivery.State.FAILED.label: "danger",
    Delivery.State.SKIPPED.label: "warning",
    Delivery.State.WAITING.label: "info",
    Delivery.State.SENDING.label: "info",
}


class OneSeesOnesOwn:
    """What others were told is an admin's to look at."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)  # type: ignore[misc]
        mine = {"recipient_id": request.user.pk}
        return rows if role_of(request) == Role.ADMIN else rows.filter(**mine)


@admin.register(Notification)
class NotificationAdmin(OneSeesOnesOwn, ReadOnly, TenantAdmin):
    """What people found in their inboxes."""

    group, icon, position = Group.ALERTS, "inbox", 60
    list_display = ("title", "recipient", "severity", "kind", "created_at", "read_at")
    list_filter = ("severity", "kind", ("read_at", admin.EmptyFieldListFilter))
    search_fields = ("title", "recipient__email")
    list_select_related = ("recipient",)
    ordering = ("-created_at", "-id")
    show_full_result_count = False


class AttemptInline(RoleTabularInline):
    """Every try, the first first."""

    model = DeliveryAttempt
    fields = readonly_fields = ("began_at", "outcome", "said", "took")
    may_add = may_change = may_delete = NOBODY
    ordering = ("id",)
    verbose_name_plural = _("Attempts")
    hide_title = True

    @display(description=_("seconds"))  # type: ignore[untyped-decorator]
    def took(self, attempt: DeliveryAttempt) -> str:
        return f"{attempt.seconds:.2f}"


@admin.register(Delivery)
class DeliveryAdmin(OneSeesOnesOwn, ReadOnly, TenantAdmin):
    """What went out, how it went, and once more."""

    exclude = ("tenant", "claim_token")
    group, icon, position = Group.ALERTS, "outgoing_mail", 70
    list_display = (
        "about", "channel", "to", "shown_state", "reason", "attempts", "due_at", "settled_at",
    )  # fmt: skip
    list_filter = ("state", "channel", "reason", "severity")
    search_fields = ("recipient__email", "recipient__name", "endpoint__name")
    list_select_related = ("recipient", "endpoint", "alert")
    ordering = ("-created_at", "-id")
    served_filters = ("state__exact",)
    inlines = (AttemptInline,)
    actions = ("send_again",)

    def has_send_permission(self, request: HttpRequest) -> bool:
        return role_of(request) in OPERATORS

    def get_urls(self) -> list[URLPattern]:
        again = self.admin_site.admin_view(self.resend_view)
        name = "notifications_delivery_resend"
        return [path("<uuid:pk>/resend/", again, name=name), *super().get_urls()]

    def resend_view(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """Send one again, and go back to where one was."""
        row = self.get_object(request, str(pk))
        if row is None:
            raise Http404
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_send_permission(request) or current().tenant_id is None:
            raise PermissionDenied
        try:
            services.resend(delivery=row)
        except DeliveryNotFailed as error:
            messages.warning(request, gettext(error.message))
        else:
            self.log_change(request, row, gettext("Sent again"))
            messages.success(request, gettext("It is sent again."))
        return HttpResponseRedirect(_back(request, row))

    @display(description=_("subject"))  # type: ignore[untyped-decorator]
    def about(self, row: Delivery) -> str:
        if row.alert_id is None:
            return gettext("Digest")
        return row.alert.told() if row.alert else str(row.alert_id)

    @display(description=_("to"))  # type: ignore[untyped-decorator]
    def to(self, row: Delivery) -> str:
        return str(row.recipient or row.endpoint or "–")

    @display(description=_("state"), ordering="state", label=STATE_COLOURS)  # type: ignore[untyped-decorator]
    def shown_state(self, row: Delivery) -> str:
        return row.get_state_display()

    @admin.action(description=_("Send again"), permissions=["send"])
    def send_again(self, request: HttpRequest, rows: QuerySet[Delivery]) -> None:
        """Those that failed; the others are left as they are."""
        done = 0
        for row in rows:
            try:
                services.resend(delivery=row)
            except DeliveryNotFailed:
                continue
            self.log_change(request, row, gettext("Sent again"))
            done += 1
        told = ngettext("%d is sent again.", "%d are sent again.", done) % done
        self.message_user(request, told, messages.SUCCESS if done else messages.WARNING)


def _back(request: HttpRequest, row: Delivery) -> str:
    wanted = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure()):
        return wanted
    return reverse("admin:notifications_delivery_change", args=[row.pk])


class EndpointForm(forms.ModelForm):  # type: ignore[type-arg]
    """The address is written, never shown."""

    url = forms.URLField(
        label=_("address"),
        required=False,
        max_length=1000,
        assume_scheme="https",
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Leave it empty to keep what is there: it is not shown."),
    )

    class Meta:
        model = Endpoint
        fields = ("name", "kind", "user", "url", "is_active")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["url"] = ""
        if "user" in self.fields:
            people = accounts.members_of(current_tenant_id()).values("user_id")
            field: Any = self.fields["user"]
            field.queryset = field.queryset.filter(pk__in=people)

    def clean_url(self) -> str:
        return str(self.cleaned_data["url"] or self.instance.url)


@admin.register(Endpoint)
class EndpointAdmin(TenantAdmin):
    """Where Slack messages and webhooks go."""

    group, icon, position = Group.ALERTS, "webhook", 80
    may_view = may_add = may_change = may_delete = ADMINS
    form = EndpointForm
    list_display = ("name", "kind", "host", "user", "is_active", "paused_until")
    list_filter = ("kind", "is_active")
    list_select_related = ("user",)
    readonly_fields = ("paused_until", "old_secret_until", "created_at")
    ordering = ("name",)
    actions = ("rotate",)

    @display(description=_("host"))  # type: ignore[untyped-decorator]
    def host(self, row: Endpoint) -> str:
        return urlsplit(row.url).hostname or "–"

    def save_model(self, request: HttpRequest, obj: Endpoint, form: Any, change: bool) -> None:
        given = {name: form.cleaned_data[name] for name in form.Meta.fields}
        if change:
            services.change_endpoint(endpoint=obj, **given)
        else:
            obj.__dict__.update(services.add_endpoint(**given).__dict__)
            self._show_secret(request, obj)

    @admin.action(description=_("Give a new secret"), permissions=["change"])
    def rotate(self, request: HttpRequest, rows: QuerySet[Endpoint]) -> None:
        for row in rows:
            changed = services.rotate_secret(endpoint=row)
            self.log_change(request, changed, gettext("New secret"))
            self._show_secret(request, changed)

    def _show_secret(self, request: HttpRequest, row: Endpoint) -> None:
        if row.secret:
            told = gettext("The secret of %(name)s, shown this once: %(secret)s")
            self.message_user(request, told % {"name": row.name, "secret": row.secret})


def _chosen(label: Any) -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(
        label=label,
        required=False,
        choices=Channel.choices,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_("Nothing chosen: as each subscription says."),
    )


class PreferenceForm(forms.ModelForm):  # type: ignore[type-arg]
    low = _chosen(_("channels when LOW"))
    medium = _chosen(_("channels when MEDIUM"))
    high = _chosen(_("channels when HIGH"))
    critical = _chosen(_("channels when CRITICAL"))

    class Meta:
        model = Preference
        fields = (
            "user", "low", "medium", "high", "critical", "quiet_from", "quiet_until", "digest",
            "digest_time", "phone",
        )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "user" in self.fields:
            people = accounts.members_of(current_tenant_id()).values("user_id")
            field: Any = self.fields["user"]
            field.queryset = field.queryset.filter(pk__in=people)

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        for name in ("low", "medium", "high", "critical"):
            given[name] = given.get(name) or None
        return given


@admin.register(Preference)
class PreferenceAdmin(TenantAdmin):
    """How people want to be told. Everybody changes their own by the API."""

    group, icon, position = Group.ALERTS, "tune", 90
    may_view = may_add = may_change = may_delete = ADMINS
    form = PreferenceForm
    list_display = ("user", "quiet_from", "quiet_until", "digest", "phone")
    list_filter = ("digest",)
    search_fields = ("user__email", "user__name")
    list_select_related = ("user",)
    ordering = ("user__email",)

    def save_model(self, request: HttpRequest, obj: Preference, form: Any, change: bool) -> None:
        given = {name: form.cleaned_data[name] for name in form.Meta.fields}
        user = given.pop("user")
        obj.__dict__.update(services.save_preference(user_id=user.pk, **given).__dict__)
