"""Escalation: who is told next when nobody acknowledges, and whether they were."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.watch.severity import Severity
from axiom.roles import Role
from axiom.tenancy import TenantOwned

from .alerts import Alert
from .subscriptions import Channel


def channels() -> Any:
    return ArrayField(
        models.CharField(max_length=20, choices=Channel.choices),
        verbose_name=_("channels"),
        default=list,
    )


class Audience(models.TextChoices):
    """Whom a level tells."""

    CASE_MANAGER = "case_manager", _("The case's manager")
    ADMINS = "admin", _("Admins")
    MANAGERS = "manager", _("Managers")
    ENGINEERS = "engineer", _("Engineers")
    ATTORNEYS = "attorney", _("Attorneys")
    ANALYSTS = "analyst", _("Analysts")

    @property
    def role(self) -> Role | None:
        return None if self is Audience.CASE_MANAGER else Role(self.value)


class EscalationStep(TenantOwned):
    """A tenant's own step. Its steps of a severity take the place of the installation's."""

    severity = models.CharField(
        _("severity"), max_length=10, choices=Severity.choices, default=Severity.CRITICAL
    )
    level = models.PositiveSmallIntegerField(_("level"))
    after_minutes = models.PositiveIntegerField(
        _("after minutes"),
        help_text=_("Counted from the alert, or from the level before this one."),
    )
    audience = models.CharField(_("whom to tell"), max_length=20, choices=Audience.choices)
    channels = channels()
    is_active = models.BooleanField(
        _("active"), default=True, help_text=_("Off: escalation ends before this level.")
    )

    class Meta:
        verbose_name = _("escalation step")
        verbose_name_plural = _("escalation steps")
        base_manager_name = "across_tenants"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "severity", "level"],
                name="escalation_step_once",
                violation_error_message=_("This severity has a step of that level already."),
            ),
            models.CheckConstraint(
                condition=Q(level__gte=1, level__lte=9), name="escalation_step_level"
            ),
            models.CheckConstraint(
                condition=Q(after_minutes__gte=1), name="escalation_step_leaves_time"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_severity_display()} · {self.level}"


class Escalation(TenantOwned):
    """One level of one alert: due, told, or called off because somebody acknowledged."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        SENT = "sent", _("Sent")
        CANCELLED = "cancelled", _("Cancelled")

    id = models.BigAutoField(primary_key=True)
    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="escalations")
    level = models.PositiveSmallIntegerField(_("level"))
    state = models.CharField(
        _("state"), max_length=10, choices=State.choices, default=State.WAITING
    )
    due_at = models.DateTimeField(_("due"))
    audience = models.CharField(_("whom to tell"), max_length=20, choices=Audience.choices)
    channels = channels()
    recipient_ids = ArrayField(models.UUIDField(), verbose_name=_("told"), default=list)
    settled_at = models.DateTimeField(_("sent or cancelled"), null=True)

    class Meta:
        verbose_name = _("escalation")
        verbose_name_plural = _("escalations")
        base_manager_name = "across_tenants"
        constraints = [
            models.UniqueConstraint(fields=["alert", "level"], name="escalation_level_once"),
            models.CheckConstraint(
                condition=Q(state="waiting", settled_at=None)
                | Q(state__in=["sent", "cancelled"], settled_at__isnull=False),
                name="escalation_settled_has_a_date",
            ),
        ]
        indexes = [
            # Read by the scan, every few minutes.
            models.Index(fields=["due_at"], condition=Q(state="waiting"), name="escalation_due"),
        ]

    def __str__(self) -> str:
        return f"{self.level} · {self.get_state_display()}"
