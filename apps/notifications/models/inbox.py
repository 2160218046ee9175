"""What people were told, in the order they were told it."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.events.facts import SEVERITIES
from apps.events.ids import uuid7
from axiom.tenancy import TenantOwned


def to_user(**options: Any) -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", **options
    )


class Mailbox(TenantOwned):
    """How far the inbox of a person in a tenant has come.

    The row is locked while notifications are numbered, so that numbers become visible in their
    order: who has seen number 7 and asks for what came after can miss none.
    """

    user = to_user(verbose_name=_("user"))
    last_number = models.BigIntegerField(_("last number"), default=0)
    muted = models.BooleanField(_("notifications off"), default=False)

    class Meta:
        verbose_name = _("mailbox")
        verbose_name_plural = _("mailboxes")
        base_manager_name = "across_tenants"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="one_mailbox_per_member"),
        ]

    def __str__(self) -> str:
        return str(self.user)


class Notification(TenantOwned):
    """One thing that one person was told."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    recipient = to_user(verbose_name=_("recipient"))
    number = models.BigIntegerField(_("number"), help_text=_("Counts up in each inbox."))
    # What it was about, and at which turn: told once, however often the event comes.
    occasion = models.CharField(_("occasion"), max_length=120)
    kind = models.CharField(_("kind"), max_length=40)
    severity = models.CharField(_("severity"), max_length=10, choices=SEVERITIES, blank=True)
    title = models.CharField(_("title"), max_length=200)
    body = models.TextField(_("text"), blank=True)
    link = models.CharField(_("link"), max_length=500, blank=True)
    facts = models.JSONField(_("facts"), default=dict, blank=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    read_at = models.DateTimeField(_("read"), null=True, blank=True)

    class Meta:
        verbose_name = _("notification")
        verbose_name_plural = _("notifications")
        base_manager_name = "across_tenants"
        constraints = [
            # Also read by the inbox, newest first, and by a stream that resumes.
            models.UniqueConstraint(
                fields=["tenant", "recipient", "number"], name="notification_numbered_once"
            ),
            models.UniqueConstraint(
                fields=["tenant", "recipient", "occasion"], name="notification_told_once"
            ),
        ]
        indexes = [
            # Read by the count of unread ones and by the first replay of a stream.
            models.Index(
                fields=["tenant", "recipient", "-number"],
                condition=Q(read_at=None),
                name="notification_unread",
            ),
            # Read by the purge.
            models.Index(fields=["created_at"], name="notification_age"),
        ]

    def __str__(self) -> str:
        return self.title
