"""Where Slack messages and webhooks go."""

from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.events.ids import uuid7
from axiom.sealing import SealedField
from axiom.tenancy import TenantOwned

from .inbox import to_user


class Endpoint(TenantOwned):
    """An address that posts are made to: one person's, or the whole tenant's.

    Whoever knows the address of a Slack webhook can post there, and whoever knows a secret can
    sign as we do: both are sealed in the database.
    """

    class Kind(models.TextChoices):
        SLACK = "slack", _("Slack")
        WEBHOOK = "webhook", _("Webhook")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=100)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    user = to_user(
        verbose_name=_("person"),
        null=True,
        blank=True,
        help_text=_("Whose it is; nobody's is everybody's who has none."),
    )
    url = SealedField(_("address"))
    secret = SealedField(_("secret"), blank=True, editable=False)
    # Signs beside the new one until the reader has changed over.
    old_secret = SealedField(_("former secret"), blank=True, editable=False)
    old_secret_until = models.DateTimeField(
        _("former secret good until"), null=True, editable=False
    )
    is_active = models.BooleanField(_("active"), default=True)
    paused_until = models.DateTimeField(
        _("paused until"), null=True, editable=False,
        help_text=_("The other side asked us to wait."),
    )  # fmt: skip
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("endpoint")
        verbose_name_plural = _("endpoints")
        base_manager_name = "across_tenants"
        constraints = [
            # Read by the dispatcher: where does this person's Slack message go?
            models.UniqueConstraint(
                fields=["tenant", "kind", "user"],
                condition=models.Q(is_active=True),
                nulls_distinct=False,
                name="one_endpoint_in_use",
                violation_error_message=_("There is an active endpoint of this kind already."),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def secrets(self, now: Any) -> list[str]:
        """What to sign with: the new secret, and the former one for as long as it is good."""
        former = self.old_secret if self.old_secret_until and now < self.old_secret_until else ""
        return [each for each in (self.secret, former) if each]
