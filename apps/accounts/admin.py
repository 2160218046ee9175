"""People in the console. Everything that changes goes through the services."""

from typing import Any

from axes.models import AccessAttempt
from axes.utils import reset
from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminSelectWidget

from apps.accounts import services
from apps.accounts.models import LoginSession, Membership, Tenant, User
from apps.events.context import current
from axiom.console.admin import NOBODY, ReadOnly, RoleAdmin, RoleTabularInline
from axiom.console.groups import Group
from axiom.permissions import runs_the_platform
from axiom.roles import ADMINS, Role


class OfTheTenant(RoleAdmin):
    """Rows that reach the tenant one acts for by this path; all of them for the platform."""

    tenant_path = "tenant"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        tenant_id = current().tenant_id
        if tenant_id is not None:
            return rows.filter(**{self.tenant_path: tenant_id})
        return rows if runs_the_platform(request) else rows.none()


class ChangedByThePlatform:
    """Changed only by those who run the platform, and never deleted: history points to it."""

    may_delete = NOBODY

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return runs_the_platform(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return runs_the_platform(request)


class InvitationForm(forms.ModelForm):
    """Whom to let in, and as what. Who is new gets a mail to choose a password."""

    email = forms.EmailField(label=_("email"), widget=UnfoldAdminEmailInputWidget)

    class Meta:
        model = Membership
        fields = ("role",)
        widgets = {"role": UnfoldAdminSelectWidget}


@admin.register(Membership)
class MembershipAdmin(OfTheTenant):
    """The people of a tenant and their roles."""

    group, icon, position = Group.PEOPLE, "group", 10
    may_add = may_change = may_delete = ADMINS
    counts_on_start_page = True

    list_display = ("person", "email", "shown_role", "is_active", "created_at")
    list_filter = ("role",)
    search_fields = ("user__email", "user__name")
    list_select_related = ("user", "tenant")
    ordering, sorts_while_short = ("user__name", "user__email"), True
    fields = ("role",)
    actions = None

    @display(description=_("user"), ordering="user__name")
    def person(self, membership: Membership) -> str:
        return str(membership.user)

    @display(description=_("email"), ordering="user__email")
    def email(self, membership: Membership) -> str:
        return membership.user.email

    @display(description=_("role"), ordering="role", label={Role.ADMIN.label: "primary"})
    def shown_role(self, membership: Membership) -> str:
        return membership.get_role_display()

    @display(description=_("active"), boolean=True)
    def is_active(self, membership: Membership) -> bool:
        return membership.user.is_active

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Nobody is invited into "all tenants".
        return current().tenant_id is not None and super().has_add_permission(request, obj)

    def get_fields(self, request: HttpRequest, obj: Membership | None = None) -> list[str]:
        return ["user", "tenant", "role"] if obj else ["email", "role"]

    def get_readonly_fields(self, request: HttpRequest, obj: Membership | None = None) -> list[str]:
        return ["user", "tenant"] if obj else []

    def get_form(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        if obj is None:
            return InvitationForm
        return super().get_form(request, obj, **kwargs)

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:
        if change:
            # The form wrote the new role into `obj`; the service has to see the old one.
            services.change_role(membership=Membership.objects.get(pk=obj.pk), role=obj.role)
            return
        tenant = Tenant.objects.get(pk=str(current().tenant_id))
        email = form.cleaned_data["email"]
        made = services.invite(tenant=tenant, email=email, role=form.cleaned_data["role"])
        # What the admin logs and links to is the membership that the service made.
        obj.__dict__.update(made.__dict__)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Logins go with their membership; nobody deletes them otherwise."""
        rows, counts, _forbidden, protected = super().get_deleted_objects(objs, request)
        return rows, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        services.remove_member(membership=obj)


class MembershipInline(RoleTabularInline):
    """Where somebody belongs, to see; it is changed in the list of members."""

    model = Membership
    fields = readonly_fields = ("tenant", "role", "created_at")
    may_add = may_change = may_delete = NOBODY
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        rows = super().get_queryset(request)
        here = current().tenant_id
        return rows if runs_the_platform(request) else rows.filter(tenant=here)


@admin.register(User)
class PersonAdmin(ChangedByThePlatform, OfTheTenant, DjangoUserAdmin):
    """Every person with an account. A tenant's admin sees its own and manages memberships."""

    group, icon, position = Group.PEOPLE, "person", 20
    may_view = ADMINS
    tenant_path = "memberships__tenant"

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    list_display = ("name", "email", "language", "timezone", "is_staff", "is_active")
    list_filter = ("is_active", "is_staff", "language")
    search_fields = ("email", "name")
    ordering, sorts_while_short = ("name", "email"), True
    filter_horizontal = ()
    readonly_fields = ("last_login", "created_at")
    fieldsets = (
        (None, {"fields": ("email", "password", "name", "language", "timezone")}),
        (_("Access"), {"fields": ("is_active", "is_staff", "is_superuser")}),
        (_("History"), {"fields": ("last_login", "created_at")}),
    )
    add_fieldsets = (
        (
            None,
            {"fields": ("email", "name", "language", "usable_password", "password1", "password2")},
        ),
    )

    def get_inlines(self, request: HttpRequest, obj: User | None) -> tuple[Any, ...]:
        return (MembershipInline,) if obj else ()

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if "is_active" in form.changed_data and not obj.is_active:
            services.deactivate_user(user=obj)


@admin.register(Tenant)
class CompanyAdmin(ChangedByThePlatform, OfTheTenant):
    """The tenants themselves."""

    group, icon, position = Group.PEOPLE, "domain", 40
    may_view = ADMINS
    tenant_path = "pk"

    list_display = ("name", "slug", "members", "is_active", "created_at")
    list_filter = ("is_active",)
    search_fields = ("name", "slug")
    ordering = ("name",)
    fields = ("name", "slug", "timezone", "is_active", "created_at")
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tenant]:
        return super().get_queryset(request).annotate(people=Count("memberships"))

    @display(description=_("people"), ordering="people")
    def members(self, tenant: Any) -> int:
        return int(tenant.people)

    def get_readonly_fields(self, request: HttpRequest, obj: Tenant | None = None) -> list[str]:
        # The short name is in the addresses that people keep.
        return ["slug", "created_at"] if obj else ["is_active", "created_at"]

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:
        if not change:
            made = services.create_tenant(name=obj.name, slug=obj.slug, timezone=obj.timezone)
            obj.__dict__.update(made.__dict__)
            return
        super().save_model(request, obj, form, change)
        if "is_active" in form.changed_data and not obj.is_active:
            services.end_logins(LoginSession.objects.filter(membership__tenant=obj))


@admin.register(LoginSession)
class LoginAdmin(ReadOnly, OfTheTenant):
    """Who is logged in, from where; and the way to end it."""

    group, icon, position = Group.PEOPLE, "key", 30
    may_view = ADMINS
    tenant_path = "membership__tenant"

    list_display = ("user", "kind", "ip", "last_seen_at", "created_at", "is_open")
    list_filter = ("kind", ("revoked_at", admin.EmptyFieldListFilter))
    search_fields = ("user__email", "user__name", "ip")
    list_select_related = ("user",)
    ordering, sorts_while_short = ("-last_seen_at",), True
    newest_by = "expires_at"
    exclude = ("password_stamp",)
    actions = ("end",)

    @display(description=_("open"), boolean=True)
    def is_open(self, login: LoginSession) -> bool:
        return login.revoked_at is None and login.expires_at > timezone.now()

    @admin.action(description=_("End these logins"), permissions=["view"])
    def end(self, request: HttpRequest, logins: QuerySet[LoginSession]) -> None:
        for login in logins.filter(revoked_at=None):
            self.log_change(request, login, "ended")
        count = services.end_logins(logins)
        said = ngettext("%(count)d login was ended.", "%(count)d logins were ended.", count)
        self.message_user(request, said % {"count": count}, messages.SUCCESS)


@admin.register(AccessAttempt)
class LockoutAdmin(ReadOnly, RoleAdmin):
    """Failed logins, and the way to let somebody try again before the time is up."""

    group, icon, position = Group.PEOPLE, "lock_person", 35

    list_display = ("username", "ip_address", "failures_since_start", "attempt_time")
    search_fields = ("username", "ip_address")
    ordering = ("-id",)
    fields = readonly_fields = (
        "username", "ip_address", "user_agent", "path_info",
        "failures_since_start", "attempt_time",
    )  # fmt: skip
    actions = ("let_them_try_again",)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Names that were tried belong to no tenant.
        return runs_the_platform(request)

    @admin.action(description=_("Let them try again"), permissions=["view"])
    def let_them_try_again(self, request: HttpRequest, tried: QuerySet[AccessAttempt]) -> None:
        attempts = list(tried)
        for attempt in attempts:
            self.log_change(request, attempt, "unlocked")
            reset(username=attempt.username, ip=attempt.ip_address)
        count = len(attempts)
        said = ngettext("%(count)d lock was lifted.", "%(count)d locks were lifted.", count)
        self.message_user(request, said % {"count": count}, messages.SUCCESS)
