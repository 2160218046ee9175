"""What goes out, by which channel, and every try of it."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.events.ids import uuid7
from apps.watch.selectors import Channel
from axiom.tenancy import TenantOwned

from .endpoints import Endpoint
from .inbox import to_user

LONGEST_ANSWER = 500


class Lane(models.Model):
    """A channel's way out. Its row is locked while somebody takes the next delivery of it."""

    channel = models.CharField(_("channel"), max_length=10, primary_key=True)
    # Before this moment the rate is used up.
    free_at = models.DateTimeField(_("free"))

    class Meta:
        verbose_name = _("lane")
        verbose_name_plural = _("lanes")

    def __str__(self) -> str:
        return self.channel


class Delivery(TenantOwned):
    """One thing on its way to one person, or to an address of the tenant, by one channel.

    `due_at` is when it may be taken: at first, after a pause, or when the lease of whoever took
    it is over.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        BUNDLED = "bundled", _("Waiting for its digest")
        SENDING = "sending", _("Being sent")
        SENT = "sent", _("Sent")
        FAILED = "failed", _("Failed")
        SKIPPED = "skipped", _("Not sent")

    class Reason(models.TextChoices):
        """Why it was not sent."""

        ATTEMPTS = "attempts", _("It was tried too often.")
        REFUSED = "refused", _("The other side refused it.")
        UNSURE = "unsure", _("It may have arrived: whoever sent it ended before saying so, twice.")
        OFF = "off", _("They switched notifications off.")
        LEFT = "left", _("They are no longer here.")
        SETTLED = "settled", _("Somebody took care of the alert before.")
        NO_ADDRESS = "no_address", _("There is no address to send it to.")
        NOT_SET_UP = "not_set_up", _("This channel is not set up here.")

    WORDS = 1_000_000
    """From here on a turn numbers the words of colleagues to the team, not those of the alert."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    recipient = to_user(verbose_name=_("recipient"), null=True)
    endpoint = models.ForeignKey(
        Endpoint, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("endpoint")
    )
    channel = models.CharField(_("channel"), max_length=10, choices=Channel.choices)
    # None: a digest. Without a constraint: what was sent is remembered when the alert is gone.
    alert = models.ForeignKey(
        "watch.Alert",
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        verbose_name=_("alert"),
    )
    level = models.PositiveSmallIntegerField(
        _("level"), default=0, help_text=_("Of the escalation; 0 for the alert itself.")
    )
    # Grows when the alert gets graver or comes back: then people are told again.
    turn = models.PositiveIntegerField(_("turn"), default=0)
    severity = models.CharField(_("severity"), max_length=10, blank=True)
    state = models.CharField(
        _("state"), max_length=10, choices=State.choices, default=State.WAITING
    )
    reason = models.CharField(_("reason"), max_length=20, choices=Reason.choices, blank=True)
    due_at = models.DateTimeField(_("due"), default=timezone.now)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    # Tries whose end nobody knows: who made them was killed on the way.
    lost = models.PositiveSmallIntegerField(_("tries without an end"), default=0)
    claim_token = models.UUIDField(null=True, editable=False)
    bundle = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="bundled",
        verbose_name=_("digest"),
    )  # fmt: skip
    # When its period ends; only of a digest, one each.
    digest_at = models.DateTimeField(_("digest of"), null=True)
    peer_id = models.CharField(_("known to the other side as"), max_length=200, blank=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    settled_at = models.DateTimeField(_("ended"), null=True)

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        base_manager_name = "across_tenants"
        constraints = [
            models.UniqueConstraint(
                fields=["alert", "level", "turn", "channel", "recipient"],
                condition=Q(alert__isnull=False),
                # Nobody: the one address that a tenant shares.
                nulls_distinct=False,
                name="delivered_once",
            ),
            models.UniqueConstraint(
                fields=["tenant", "recipient", "channel", "digest_at"],
                condition=Q(alert=None),
                name="one_digest_per_period",
            ),
            models.CheckConstraint(
                condition=Q(alert__isnull=False, digest_at=None)
                | Q(alert=None, digest_at__isnull=False),
                name="delivery_of_alert_or_digest",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "bundled", "sending"], settled_at=None)
                | Q(state__in=["sent", "failed", "skipped"], settled_at__isnull=False),
                name="delivery_ended_has_a_date",
            ),
            models.CheckConstraint(
                condition=Q(state="sending", claim_token__isnull=False)
                | ~Q(state="sending") & Q(claim_token=None),
                name="delivery_taken_has_a_token",
            ),
        ]
        indexes = [
            # Read by whoever takes the next one of a channel.
            models.Index(
                fields=["channel", "due_at"],
                condition=Q(state__in=["waiting", "sending"]),
                name="delivery_due",
            ),
            # Read by the list, newest first, and the same of one state.
            models.Index(fields=["tenant", "-created_at", "-id"], name="delivery_newest"),
            models.Index(
                fields=["tenant", "state", "-created_at", "-id"], name="delivery_by_state"
            ),
            # Read by one's own list.
            models.Index(fields=["recipient", "-created_at"], name="delivery_of_person"),
            # Read by the digest that goes out.
            models.Index(
                fields=["bundle"], condition=Q(state="bundled"), name="delivery_in_digest"
            ),
            # Read by the purge.
            models.Index(fields=["created_at"], name="delivery_age"),
        ]

    def __str__(self) -> str:
        return f"{self.get_channel_display()} · {self.get_state_display()}"

    @property
    def is_open(self) -> bool:
        return self.settled_at is None

    @property
    def word(self) -> int:
        """Which word to the team this is; 0 for an alert that speaks for itself."""
        return max(0, self.turn - self.WORDS)


class DeliveryAttempt(models.Model):
    """One try, and what the other side said. Rows are added, never changed."""

    class Outcome(models.TextChoices):
        SENT = "sent", _("Sent")
        AGAIN = "again", _("Failed, to be tried again")
        NEVER = "never", _("Refused for good")
        LOST = "lost", _("Whoever sent it ended before saying so")
        ASKED = "asked", _("Somebody asked to send it again")

    id = models.BigAutoField(primary_key=True)
    delivery = models.ForeignKey(
        Delivery, on_delete=models.CASCADE, related_name="tries", verbose_name=_("delivery")
    )
    outcome = models.CharField(_("outcome"), max_length=10, choices=Outcome.choices)
    said = models.CharField(_("what was said"), max_length=LONGEST_ANSWER, blank=True)
    began_at = models.DateTimeField(_("began"))
    seconds = models.FloatField(_("seconds"), default=0)

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        indexes = [models.Index(fields=["delivery", "id"], name="delivery_attempt_order")]

    def __str__(self) -> str:
        return self.get_outcome_display()
