"""What rules over several events remember."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from .subscriptions import Subscription


class WindowEntry(models.Model):
    """An event that counts in a window: once, at the time it happened."""

    class Part(models.IntegerChoices):
        # In the order in which an event that is both is looked at: it ends a sequence first.
        THEN = 0, _("then")
        FIRST = 1, _("first")

    id = models.BigAutoField(primary_key=True)
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="+")
    revision = models.PositiveIntegerField(_("revision"))
    group_value = models.TextField(_("group"))
    occurred_at = models.DateTimeField(_("occurred"))
    event_id = models.UUIDField(_("event"))
    part = models.SmallIntegerField(_("part"), choices=Part.choices, default=Part.FIRST)
    amount = models.FloatField(_("value"), null=True)
    label = models.TextField(_("label"), default="")
    told = models.BooleanField(_("told"), default=False)
    """Somebody was told of it, or it happened before the rule was there."""
    about = models.JSONField(_("the event"), default=dict)

    class Meta:
        verbose_name = _("window entry")
        verbose_name_plural = _("window entries")
        constraints = [
            # Also read by every look into a window, in this order.
            models.UniqueConstraint(
                fields=[
                    "subscription", "revision", "group_value", "occurred_at", "event_id", "part",
                ],
                name="window_entry_once",
            ),
        ]  # fmt: skip
        indexes = [
            # Read by the purge.
            models.Index(fields=["occurred_at"], name="window_entry_age"),
        ]

    def __str__(self) -> str:
        return f"{self.group_value} {self.occurred_at:%F %T}"


class Expectation(models.Model):
    """That something should follow an event until a time, and what came of it."""

    class State(models.TextChoices):
        OPEN = "open", _("Waiting")
        ANSWERED = "answered", _("It came")
        FIRED = "fired", _("It did not come")
        DROPPED = "dropped", _("The rule changed")

    id = models.BigAutoField(primary_key=True)
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="+")
    revision = models.PositiveIntegerField(_("revision"))
    group_value = models.TextField(_("group"))
    event_id = models.UUIDField(_("event"))
    occurred_at = models.DateTimeField(_("occurred"))
    due_at = models.DateTimeField(_("due"))
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.OPEN)
    about = models.JSONField(_("the event"), default=dict)
    settled_at = models.DateTimeField(_("settled"), null=True)

    class Meta:
        verbose_name = _("expectation")
        verbose_name_plural = _("expectations")
        constraints = [
            # Also read when an answer comes.
            models.UniqueConstraint(
                fields=["subscription", "revision", "group_value", "event_id"],
                name="expectation_once",
            ),
        ]
        indexes = [
            # Read by the scan, every few seconds.
            models.Index(
                fields=["due_at"], condition=models.Q(state="open"), name="expectation_due"
            ),
            # Read by the purge.
            models.Index(fields=["settled_at"], name="expectation_settled"),
        ]

    def __str__(self) -> str:
        return f"{self.group_value} {self.due_at:%F %T}"
