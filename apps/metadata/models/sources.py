"""Databases of the tenant that Axiom reads, and every reading of them."""

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.events.ids import uuid7
from axiom.tenancy import TenantOwned

A_NAME = RegexValidator(
    r"^[a-z][a-z0-9_-]*\Z", _("Lower-case letters, digits, - and _, a letter first.")
)
A_SHARE = [MinValueValidator(0.0), MaxValueValidator(1.0)]
NOT_OFTENER_THAN = MinValueValidator(5)
A_PORT = [MinValueValidator(1), MaxValueValidator(65535)]


class Engine(models.TextChoices):
    """What kind of database it is. Not translated: these are names."""

    POSTGRESQL = "postgresql", "PostgreSQL"
    MYSQL = "mysql", "MySQL"
    MARIADB = "mariadb", "MariaDB"
    SQLITE = "sqlite", "SQLite"


class DataSource(TenantOwned):
    """A database whose structure is kept in the catalog."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(
        _("name"), max_length=100, validators=[A_NAME], help_text=_("What programs call it.")
    )
    title = models.CharField(_("title"), max_length=200, blank=True)
    engine = models.CharField(_("engine"), max_length=20, choices=Engine.choices)
    host = models.CharField(_("host"), max_length=255, blank=True)
    port = models.PositiveIntegerField(_("port"), null=True, blank=True, validators=A_PORT)
    database = models.CharField(
        _("database"),
        max_length=255,
        help_text=_("Its name; of SQLite, a file in the directory of METADATA_FILES_DIR."),
    )
    username = models.CharField(_("user name"), max_length=255, blank=True)
    # A sealed text: see apps/metadata/credentials.py. It goes in and never out.
    sealed_password = models.TextField(blank=True, editable=False)
    ssl_mode = models.CharField(
        _("TLS"),
        max_length=20,
        blank=True,
        choices=[(mode, mode) for mode in ("disable", "prefer", "require", "verify-full")],
    )
    schemas = ArrayField(
        models.CharField(max_length=255),
        verbose_name=_("schemas"),
        default=list,
        blank=True,
        help_text=_("Only these are read; none named: all but the system's own."),
    )
    case = models.ForeignKey(
        "cases.Case",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("case"),
    )
    tolerated_removals = models.FloatField(
        _("tolerated share of removals"),
        default=0.5,
        validators=A_SHARE,
        help_text=_("If more of the tables were gone, somebody has to approve it."),
    )
    every_minutes = models.PositiveIntegerField(
        _("read every (minutes)"), null=True, blank=True, validators=[NOT_OFTENER_THAN]
    )
    next_run_at = models.DateTimeField(_("next reading"), null=True, editable=False)
    is_active = models.BooleanField(_("active"), default=True)
    # Where object identities (oids) come from: those of a restored copy mean other things.
    identity_scope = models.CharField(max_length=100, blank=True, editable=False)
    # Counts transactions that changed its catalog; what a snapshot remembers.
    version = models.BigIntegerField(_("version"), default=0, editable=False)
    tables_count = models.PositiveIntegerField(_("tables"), default=0, editable=False)
    columns_count = models.PositiveIntegerField(_("columns"), default=0, editable=False)
    last_extracted_at = models.DateTimeField(_("last read"), null=True, editable=False)
    created_by = models.CharField(_("created by"), max_length=254, editable=False)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)

    class Meta(TenantOwned.Meta):
        verbose_name = _("data source")
        verbose_name_plural = _("data sources")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "name"],
                name="datasource_named_once",
                violation_error_message=_("Another data source is called that."),
            ),
            models.CheckConstraint(
                condition=Q(tolerated_removals__gte=0, tolerated_removals__lte=1),
                name="datasource_removals_are_a_share",
            ),
        ]
        indexes = [
            # Read by the scan for sources that are due.
            models.Index(
                fields=["next_run_at"],
                condition=Q(is_active=True, next_run_at__isnull=False),
                name="datasource_due",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def has_password(self) -> bool:
        return bool(self.sealed_password)


class ExtractionRun(TenantOwned):
    """One reading of a data source: asked for, on its way, held for approval, or over."""

    class State(models.TextChoices):
        QUEUED = "QUEUED", _("In line")
        RUNNING = "RUNNING", _("Running")
        HELD = "HELD", _("Held for approval")
        DONE = "DONE", _("Done")
        FAILED = "FAILED", _("Failed")
        CANCELLED = "CANCELLED", _("Cancelled")
        REJECTED = "REJECTED", _("Rejected")
        APPROVED = "APPROVED", _("Approved")

    class Step(models.TextChoices):
        WAITING = "waiting", _("In line")
        CONNECTING = "connecting", _("Connecting")
        READING = "reading", _("Reading the database")
        COMPARING = "comparing", _("Comparing")
        STORING = "storing", _("Storing")
        OVER = "over", _("Over")

    class Trigger(models.TextChoices):
        REQUEST = "request", _("Asked for")
        SCHEDULE = "schedule", _("Scheduled")
        APPROVAL = "approval", _("After approval")

    OPEN = ("QUEUED", "RUNNING")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    datasource = models.ForeignKey(
        DataSource, on_delete=models.CASCADE, related_name="runs", verbose_name=_("data source")
    )
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.QUEUED)
    step = models.CharField(_("step"), max_length=10, choices=Step.choices, default=Step.WAITING)
    trigger = models.CharField(
        _("why"), max_length=10, choices=Trigger.choices, default=Trigger.REQUEST
    )
    done = models.PositiveIntegerField(_("done"), default=0)
    total = models.PositiveIntegerField(_("of"), default=0)
    tables_count = models.PositiveIntegerField(_("tables"), default=0)
    columns_count = models.PositiveIntegerField(_("columns"), default=0)
    added_count = models.PositiveIntegerField(_("tables added"), default=0)
    removed_count = models.PositiveIntegerField(_("tables removed"), default=0)
    changed_count = models.PositiveIntegerField(_("tables changed"), default=0)
    breaking_count = models.PositiveIntegerField(_("breaking changes"), default=0)
    error_code = models.CharField(_("code of the error"), max_length=50, blank=True)
    error = models.CharField(_("what went wrong"), max_length=500, blank=True)
    held_because = models.CharField(_("why held"), max_length=500, blank=True)
    # Of a held run: what it would change, and the tables that would go (schema.table).
    pending = models.JSONField(_("pending changes"), default=list)
    removals = models.JSONField(_("pending removals"), default=list)
    # Of a run after an approval: only these tables may go without asking again.
    approved_removals = models.JSONField(null=True)
    cancel_asked = models.BooleanField(_("asked to stop"), default=False)
    requested_by = models.CharField(_("asked for by"), max_length=254)
    decided_by = models.CharField(_("decided by"), max_length=254, blank=True)
    decided_at = models.DateTimeField(_("decided"), null=True)
    note = models.CharField(_("note"), max_length=500, blank=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    started_at = models.DateTimeField(_("started"), null=True)
    finished_at = models.DateTimeField(_("finished"), null=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("extraction run")
        verbose_name_plural = _("extraction runs")
        constraints = [
            models.UniqueConstraint(
                fields=["datasource"],
                condition=Q(state__in=("QUEUED", "RUNNING")),
                name="one_open_run_per_datasource",
            ),
        ]
        indexes = [
            # Read by the lists, newest first, and by the look for runs that crashed.
            models.Index(fields=["datasource", "-created_at"], name="run_of_datasource"),
            models.Index(fields=["tenant", "-created_at"], name="run_newest"),
            models.Index(
                fields=["id"], condition=Q(state__in=("QUEUED", "RUNNING")), name="run_open"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.datasource} {self.created_at:%F %T}"

    @property
    def duration_ms(self) -> int:
        if self.started_at is None or self.finished_at is None:
            return 0
        return max(int((self.finished_at - self.started_at).total_seconds() * 1000), 0)
