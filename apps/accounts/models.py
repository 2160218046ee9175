"""Tenants, the people in them, and what they may do."""

import uuid
import zoneinfo
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from axiom.roles import Role

__all__ = ["LoginSession", "Membership", "Role", "Tenant", "User"]


def a_time_zone(name: str) -> None:
    if name not in zoneinfo.available_timezones():
        raise ValidationError(_("No time zone is called that."), code="unknown")


class Tenant(models.Model):
    """A company whose data nobody else sees."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(_("name"), max_length=200)
    slug = models.SlugField(_("short name"), unique=True)
    timezone = models.CharField(
        _("time zone"),
        max_length=64,
        default="UTC",
        validators=[a_time_zone],
        help_text=_("Where its days begin: deadlines are counted in it."),
    )
    is_active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("tenant")
        verbose_name_plural = _("tenants")

    def __str__(self) -> str:
        return self.name


def _spelled(email: str) -> str:
    """The one way an email address is written here: people type it in any case."""
    return email.strip().lower()


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=email, **fields)
        user.set_password(password)
        user.save()
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email=_spelled(username or ""))


class User(AbstractBaseUser, PermissionsMixin):
    """A person, known by email; what they may do is said by their memberships."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(_("email"), unique=True)
    name = models.CharField(_("name"), max_length=150, blank=True)
    language = models.CharField(_("language"), max_length=5, default="en")
    timezone = models.CharField(_("time zone"), max_length=64, default="UTC")
    is_staff = models.BooleanField(_("may use the console"), default=False)
    is_active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    objects = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        constraints = [
            models.UniqueConstraint(Lower("email"), name="user_email_unique_whatever_the_case"),
        ]

    def __str__(self) -> str:
        return self.name or self.email

    def get_full_name(self) -> str:
        """What the console calls people by."""
        return str(self)

    def clean(self) -> None:
        self.email = _spelled(self.email)

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.email = _spelled(self.email)
        super().save(*args, **kwargs)


class Membership(models.Model):
    """What a person may do in a tenant."""

    tenant = models.ForeignKey(
        Tenant, on_delete=models.CASCADE, related_name="memberships", verbose_name=_("tenant")
    )
    user = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="memberships", verbose_name=_("user")
    )
    role = models.CharField(_("role"), max_length=20, choices=Role.choices)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="one_membership_per_tenant"),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="membership_role_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.role}"


class LoginSession(models.Model):
    """One login: a family of tokens or a browser's session. Ending it ends all of them at once."""

    class Kind(models.TextChoices):
        TOKEN = "token", _("Token")
        BROWSER = "browser", _("Browser")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="logins", verbose_name=_("user")
    )
    # With the membership goes the login. None: someone of the console who is in no tenant.
    membership = models.ForeignKey(
        Membership,
        null=True,
        on_delete=models.CASCADE,
        related_name="logins",
        verbose_name=_("membership"),
    )
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    # Tokens end when the password changes, however it is changed. Sessions have Django's own.
    password_stamp = models.CharField(max_length=64)
    user_agent = models.CharField(_("client"), max_length=300, blank=True)
    ip = models.GenericIPAddressField(_("address"), null=True)
    created_at = models.DateTimeField(_("created"))
    last_seen_at = models.DateTimeField(_("last seen"))
    expires_at = models.DateTimeField(_("expires"))
    revoked_at = models.DateTimeField(_("ended"), null=True)

    class Meta:
        verbose_name = _("login")
        verbose_name_plural = _("logins")
        indexes = [
            # Read by a person's list of logins and by "log out everywhere".
            models.Index(
                fields=["user", "-created_at"],
                condition=models.Q(revoked_at=None),
                name="login_open_by_user",
            ),
            # Read by the daily purge.
            models.Index(fields=["expires_at"], name="login_expiry"),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.user_agent[:40]}"

    @property
    def tenant(self) -> Tenant | None:
        return self.membership.tenant if self.membership else None

    @property
    def tenant_id(self) -> uuid.UUID | None:
        return self.membership.tenant_id if self.membership else None

    @property
    def role(self) -> str | None:
        return self.membership.role if self.membership else None
