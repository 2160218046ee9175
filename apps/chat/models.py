"""Rooms, who is in them, and what was said."""

from typing import Any

from django.conf import settings
from django.core.validators import MaxLengthValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.events.ids import uuid7
from axiom.tenancy import TenantOwned

LONGEST_TEXT = 4_000


def to_user(**options: Any) -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(settings.AUTH_USER_MODEL, related_name="+", **options)


class Room(TenantOwned):
    """A place where some people of a tenant talk, perhaps about a case."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=100)
    case = models.ForeignKey(
        "cases.Case",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        verbose_name=_("case"),
    )
    created_by = to_user(
        null=True, blank=True, on_delete=models.SET_NULL, verbose_name=_("opened by")
    )
    created_at = models.DateTimeField(_("opened"), default=timezone.now)
    # Redis numbers messages up to here without asking; after it lost its data it begins above.
    granted_to = models.BigIntegerField(_("numbers granted up to"), default=0, editable=False)

    class Meta:
        verbose_name = _("room")
        verbose_name_plural = _("rooms")
        base_manager_name = "across_tenants"
        indexes = [
            # Read by the rooms of a case.
            models.Index(fields=["tenant", "case"], name="room_of_case"),
        ]

    def __str__(self) -> str:
        return self.name


class RoomMember(TenantOwned):
    """Somebody in a room, and how far they have read."""

    class Role(models.TextChoices):
        OWNER = "owner", _("Owner")
        MEMBER = "member", _("Member")

    room = models.ForeignKey(
        Room, on_delete=models.CASCADE, related_name="members", verbose_name=_("room")
    )
    user = to_user(on_delete=models.CASCADE, verbose_name=_("user"))
    role = models.CharField(_("role"), max_length=10, choices=Role.choices, default=Role.MEMBER)
    read_up_to = models.BigIntegerField(_("read up to"), default=0)
    joined_at = models.DateTimeField(_("joined"), default=timezone.now)

    class Meta:
        verbose_name = _("member of a room")
        verbose_name_plural = _("members of rooms")
        base_manager_name = "across_tenants"
        constraints = [
            models.UniqueConstraint(fields=["room", "user"], name="once_in_a_room"),
        ]
        indexes = [
            # Read by the list of one's rooms.
            models.Index(fields=["tenant", "user"], name="rooms_of_member"),
        ]

    def __str__(self) -> str:
        return str(self.user)

    @property
    def is_owner(self) -> bool:
        return self.role == self.Role.OWNER


class ChatMessage(TenantOwned):
    """One thing that was said in a room. Its id is that of its event."""

    id = models.UUIDField(primary_key=True, editable=False)
    room = models.ForeignKey(
        Room, on_delete=models.CASCADE, related_name="messages", verbose_name=_("room")
    )
    seq = models.BigIntegerField(_("number"), help_text=_("Counts up in each room."))
    sender = to_user(null=True, blank=True, on_delete=models.SET_NULL, verbose_name=_("sender"))
    client_id = models.CharField(_("the sender's own id"), max_length=64)
    text = models.TextField(_("text"), validators=[MaxLengthValidator(LONGEST_TEXT)])
    sent_at = models.DateTimeField(_("sent"))

    class Meta:
        verbose_name = _("chat message")
        verbose_name_plural = _("chat messages")
        base_manager_name = "across_tenants"
        constraints = [
            # Also read by the history, by unread counts and by sockets that resume.
            models.UniqueConstraint(fields=["room", "seq"], name="message_numbered_once"),
            models.UniqueConstraint(
                fields=["room", "sender", "client_id"], name="message_sent_once"
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.seq}"
