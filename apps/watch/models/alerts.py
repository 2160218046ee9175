"""Alerts: what people have to know, who watches, what made it, and everything done about it."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.events.ids import uuid7
from apps.watch import texts
from apps.watch.severity import Severity
from axiom.tenancy import TenantOwned


def _person(label: Any) -> Any:
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=label,
    )


class Alert(TenantOwned):
    """One matter that people have to know of: one per event type, aggregate and 24 hours."""

    class Status(models.TextChoices):
        UNREAD = "unread", _("Unread")
        ACKNOWLEDGED = "acknowledged", _("Acknowledged")
        DISMISSED = "dismissed", _("Dismissed")
        RESOLVED = "resolved", _("Resolved")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # Of the tenant, the event type, the aggregate and the UTC day on which it began.
    idempotency_key = models.CharField(max_length=64, unique=True)
    event_type = models.CharField(_("event type"), max_length=100)
    aggregate_type = models.CharField(_("kind of thing"), max_length=100)
    aggregate_id = models.CharField(_("thing"), max_length=200)
    # Without a constraint: an alert outlives its case, and an event may name one that is gone.
    case = models.ForeignKey(
        "cases.Case",
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        verbose_name=_("case"),
    )
    severity = models.CharField(_("severity"), max_length=10, choices=Severity.choices)
    rank = models.GeneratedField(
        expression=Case(
            *(When(severity=each, then=Value(each.rank)) for each in Severity),
            default=Value(0),
        ),
        output_field=models.SmallIntegerField(),
        db_persist=True,
    )
    status = models.CharField(
        _("status"), max_length=20, choices=Status.choices, default=Status.UNREAD
    )
    message = models.TextField(_("message"))
    facts = models.JSONField(_("facts"), default=dict)
    # The earliest event of the highest severity: what the message tells of.
    event_id = models.UUIDField(_("event"), null=True)
    caused_at = models.DateTimeField(_("caused"))

    # Times of events, not of our reading them, except `raised_at`.
    detected_at = models.DateTimeField(_("detected"))
    last_seen_at = models.DateTimeField(_("last seen"))
    raised_at = models.DateTimeField(_("raised"))
    count = models.PositiveIntegerField(_("times seen"), default=1)
    reopened = models.PositiveSmallIntegerField(_("times it recurred"), default=0)
    flapping_since = models.DateTimeField(_("flapping since"), null=True)

    # Who was first to look counts for the SLA; a recurrence asks for another acknowledgement.
    first_acknowledged_at = models.DateTimeField(_("first acknowledged"), null=True)
    acknowledged_at = models.DateTimeField(_("acknowledged"), null=True)
    acknowledged_by = _person(_("acknowledged by"))
    dismissed_at = models.DateTimeField(_("dismissed"), null=True)
    resolved_at = models.DateTimeField(_("resolved"), null=True)
    settled_by = _person(_("settled by"))
    false_positive = models.BooleanField(_("false positive"), null=True)
    root_cause = models.TextField(_("root cause"), max_length=10_000, blank=True)
    team_notified_at = models.DateTimeField(_("team notified"), null=True)
    # Whoever led the case when the alert was raised: its team, as far as the SLA is concerned.
    team_lead = _person(_("team of"))

    class Meta:
        verbose_name = _("alert")
        verbose_name_plural = _("alerts")
        base_manager_name = "across_tenants"
        constraints = [
            models.CheckConstraint(
                condition=Q(severity__in=Severity.values), name="alert_severity_known"
            ),
            models.CheckConstraint(condition=Q(count__gte=1), name="alert_was_seen"),
            models.CheckConstraint(
                condition=Q(last_seen_at__gte=F("detected_at")), name="alert_seen_after_detection"
            ),
            models.CheckConstraint(
                condition=Q(
                    status="unread", acknowledged_at=None, dismissed_at=None, resolved_at=None
                )
                | Q(
                    status="acknowledged",
                    acknowledged_at__isnull=False,
                    dismissed_at=None,
                    resolved_at=None,
                )
                | Q(status="dismissed", dismissed_at__isnull=False, resolved_at=None)
                | Q(status="resolved", resolved_at__isnull=False, dismissed_at=None),
                name="alert_status_has_its_date",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["unread", "acknowledged"], false_positive=None)
                | Q(status__in=["dismissed", "resolved"], false_positive__isnull=False),
                name="alert_settled_has_a_verdict",
            ),
            models.CheckConstraint(
                condition=~Q(status="resolved") | ~Q(root_cause=""),
                name="alert_resolved_has_a_cause",
            ),
        ]
        indexes = [
            # Read by folding: is there an alert that takes this match?
            models.Index(
                fields=["tenant", "event_type", "aggregate_id", "detected_at"], name="alert_fold"
            ),
            # Read by the list, newest first or gravest first, and the same of one status.
            models.Index(fields=["tenant", "-detected_at", "-id"], name="alert_newest"),
            models.Index(
                fields=["tenant", "status", "-detected_at", "-id"], name="alert_by_status"
            ),
            models.Index(fields=["tenant", "-rank", "-id"], name="alert_gravest"),
            # Read by the page of a case.
            models.Index(fields=["case", "-detected_at"], name="alert_of_case"),
            # Read by the SLA, across tenants.
            models.Index(fields=["detected_at"], name="alert_by_day"),
        ]

    def __str__(self) -> str:
        return self.told()

    def told(self) -> str:
        """The message in the reader's language."""
        return texts.told(self.event_type, self.facts, self.message)

    @property
    def is_open(self) -> bool:
        return self.status in (self.Status.UNREAD, self.Status.ACKNOWLEDGED)

    @property
    def is_flapping(self) -> bool:
        return self.flapping_since is not None


class AlertWatcher(TenantOwned):
    """A subscription whose rule matched: its owner is told of the alert."""

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="watchers")
    subscription = models.ForeignKey(
        "watch.Subscription",
        on_delete=models.CASCADE,
        related_name="+",
        verbose_name=_("subscription"),
    )
    muted = models.BooleanField(
        _("muted"), default=False, help_text=_("Its owner did not want to be told just then.")
    )
    since = models.DateTimeField(_("since"))

    class Meta:
        verbose_name = _("watcher")
        verbose_name_plural = _("watchers")
        base_manager_name = "across_tenants"
        constraints = [
            models.UniqueConstraint(fields=["alert", "subscription"], name="alert_watcher_once"),
        ]

    def __str__(self) -> str:
        return str(self.subscription)


class AlertEvent(models.Model):
    """An event that made an alert or was folded into it, with what its rule saw.

    The first hundred are kept: the count of the alert is exact however many there were.
    """

    KEPT = 100

    id = models.BigAutoField(primary_key=True)
    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="events")
    event_id = models.UUIDField(_("event"), null=True)
    subscription_id = models.UUIDField(_("subscription"), null=True)
    occurred_at = models.DateTimeField(_("occurred"))
    facts = models.JSONField(_("facts"), default=dict)

    class Meta:
        verbose_name = _("event of an alert")
        verbose_name_plural = _("events of an alert")
        indexes = [
            # Read by the alert's page: what made it, in the order it happened.
            models.Index(fields=["alert", "occurred_at", "id"], name="alert_event_order"),
            # Read by the journey of an event: which alerts came of it?
            models.Index(fields=["event_id"], name="alert_event_event"),
        ]

    def __str__(self) -> str:
        return str(self.event_id or self.occurred_at)


class AlertHistory(models.Model):
    """Who did what about an alert, and when. The database refuses to change or delete it.

    It points to the alert without a constraint: what was done stays even when the alert goes.
    """

    class Kind(models.TextChoices):
        RAISED = "raised", _("Raised")
        GRAVER = "graver", _("Became graver")
        RECURRED = "recurred", _("Recurred")
        FLAPPING = "flapping", _("Found to be flapping")
        ESCALATED = "escalated", _("Escalated")
        ACKNOWLEDGED = "acknowledged", _("Acknowledged")
        ROOT_CAUSE = "root_cause", _("Root cause found")
        TEAM_NOTIFIED = "team_notified", _("Team notified")
        ACTION = "action", _("Action taken")
        DISMISSED = "dismissed", _("Dismissed")
        RESOLVED = "resolved", _("Resolved")

    id = models.BigAutoField(primary_key=True)
    alert = models.ForeignKey(
        Alert, on_delete=models.DO_NOTHING, db_constraint=False, related_name="history"
    )
    tenant_id = models.UUIDField(_("tenant"))
    kind = models.CharField(_("what"), max_length=20, choices=Kind.choices)
    actor = models.TextField(_("who"))
    note = models.TextField(_("in words"), blank=True)
    facts = models.JSONField(_("details"), default=dict)
    at = models.DateTimeField(_("when"), db_default=Now())

    class Meta:
        verbose_name = _("history of an alert")
        verbose_name_plural = _("history of alerts")
        indexes = [models.Index(fields=["alert", "id"], name="alert_history_order")]

    def __str__(self) -> str:
        return f"{self.actor}: {self.get_kind_display()}"
