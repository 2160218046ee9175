"""What the backbone remembers. PostgreSQL is the truth; Redis only carries."""

from typing import Any

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from .ids import uuid7


class RawJSON(models.TextField):  # type: ignore[type-arg]
    """JSON that PostgreSQL checks once and then hands through as the text it was."""

    def db_type(self, connection: object) -> str:
        return "json"

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        return f"({sql})::text", params


class OutboxStatus(models.TextChoices):
    PENDING = "PENDING", _("Waiting")
    PROCESSING = "PROCESSING", _("Being sent")
    PUBLISHED = "PUBLISHED", _("Published")
    DEAD = "DEAD", _("Given up")


class OutboxEvent(models.Model):
    """An event, written in the transaction of the change it tells of.

    The table is partitioned by day and made by hand (see the migration). No index names
    `status`: the relay's two updates then stay within their page and touch no index.
    """

    event_id = models.UUIDField(_("event"), primary_key=True, default=uuid7, editable=False)
    seq = models.BigIntegerField(_("number"), editable=False)
    stream = models.TextField(_("stream"))
    event_type = models.TextField(_("event type"))
    schema_version = models.SmallIntegerField(_("schema version"), default=1)
    aggregate_type = models.TextField(_("aggregate type"))
    aggregate_id = models.TextField(_("aggregate"))
    tenant_id = models.UUIDField(_("tenant"))
    actor = models.TextField(_("actor"))
    trace_id = models.TextField(_("trace"))
    request_id = models.TextField(_("request"), default="")
    source = models.TextField(_("source"), default="")
    causation_id = models.UUIDField(_("caused by"), null=True)
    replaces_id = models.UUIDField(_("edited copy of"), null=True)
    envelope = models.JSONField(_("beside the payload"), null=True)
    payload = RawJSON(_("payload"))
    status = models.TextField(_("status"), choices=OutboxStatus.choices)
    attempt_count = models.SmallIntegerField(_("attempts"), default=0)
    max_attempts = models.SmallIntegerField(_("attempts at most"), default=5)
    next_retry_at = models.DateTimeField(_("next attempt"), null=True)
    last_attempt_at = models.DateTimeField(_("last attempt"), null=True)
    locked_by = models.TextField(_("held by"), null=True)  # noqa: DJ001
    locked_until = models.DateTimeField(_("held until"), null=True)
    claim_token = models.UUIDField(_("claim"), null=True)
    last_error_code = models.TextField(_("error code"), default="")
    last_error_message = models.TextField(_("error"), default="")
    entry_id = models.TextField(_("stream entry"), null=True)  # noqa: DJ001
    occurred_at = models.DateTimeField(_("occurred"))
    created_at = models.DateTimeField(_("created"))
    updated_at = models.DateTimeField(_("updated"))
    published_at = models.DateTimeField(_("published"), null=True)

    class Meta:
        db_table = "event_outbox"
        verbose_name = _("outbox event")
        verbose_name_plural = _("outbox")

    def __str__(self) -> str:
        return f"{self.event_type} {self.event_id}"


class InboxEntry(models.Model):
    """That a group is done with an event: written in the transaction of the effect."""

    class Outcome(models.TextChoices):
        DONE = "done", _("Done")
        DEAD = "dead", _("Dead letter")
        REPLACED = "replaced", _("Replaced by an edited copy")
        DISCARDED = "discarded", _("Discarded")

    pk = models.CompositePrimaryKey("event_id", "group")
    event_id = models.UUIDField(_("event"))
    group = models.TextField(_("group"))
    outcome = models.TextField(_("outcome"), choices=Outcome.choices, db_default=Outcome.DONE)
    worker = models.TextField(_("worker"), db_default="")
    processed_at = models.DateTimeField(_("processed"), db_default=Now())

    class Meta:
        db_table = "event_inbox"
        verbose_name = _("inbox entry")
        verbose_name_plural = _("inbox")

    def __str__(self) -> str:
        return f"{self.group}: {self.event_id}"


class FailedAttempt(models.Model):
    """One attempt that did not work, by the relay or by a group."""

    id = models.BigAutoField(primary_key=True)
    event_id = models.UUIDField(_("event"), db_index=True)  # read by the journey
    group = models.TextField(_("group"))
    number = models.SmallIntegerField(_("attempt"))
    error = models.TextField(_("error"))
    worker = models.TextField(_("worker"))
    at = models.DateTimeField(_("at"), db_default=Now())

    class Meta:
        db_table = "event_failed_attempt"
        verbose_name = _("failed attempt")
        verbose_name_plural = _("failed attempts")
        # Read by the system alerts (the last five minutes) and by housekeeping (the oldest).
        indexes = [models.Index(fields=["at"], name="failed_attempt_at")]

    def __str__(self) -> str:
        return f"{self.group} #{self.number}: {self.error}"


class Retry(models.Model):
    """A delivery that waits: its next attempt is due, or an earlier one of its aggregate is."""

    id = models.BigAutoField(primary_key=True)
    group = models.TextField(_("group"))
    event_id = models.UUIDField(_("event"))
    aggregate = models.TextField(_("aggregate"))
    stream = models.TextField(_("stream"))
    entry_id = models.TextField(_("stream entry"))
    position = models.BigIntegerField(_("place in the stream"), default=0)
    fields = models.JSONField(_("entry"))
    attempts = models.SmallIntegerField(_("attempts"), default=0)
    due_at = models.DateTimeField(_("due"))
    created_at = models.DateTimeField(_("created"), db_default=Now())

    class Meta:
        db_table = "event_retry"
        verbose_name = _("retry")
        verbose_name_plural = _("retries")
        constraints = [models.UniqueConstraint(fields=["group", "event_id"], name="one_retry")]
        indexes = [
            # Read by every worker of the group, about once a second.
            models.Index(fields=["group", "due_at"], name="retry_due"),
            # Read by ordered groups: does this aggregate have to wait?
            models.Index(fields=["group", "aggregate", "position"], name="retry_aggregate"),
        ]

    def __str__(self) -> str:
        return f"{self.group}: {self.event_id} at {self.due_at}"


class DeadLetter(models.Model):
    """What somebody gave up on, with all that is needed to understand and repeat it."""

    class Status(models.TextChoices):
        OPEN = "open", _("Open")
        REDRIVEN = "redriven", _("Sent again")
        REPLACED = "replaced", _("Replaced by an edited copy")
        DISCARDED = "discarded", _("Discarded")

    RELAY = "relay"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    group = models.TextField(_("group"))
    """The consumer group, or "relay" for an event that never reached its stream."""
    stream = models.TextField(_("stream"))
    entry_id = models.TextField(_("stream entry"), blank=True)
    position = models.BigIntegerField(_("place in the stream"), default=0)
    event_id = models.UUIDField(_("event"), null=True)
    event_type = models.TextField(_("event type"), blank=True)
    aggregate_type = models.TextField(_("aggregate type"), blank=True)
    aggregate_id = models.TextField(_("aggregate"), blank=True)
    tenant_id = models.UUIDField(_("tenant"), null=True)
    trace_id = models.TextField(_("trace"), blank=True)
    fields = models.JSONField(_("entry"), default=dict)
    origin = models.JSONField(_("origin"), default=dict)
    """What an event that never reached its stream was published with, beside the entry."""
    raw = models.BinaryField(_("raw bytes"), null=True)
    error_type = models.TextField(_("error type"))
    error = models.TextField(_("error"))
    stack = models.TextField(_("stack"), blank=True)
    attempts = models.SmallIntegerField(_("attempts"))
    fingerprint = models.TextField(_("fingerprint"))
    status = models.TextField(_("status"), choices=Status.choices, default=Status.OPEN)
    replaced_by = models.UUIDField(_("replaced by"), null=True)
    created_at = models.DateTimeField(_("created"), db_default=Now())
    updated_at = models.DateTimeField(_("updated"), auto_now=True)

    class Meta:
        db_table = "event_dead_letter"
        verbose_name = _("dead letter")
        verbose_name_plural = _("dead letters")
        indexes = [
            # Read by the triage list and by "redrive all of this kind".
            models.Index(fields=["status", "fingerprint", "id"], name="dead_letter_triage"),
            # Read by the lists, newest first (ids sort by time): of all, of a tenant, of a group.
            models.Index(fields=["status", "id"], name="dead_letter_newest"),
            models.Index(fields=["tenant_id", "status", "id"], name="dead_letter_tenant"),
            models.Index(fields=["tenant_id", "id"], name="dead_letter_tenant_all"),
            models.Index(fields=["status", "group", "id"], name="dead_letter_group"),
            # Read by housekeeping: what was settled long ago.
            models.Index(
                fields=["updated_at"], condition=~models.Q(status="open"),
                name="dead_letter_settled",
            ),
            # Read by a running redrive: what is still open, in the order of the streams.
            models.Index(
                fields=["position", "id"], condition=models.Q(status="open"),
                name="dead_letter_open",
            ),
            # Read by the metrics.
            models.Index(
                fields=["group", "stream"], condition=models.Q(status="open"),
                name="dead_letter_open_by_group",
            ),
            # Read by consumers: is this unreadable entry buried already?
            models.Index(
                fields=["entry_id"], condition=models.Q(event_id=None),
                name="dead_letter_unreadable",
            ),
            # Read by the journey.
            models.Index(fields=["event_id"], name="dead_letter_event"),
            models.Index(fields=["trace_id"], name="dead_letter_trace"),
            models.Index(fields=["aggregate_id"], name="dead_letter_aggregate"),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.group}: {self.event_type or '?'} {self.error_type}"

    @property
    def is_open(self) -> bool:
        return self.status == self.Status.OPEN

    @property
    def is_readable(self) -> bool:
        return self.event_id is not None

    @property
    def of_relay(self) -> bool:
        """Whether the event never reached its stream, and so no group at all."""
        return self.group == self.RELAY


class Redrive(models.Model):
    """Sending many dead letters again, a few per second, until done or stopped."""

    class Status(models.TextChoices):
        RUNNING = "running", _("Running")
        STOPPED = "stopped", _("Stopped")
        DONE = "done", _("Done")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant_id = models.UUIDField(_("tenant"), null=True)
    """Whose letters; empty for everybody's."""
    filters = models.JSONField(_("which letters"))
    rate = models.PositiveSmallIntegerField(_("letters per second"))
    reason = models.TextField(_("reason"), blank=True)
    actor = models.TextField(_("started by"))
    status = models.TextField(_("status"), choices=Status.choices, default=Status.RUNNING)
    total = models.PositiveIntegerField(_("found"))
    sent = models.PositiveIntegerField(_("sent again"), default=0)
    skipped = models.PositiveIntegerField(_("left alone"), default=0)
    after_position = models.BigIntegerField(default=-1)
    after_letter = models.UUIDField(null=True)
    """With the position: the last letter that was looked at."""
    stepped_at = models.DateTimeField(_("last step"))
    stopped_by = models.TextField(_("stopped by"), blank=True)
    error = models.TextField(_("error"), blank=True)
    created_at = models.DateTimeField(_("started"))
    finished_at = models.DateTimeField(_("finished"), null=True)

    class Meta:
        db_table = "event_redrive"
        verbose_name = _("redrive")
        verbose_name_plural = _("redrives")
        constraints = [
            models.CheckConstraint(condition=models.Q(rate__gte=1), name="redrive_moves")
        ]
        indexes = [
            # Read by the housekeeper, every second.
            models.Index(
                fields=["created_at"], condition=models.Q(status="running"),
                name="redrive_running",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.sent} / {self.total} · {self.get_status_display()}"

    @property
    def is_running(self) -> bool:
        return self.status == self.Status.RUNNING


class DeadLetterAct(models.Model):
    """What somebody did about a dead letter. The database refuses to change or delete it."""

    class Kind(models.TextChoices):
        REDRIVEN = "redriven", _("Sent again")
        REPLACED = "replaced", _("Replaced by an edited copy")
        TRIED = "tried", _("Tried without effect")
        DISCARDED = "discarded", _("Discarded")

    id = models.BigAutoField(primary_key=True)
    letter = models.ForeignKey(DeadLetter, on_delete=models.PROTECT, related_name="acts")
    kind = models.TextField(_("what"), choices=Kind.choices)
    actor = models.TextField(_("who"))
    reason = models.TextField(_("reason"), blank=True)
    diff = models.TextField(_("edit"), blank=True)
    facts = models.JSONField(_("details"), default=dict)
    redrive = models.ForeignKey(
        Redrive, null=True, on_delete=models.PROTECT, related_name="acts", verbose_name=_("redrive")
    )
    at = models.DateTimeField(_("when"), db_default=Now())

    class Meta:
        db_table = "event_dead_letter_act"
        verbose_name = _("act on a dead letter")
        verbose_name_plural = _("acts on dead letters")

    def __str__(self) -> str:
        return f"{self.actor}: {self.kind}"


class BusState(models.Model):
    """One row: which Redis we last knew to hold everything that was published."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    run_id = models.TextField(default="")
    epoch = models.TextField(default="")
    healing = models.BooleanField(default=False)
    """While it is true nothing is claimed: what was lost has to go first."""
    checked_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "event_bus_state"
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="one_bus_state")]

    def __str__(self) -> str:
        return f"run {self.run_id}, epoch {self.epoch}"
