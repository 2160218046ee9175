"""Who wants to hear of what, and when not."""

import zoneinfo
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.events.ids import uuid7
from apps.watch.severity import Severity
from axiom.roles import Role
from axiom.tenancy import TenantOwned


class Channel(models.TextChoices):
    """How people are told."""

    IN_APP = "in_app", _("In the app")
    EMAIL = "email", _("Email")
    SMS = "sms", _("Text message")
    SLACK = "slack", _("Slack")
    WEBHOOK = "webhook", _("Webhook")


def only_in_app() -> list[str]:
    return [Channel.IN_APP.value]


class Subscription(TenantOwned):
    """Somebody's wish to be told when a rule matches."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=200)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        verbose_name=_("person"),
        help_text=_("Who is told. Or choose a role."),
    )
    role = models.CharField(
        _("role"),
        max_length=20,
        choices=Role.choices,
        blank=True,
        help_text=_("Everybody in this role is told."),
    )
    event_types = ArrayField(models.CharField(max_length=100), verbose_name=_("event types"))
    rule = models.JSONField(_("rule"))
    severity = models.CharField(
        _("severity"), max_length=10, choices=Severity.choices, default=Severity.MEDIUM
    )
    channels = ArrayField(
        models.CharField(max_length=10, choices=Channel.choices),
        verbose_name=_("channels"),
        default=only_in_app,
    )
    is_active = models.BooleanField(_("active"), default=True)
    mute_from = models.TimeField(_("quiet from"), null=True, blank=True)
    mute_until = models.TimeField(_("quiet until"), null=True, blank=True)
    snoozed_until = models.DateTimeField(_("snoozed until"), null=True, blank=True)
    # What happened earlier is not held against this rule: it was not there yet.
    rule_since = models.DateTimeField(_("rule since"), default=timezone.now, editable=False)
    # Counts changes of what is watched. Windows of an older revision are never looked at.
    revision = models.PositiveIntegerField(_("revision"), default=1, editable=False)
    rebuild_due = models.BooleanField(_("windows to be rebuilt"), default=False, editable=False)
    quarantined_at = models.DateTimeField(_("in quarantine since"), null=True, editable=False)
    quarantine_reason = models.TextField(_("why in quarantine"), blank=True, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("made by"),
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("subscription")
        verbose_name_plural = _("subscriptions")
        base_manager_name = "across_tenants"
        constraints = [
            models.CheckConstraint(
                condition=Q(user=None) & ~Q(role="") | Q(user__isnull=False, role=""),
                name="subscription_of_person_or_role",
                violation_error_message=_("Choose either a person or a role."),
            ),
            models.CheckConstraint(
                condition=Q(mute_from=None, mute_until=None)
                | Q(mute_from__isnull=False, mute_until__isnull=False)
                & ~Q(mute_from=models.F("mute_until")),
                name="subscription_mute_has_an_end",
                violation_error_message=_("Quiet hours need a beginning and another end."),
            ),
            models.CheckConstraint(
                condition=Q(event_types__len__gt=0),
                name="subscription_watches_something",
                violation_error_message=_("Choose at least one event type."),
            ),
            models.CheckConstraint(
                condition=Q(severity__in=Severity.values), name="subscription_severity_known"
            ),
        ]
        indexes = [
            # Read by the rule index when a tenant's rules changed.
            models.Index(
                fields=["tenant"],
                condition=Q(is_active=True, quarantined_at=None),
                name="subscription_in_force",
            ),
            # Read by the lists, newest first.
            models.Index(fields=["tenant", "-created_at", "-id"], name="subscription_newest"),
            models.Index(fields=["user", "-created_at"], name="subscription_of_person"),
            # Read by the scan for windows that have to be rebuilt.
            models.Index(
                fields=["id"], condition=Q(rebuild_due=True), name="subscription_rebuild_due"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def in_force(self) -> bool:
        return self.is_active and self.quarantined_at is None

    @property
    def zone(self) -> zoneinfo.ZoneInfo:
        """Where its quiet hours are: its owner's place, or the tenant's for a role."""
        name = self.user.timezone if self.user else self.tenant.timezone
        return zoneinfo.ZoneInfo(name)

    def is_quiet(self, moment: datetime) -> bool:
        """Whether this moment lies in the daily quiet hours, which may span midnight."""
        if self.mute_from is None or self.mute_until is None:
            return False
        clock = moment.astimezone(self.zone).time()
        if self.mute_from < self.mute_until:
            return self.mute_from <= clock < self.mute_until
        return clock >= self.mute_from or clock < self.mute_until

    def is_snoozed(self, moment: datetime) -> bool:
        return self.snoozed_until is not None and moment < self.snoozed_until

    def is_muted(self, moment: datetime, severity: str) -> bool:
        """Whether its owner is not to be told now. What is critical breaks through quiet hours."""
        if self.is_snoozed(moment):
            return True
        return severity != Severity.CRITICAL and self.is_quiet(moment)

    def clean(self) -> None:
        self.event_types = sorted(set(self.event_types or []))
        _refuse_unknown(self.channels)


def _refuse_unknown(channels: Any) -> None:
    if set(channels) - set(Channel.values):
        raise ValidationError({"channels": _("No channel is called that.")}, code="unknown")


class RuleVersion(models.Model):
    """Counts the changes of a tenant's rules. Locked by who changes them, so none goes unseen."""

    tenant = models.OneToOneField(
        "accounts.Tenant", primary_key=True, on_delete=models.CASCADE, related_name="+"
    )
    version = models.BigIntegerField(_("version"), default=1)

    class Meta:
        verbose_name = _("version of the rules")
        verbose_name_plural = _("versions of the rules")

    def __str__(self) -> str:
        return f"{self.tenant_id}: {self.version}"


class SeededDefault(TenantOwned):
    """That somebody was given a default subscription. It stays when they delete it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(_("which default"), max_length=50)
    subscription = models.OneToOneField(
        Subscription, null=True, on_delete=models.SET_NULL, related_name="seeded"
    )
    # Of what was given: when the subscription is no longer that, its owner made it their own.
    fingerprint = models.CharField(max_length=64)
    seeded_at = models.DateTimeField(_("given"), default=timezone.now)

    class Meta:
        verbose_name = _("default subscription")
        verbose_name_plural = _("default subscriptions")
        base_manager_name = "across_tenants"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user", "key"], name="default_given_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.key}"
