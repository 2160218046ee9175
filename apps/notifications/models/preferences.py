"""How people want to be told."""

from datetime import time
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from apps.watch.selectors import Channel
from axiom.tenancy import TenantOwned

from .inbox import to_user


def _channels(label: Any) -> Any:
    return ArrayField(
        models.CharField(max_length=10, choices=Channel.choices),
        verbose_name=label,
        null=True,
        blank=True,
        help_text=_("Nothing chosen: as each subscription says."),
    )


class Preference(TenantOwned):
    """What one person wants in one tenant. Who has none is told as the subscriptions say."""

    class Digest(models.TextChoices):
        NONE = "none", _("None: at once")
        HOURLY = "hourly", _("Hourly")
        DAILY = "daily", _("Daily")

    user = to_user(verbose_name=_("user"))
    low = _channels(_("channels when LOW"))
    medium = _channels(_("channels when MEDIUM"))
    high = _channels(_("channels when HIGH"))
    critical = _channels(_("channels when CRITICAL"))
    quiet_from = models.TimeField(_("quiet from"), null=True, blank=True)
    quiet_until = models.TimeField(_("quiet until"), null=True, blank=True)
    digest = models.CharField(
        _("digest of what is LOW"), max_length=10, choices=Digest.choices, default=Digest.NONE
    )
    digest_time = models.TimeField(_("daily digest at"), default=time(9))
    phone = models.CharField(
        _("phone"),
        max_length=16,
        blank=True,
        validators=[RegexValidator(r"^\+[1-9]\d{6,14}$", _("Write it like +821012345678."))],
        help_text=_("For text messages, with the country: +821012345678."),
    )

    class Meta:
        verbose_name = _("preference")
        verbose_name_plural = _("preferences")
        base_manager_name = "across_tenants"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="one_preference_per_member"),
            models.CheckConstraint(
                condition=Q(quiet_from=None, quiet_until=None)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False)
                & ~Q(quiet_from=F("quiet_until")),
                name="quiet_hours_have_an_end",
                violation_error_message=_("Quiet hours need a beginning and another end."),
            ),
        ]

    def __str__(self) -> str:
        return str(self.user)

    def channels_for(self, severity: str) -> list[str] | None:
        """The channels of their choice; None: as the subscription says."""
        chosen: list[str] | None = getattr(self, severity.lower(), None)
        return chosen
