"""Cases and what belongs to them: who works on them, what falls due, what is said about them."""

from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.events.ids import uuid7
from axiom.tenancy import TenantOwned

A_CURRENCY = RegexValidator("^[A-Z]{3}$", _("Three capital letters, such as KRW."))
A_SHARE = [MinValueValidator(0), MaxValueValidator(1)]
NOT_NEGATIVE = MinValueValidator(0)


def three_letters() -> models.CharField:
    return models.CharField(_("currency"), max_length=3, validators=[A_CURRENCY])


def money(label: Any, **options: Any) -> models.DecimalField:
    """Money: fifteen digits, which survive a JSON number unchanged."""
    return models.DecimalField(label, max_digits=15, decimal_places=2, **options)


class Case(TenantOwned):
    """A matter that people work on until it is closed."""

    class Kind(models.TextChoices):
        REHABILITATION = "rehabilitation", _("Rehabilitation")
        BANKRUPTCY = "bankruptcy", _("Bankruptcy")
        LITIGATION = "litigation", _("Litigation")
        FINANCE = "finance", _("Finance")
        DATA = "data", _("Data")
        OTHER = "other", _("Other")

    class Status(models.TextChoices):
        OPEN = "open", _("Open")
        IN_PROGRESS = "in_progress", _("In progress")
        IN_REVIEW = "in_review", _("In review")
        ON_HOLD = "on_hold", _("On hold")
        CLOSED = "closed", _("Closed")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    reference = models.CharField(_("reference"), max_length=50, blank=True)
    title = models.CharField(_("title"), max_length=200)
    description = models.TextField(_("description"), max_length=10_000, blank=True)
    kind = models.CharField(_("kind"), max_length=20, choices=Kind.choices, default=Kind.OTHER)
    status = models.CharField(
        _("status"), max_length=20, choices=Status.choices, default=Status.OPEN
    )
    manager = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("manager"),
    )
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        through="CaseMember",
        related_name="+",
        verbose_name=_("members"),
    )
    issue_threshold = models.FloatField(
        _("tolerated share of issues"), default=0.2, validators=A_SHARE
    )
    opened_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("opened by"),
    )
    opened_at = models.DateTimeField(_("opened"), default=timezone.now)
    closed_at = models.DateTimeField(_("closed"), null=True, blank=True)
    comment_count = models.IntegerField(_("comments"), default=0)
    # Deltas counted towards an older generation came before a recount that has them already.
    count_generation = models.IntegerField(default=0)

    class Meta:
        verbose_name = _("case")
        verbose_name_plural = _("cases")
        base_manager_name = "across_tenants"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "reference"],
                condition=~Q(reference=""),
                name="case_reference_unique",
                violation_error_message=_("Another case has this reference."),
            ),
            models.CheckConstraint(
                condition=Q(status="closed", closed_at__isnull=False)
                | (~Q(status="closed") & Q(closed_at=None)),
                name="case_closed_has_a_date",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["open", "in_progress", "in_review", "on_hold", "closed"]),
                name="case_status_known",
            ),
            models.CheckConstraint(
                condition=Q(issue_threshold__gte=0, issue_threshold__lte=1),
                name="case_issue_threshold_is_a_share",
            ),
        ]
        indexes = [
            # Read by the list of cases, newest first, and the same of one status or manager.
            models.Index(fields=["tenant", "-opened_at", "-id"], name="case_newest"),
            models.Index(fields=["tenant", "status", "-opened_at", "-id"], name="case_by_status"),
            models.Index(fields=["manager", "-opened_at"], name="case_by_manager"),
            models.Index(fields=["tenant", "title", "id"], name="case_by_title"),
        ]

    def __str__(self) -> str:
        return f"{self.reference} {self.title}".strip()

    @property
    def is_closed(self) -> bool:
        return self.status == self.Status.CLOSED


class CaseMember(TenantOwned):
    """Somebody who works on a case."""

    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="+",
        verbose_name=_("user"),
    )
    since = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name = _("member of a case")
        verbose_name_plural = _("members of a case")
        base_manager_name = "across_tenants"
        constraints = [
            models.UniqueConstraint(fields=["case", "user"], name="case_member_once"),
        ]

    def __str__(self) -> str:
        return str(self.user)


class OfCase(TenantOwned):
    """What belongs to a case and goes with it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    case = models.ForeignKey(
        Case, on_delete=models.CASCADE, related_name="%(class)ss", verbose_name=_("case")
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)

    class Meta:
        abstract = True
        base_manager_name = "across_tenants"


class Titled(OfCase):
    title = models.CharField(_("title"), max_length=200)

    class Meta(OfCase.Meta):
        abstract = True

    def __str__(self) -> str:
        return self.title


class Deadline(Titled):
    """A moment after which it is too late."""

    class Status(models.TextChoices):
        PENDING = "pending", _("Pending")
        MET = "met", _("Met")
        CANCELLED = "cancelled", _("Cancelled")

    due_at = models.DateTimeField(_("due"))
    status = models.CharField(
        _("status"), max_length=20, choices=Status.choices, default=Status.PENDING
    )
    settled_at = models.DateTimeField(_("settled"), null=True, blank=True)

    class Meta(OfCase.Meta):
        verbose_name = _("deadline")
        verbose_name_plural = _("deadlines")
        constraints = [
            models.CheckConstraint(
                condition=Q(status="pending", settled_at=None)
                | Q(status__in=["met", "cancelled"], settled_at__isnull=False),
                name="deadline_settled_has_a_date",
            ),
        ]
        indexes = [
            models.Index(fields=["case", "due_at", "id"], name="deadline_of_case"),
            # Read by the console's list.
            models.Index(fields=["tenant", "due_at", "-id"], name="deadline_of_tenant"),
            # Read by the scan for deadlines that come near.
            models.Index(fields=["due_at"], condition=Q(status="pending"), name="deadline_pending"),
        ]


class Payment(Titled):
    """Money that has to be paid on a day."""

    class Status(models.TextChoices):
        PENDING = "pending", _("Pending")
        PAID = "paid", _("Paid")
        CANCELLED = "cancelled", _("Cancelled")

    payee = models.CharField(_("payee"), max_length=200, blank=True)
    amount = money(_("amount"), validators=[MinValueValidator(Decimal("0.01"))])
    currency = three_letters()
    due_at = models.DateTimeField(_("due"))
    status = models.CharField(
        _("status"), max_length=20, choices=Status.choices, default=Status.PENDING
    )
    settled_at = models.DateTimeField(_("settled"), null=True, blank=True)

    class Meta(OfCase.Meta):
        verbose_name = _("payment")
        verbose_name_plural = _("payments")
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="payment_of_something"),
            models.CheckConstraint(
                condition=Q(currency__regex="^[A-Z]{3}$"), name="payment_currency_has_three_letters"
            ),
            models.CheckConstraint(
                condition=Q(status="pending", settled_at=None)
                | Q(status__in=["paid", "cancelled"], settled_at__isnull=False),
                name="payment_settled_has_a_date",
            ),
        ]
        indexes = [
            models.Index(fields=["case", "due_at", "id"], name="payment_of_case"),
            # Read by the console's list.
            models.Index(fields=["tenant", "due_at", "-id"], name="payment_of_tenant"),
            # Read by the scan for payments whose day has come.
            models.Index(fields=["due_at"], condition=Q(status="pending"), name="payment_pending"),
        ]


class Review(Titled):
    """A stakeholder looks at the case at a set time."""

    class Status(models.TextChoices):
        SCHEDULED = "scheduled", _("Scheduled")
        HELD = "held", _("Held")
        CANCELLED = "cancelled", _("Cancelled")

    stakeholder = models.CharField(_("stakeholder"), max_length=200)
    scheduled_at = models.DateTimeField(_("scheduled for"))
    status = models.CharField(
        _("status"), max_length=20, choices=Status.choices, default=Status.SCHEDULED
    )
    outcome = models.TextField(_("outcome"), max_length=10_000, blank=True)
    settled_at = models.DateTimeField(_("settled"), null=True, blank=True)

    class Meta(OfCase.Meta):
        verbose_name = _("review")
        verbose_name_plural = _("reviews")
        constraints = [
            models.CheckConstraint(
                condition=Q(status="scheduled", settled_at=None)
                | Q(status__in=["held", "cancelled"], settled_at__isnull=False),
                name="review_settled_has_a_date",
            ),
        ]
        indexes = [
            models.Index(fields=["case", "scheduled_at", "id"], name="review_of_case"),
            # Read by the console's list.
            models.Index(fields=["tenant", "scheduled_at", "-id"], name="review_of_tenant"),
            # Read by the scan for reviews that come up.
            models.Index(
                fields=["scheduled_at"], condition=Q(status="scheduled"), name="review_scheduled"
            ),
        ]


class Approval(Titled):
    """Somebody has to say yes or no in time."""

    class Status(models.TextChoices):
        PENDING = "pending", _("Pending")
        APPROVED = "approved", _("Approved")
        REJECTED = "rejected", _("Rejected")
        CANCELLED = "cancelled", _("Cancelled")

    due_at = models.DateTimeField(_("due"))
    approver = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("approver"),
        help_text=_("Nobody in particular: a manager or an admin decides."),
    )
    status = models.CharField(
        _("status"), max_length=20, choices=Status.choices, default=Status.PENDING
    )
    settled_at = models.DateTimeField(_("settled"), null=True, blank=True)
    settled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("settled by"),
    )
    note = models.TextField(_("note"), max_length=10_000, blank=True)

    class Meta(OfCase.Meta):
        verbose_name = _("approval")
        verbose_name_plural = _("approvals")
        constraints = [
            models.CheckConstraint(
                condition=Q(status="pending", settled_at=None)
                | Q(status__in=["approved", "rejected", "cancelled"], settled_at__isnull=False),
                name="approval_settled_has_a_date",
            ),
        ]
        indexes = [
            models.Index(fields=["case", "due_at", "id"], name="approval_of_case"),
            # Read by the console's list.
            models.Index(fields=["tenant", "due_at", "-id"], name="approval_of_tenant"),
            # Read by the scan for approvals that were not given in time.
            models.Index(fields=["due_at"], condition=Q(status="pending"), name="approval_pending"),
        ]


class CashPosition(TenantOwned):
    """How much cash a case has, and from when on that is too little."""

    case = models.OneToOneField(
        Case,
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="cash",
        verbose_name=_("case"),
    )
    balance = money(_("balance"))
    threshold = money(_("threshold"), default=0, validators=[NOT_NEGATIVE])
    currency = three_letters()
    updated_at = models.DateTimeField(_("as of"), default=timezone.now)

    class Meta:
        verbose_name = _("cash position")
        verbose_name_plural = _("cash positions")
        base_manager_name = "across_tenants"
        constraints = [
            models.CheckConstraint(
                condition=Q(threshold__gte=0), name="cash_threshold_not_negative"
            ),
            models.CheckConstraint(
                condition=Q(currency__regex="^[A-Z]{3}$"), name="cash_currency_has_three_letters"
            ),
        ]
        indexes = [
            # Read by the scan for cases that run out of cash.
            models.Index(
                fields=["case"], condition=Q(balance__lt=F("threshold")), name="cash_is_low"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.balance} {self.currency}"

    @property
    def is_low(self) -> bool:
        return bool(self.balance < self.threshold)


class Dataset(OfCase):
    """Data that was registered in a case, and how much of it has issues."""

    name = models.CharField(_("name"), max_length=200)
    records_count = models.PositiveIntegerField(_("records"))
    issues_count = models.PositiveIntegerField(_("records with issues"), default=0)

    class Meta(OfCase.Meta):
        verbose_name = _("dataset")
        verbose_name_plural = _("datasets")
        constraints = [
            models.CheckConstraint(
                condition=Q(issues_count__lte=F("records_count")),
                name="dataset_issues_are_of_its_records",
                violation_error_message=_("There cannot be more issues than records."),
            ),
        ]
        indexes = [
            models.Index(fields=["case", "-created_at", "-id"], name="dataset_of_case"),
        ]

    def __str__(self) -> str:
        return self.name


class Comment(OfCase):
    """What somebody said about a case. Taken back, it stays as a row without its words shown."""

    author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="+",
        verbose_name=_("author"),
    )
    body = models.TextField(_("text"), max_length=10_000)
    deleted_at = models.DateTimeField(_("deleted"), null=True, blank=True)
    # By the database's clock at the beginning of the transaction: recovery compares it with the
    # beginnings of transactions that are still running.
    changed_at = models.DateTimeField(_("changed"), db_default=Now(), editable=False)

    class Meta(OfCase.Meta):
        verbose_name = _("comment")
        verbose_name_plural = _("comments")
        indexes = [
            # Read by the comments of a case, and by a recount of them.
            models.Index(
                fields=["case", "-created_at", "-id"],
                condition=Q(deleted_at=None),
                name="comment_of_case",
            ),
            # Read by the recovery of counts.
            models.Index(fields=["changed_at"], name="comment_changed"),
        ]

    def __str__(self) -> str:
        return self.body[:80]


class CaseStep(OfCase):
    """What became of a case, when, by whom and why. Only ever added to."""

    class Kind(models.TextChoices):
        OPENED = "opened", _("Opened")
        MOVED = "moved", _("Status changed")
        ASSIGNED = "assigned", _("Assigned")

    kind = models.CharField(_("what"), max_length=10, choices=Kind.choices)
    actor = models.CharField(_("who"), max_length=300)
    # As in the event: statuses, or ids of people.
    facts = models.JSONField(_("details"), default=dict)
    note = models.TextField(_("reason"), blank=True)

    class Meta(OfCase.Meta):
        verbose_name = _("step of a case")
        verbose_name_plural = _("steps of a case")
        indexes = [
            # Read by the timeline of a case.
            models.Index(fields=["case", "-created_at", "-id"], name="step_of_case"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} · {self.actor}"


class WatchMark(TenantOwned):
    """What the clockwork has said already, so that it says it once."""

    event_type = models.CharField(_("event type"), max_length=50)
    aggregate_id = models.UUIDField(_("of what"))
    mark = models.CharField(_("mark"), max_length=10)
    # For which date it was said: another date, and it is to be said again.
    due_at = models.DateTimeField(_("due"), null=True)
    marked_at = models.DateTimeField(_("said"))

    class Meta:
        verbose_name = _("watch mark")
        verbose_name_plural = _("watch marks")
        base_manager_name = "across_tenants"
        constraints = [
            models.UniqueConstraint(
                fields=["aggregate_id", "event_type", "mark"], name="watch_mark_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.mark}"


class CountBatch(models.Model):
    """Deltas of comment counts that were added to cases, or a recount; it belongs to no tenant."""

    class Kind(models.TextChoices):
        ADDED = "added", _("Deltas added")
        RECOUNTED = "recounted", _("Recounted")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    # Every comment changed before this moment had been seen by this batch.
    processed_to = models.DateTimeField(_("processed to"))
    case_ids = ArrayField(models.UUIDField(), verbose_name=_("cases"), default=list)
    created_at = models.DateTimeField(_("created"), db_default=Now())

    class Meta:
        db_table = "count_batches"
        verbose_name = _("count batch")
        verbose_name_plural = _("count batches")
        indexes = [
            # Read by the next recovery and by the purge.
            models.Index(fields=["kind", "processed_to"], name="count_batch_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.processed_to:%F %T}"
