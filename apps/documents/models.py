"""Documents of cases, their versions, what was read in them, and the work that is done on them."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.events.ids import uuid7
from axiom.tenancy import TenantOwned

A_SHARE = [MinValueValidator(0.0), MaxValueValidator(1.0)]
A_NAME = RegexValidator(
    r"^[a-z][a-z0-9_-]*$", _("Lower-case letters, digits, - and _, a letter first.")
)


class Document(TenantOwned):
    """Something written that belongs to a case. Its content is in its versions."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    case = models.ForeignKey(
        "cases.Case", on_delete=models.PROTECT, related_name="+", verbose_name=_("case")
    )
    title = models.CharField(_("title"), max_length=200)
    # None only inside the transaction that makes both.
    latest = models.ForeignKey(
        "DocumentVersion",
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("latest version"),
    )
    created_by = models.CharField(_("created by"), max_length=254, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        indexes = [
            # Read by the list of a case's documents.
            models.Index(fields=["tenant", "case", "-created_at"], name="document_by_case"),
            # Read by the list of all documents.
            models.Index(fields=["tenant", "-created_at"], name="document_by_age"),
        ]

    def __str__(self) -> str:
        return self.title


class DocumentVersion(TenantOwned):
    """One file of a document, and how far the work on it has come."""

    class Origin(models.TextChoices):
        UPLOADED = "uploaded", _("Uploaded")
        GENERATED = "generated", _("Made from a template")

    class State(models.TextChoices):
        WAITING = "WAITING", _("In line")
        READING = "READING", _("Text is being read")
        EXTRACTING = "EXTRACTING", _("Fields are being extracted")
        GENERATING = "GENERATING", _("Being made")
        READY = "READY", _("Ready")
        NEEDS_OCR_ENGINE = "NEEDS_OCR_ENGINE", _("Waits for a text recognition engine")
        FAILED = "FAILED", _("Failed")

    class Method(models.TextChoices):
        TEXT_LAYER = "text_layer", _("Text in the file")
        OCR = "ocr", _("Text recognition")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    document = models.ForeignKey(
        Document, on_delete=models.CASCADE, related_name="versions", verbose_name=_("document")
    )
    number = models.PositiveIntegerField(_("version"))
    origin = models.CharField(_("origin"), max_length=10, choices=Origin.choices)
    file_name = models.CharField(_("file name"), max_length=200)
    content_type = models.CharField(_("content type"), max_length=100)
    # Both are empty until a document that is made from a template has been made.
    size_bytes = models.PositiveBigIntegerField(_("size"), null=True, blank=True)
    sha256 = models.CharField("SHA-256", max_length=64, blank=True)
    storage_key = models.CharField(max_length=120, null=True, unique=True, editable=False)  # noqa: DJ001
    workitem_id = models.UUIDField(_("work item that waits for it"), null=True, blank=True)

    state = models.CharField(_("state"), max_length=20, choices=State.choices)
    error = models.CharField(_("what went wrong"), max_length=500, blank=True)
    pages_count = models.PositiveIntegerField(_("pages"), default=0)
    pages_done = models.PositiveIntegerField(_("pages read"), default=0)
    method = models.CharField(_("text from"), max_length=10, choices=Method.choices, blank=True)
    text_confidence = models.FloatField(
        _("confidence of the text"), null=True, blank=True, validators=A_SHARE
    )
    confidence = models.FloatField(
        _("confidence of the fields"), null=True, blank=True, validators=A_SHARE
    )

    created_by = models.CharField(_("created by"), max_length=254)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    changed_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("version")
        verbose_name_plural = _("versions")
        constraints = [
            models.UniqueConstraint(
                fields=["document", "number"], name="document_version_numbered_once"
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="document_version_from_one"),
            models.CheckConstraint(
                condition=Q(storage_key__isnull=False)
                | Q(origin="generated", state__in=["GENERATING", "FAILED"]),
                name="document_version_has_its_file",
            ),
        ]
        indexes = [
            # Read by the look for documents to go on with once there is an engine.
            models.Index(
                fields=["id"],
                condition=Q(state="NEEDS_OCR_ENGINE"),
                name="version_waits_for_engine",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.file_name} ({self.number})"

    @property
    def is_settled(self) -> bool:
        """Whether nothing more will happen by itself."""
        return self.state in {self.State.READY, self.State.FAILED, self.State.NEEDS_OCR_ENGINE}


class Page(TenantOwned):
    """The text of one page. Written page by page, so that a crash costs one page of work."""

    version = models.ForeignKey(DocumentVersion, on_delete=models.CASCADE, related_name="pages")
    number = models.PositiveIntegerField(_("page"))
    text = models.TextField(_("text"), blank=True)
    method = models.CharField(max_length=10, choices=DocumentVersion.Method.choices)
    confidence = models.FloatField(null=True, validators=A_SHARE)

    class Meta(TenantOwned.Meta):
        verbose_name = _("page")
        verbose_name_plural = _("pages")
        constraints = [
            models.UniqueConstraint(fields=["version", "number"], name="document_page_once"),
        ]

    def __str__(self) -> str:
        return f"{self.version_id} · {self.number}"


class ExtractionPattern(TenantOwned):
    """How a tenant finds a field in the text of a document."""

    class ValueType(models.TextChoices):
        TEXT = "text", _("Text")
        NUMBER = "number", _("Number")
        DATE = "date", _("Date")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    field = models.CharField(
        _("field"), max_length=50, validators=[A_NAME], help_text=_("What the value is called.")
    )
    label = models.CharField(_("label"), max_length=100, blank=True)
    pattern = models.CharField(
        _("pattern"),
        max_length=500,
        help_text=_("RE2 syntax. The value is the group named `value`, the first one, or all."),
    )
    value_type = models.CharField(
        _("kind of value"), max_length=10, choices=ValueType.choices, default=ValueType.TEXT
    )
    confidence = models.FloatField(
        _("confidence"),
        default=0.9,
        validators=A_SHARE,
        help_text=_("How often it is right when it matches a clean text."),
    )
    is_active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("extraction pattern")
        verbose_name_plural = _("extraction patterns")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "field", "pattern"], name="extraction_pattern_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.field}: {self.pattern}"


class ExtractedValue(TenantOwned):
    """A field that was found in a version."""

    version = models.ForeignKey(DocumentVersion, on_delete=models.CASCADE, related_name="fields")
    name = models.CharField(_("field"), max_length=50)
    value = models.JSONField(_("value"))
    found_text = models.CharField(_("as written"), max_length=500)
    page = models.PositiveIntegerField(_("page"))
    confidence = models.FloatField(_("confidence"), validators=A_SHARE)

    class Meta(TenantOwned.Meta):
        verbose_name = _("extracted field")
        verbose_name_plural = _("extracted fields")
        constraints = [
            models.UniqueConstraint(fields=["version", "name"], name="extracted_field_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.found_text}"


class DocumentTemplate(TenantOwned):
    """A text with gaps (Jinja2, sandboxed) from which documents are made."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(
        _("name"), max_length=50, validators=[A_NAME], help_text=_("What programs call it.")
    )
    title = models.CharField(_("title"), max_length=200)
    body = models.TextField(
        _("text"),
        max_length=100_000,
        help_text=_("Jinja2. `# ` begins a heading, `- ` an item, `| a | b |` a row of a table."),
    )
    # What it has gaps for; found when it is saved.
    variables = models.JSONField(_("values"), default=list, editable=False)
    is_active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    changed_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("document template")
        verbose_name_plural = _("document templates")
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="document_template_named_once"),
        ]

    def __str__(self) -> str:
        return self.title


class Job(TenantOwned):
    """One piece of work on a version. The row is the truth; a worker leases it while it works."""

    class Kind(models.TextChoices):
        OCR = "ocr", _("Read the text")
        EXTRACT = "extract", _("Extract fields")
        GENERATE = "generate", _("Make the document")

    class State(models.TextChoices):
        REQUESTED = "REQUESTED", _("Requested")
        QUEUED = "QUEUED", _("In line")
        RUNNING = "RUNNING", _("Running")
        DONE = "DONE", _("Done")
        NEEDS_OCR_ENGINE = "NEEDS_OCR_ENGINE", _("Needs a text recognition engine")
        FAILED = "FAILED", _("Failed")

    OPEN = ("REQUESTED", "QUEUED", "RUNNING")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    version = models.ForeignKey(
        DocumentVersion, on_delete=models.CASCADE, related_name="jobs", verbose_name=_("version")
    )
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    state = models.CharField(_("state"), max_length=20, choices=State.choices)
    # What to make: template, format and values as they were when it was asked for.
    request = models.JSONField(_("request"), default=dict)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    error = models.CharField(_("what went wrong"), max_length=500, blank=True)
    run_after = models.DateTimeField(_("not before"), null=True)
    leased_until = models.DateTimeField(_("leased until"), null=True)
    # Names one attempt: a worker whose lease ran out can no longer change anything.
    claim_token = models.UUIDField(null=True)
    worker = models.CharField(_("worker"), max_length=100, blank=True)
    actor = models.CharField(_("asked for by"), max_length=254)
    trace_id = models.CharField(_("trace"), max_length=64, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    started_at = models.DateTimeField(_("started"), null=True)
    finished_at = models.DateTimeField(_("finished"), null=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        constraints = [
            # Two at once would write the same pages.
            models.UniqueConstraint(
                fields=["version"],
                condition=Q(state__in=("REQUESTED", "QUEUED", "RUNNING")),
                name="one_open_job_per_version",
            ),
            models.CheckConstraint(
                condition=~Q(state="RUNNING")
                | Q(claim_token__isnull=False, leased_until__isnull=False),
                name="running_job_is_leased",
            ),
        ]
        indexes = [
            # Read by workers that look for something to do, one tenant after the other.
            models.Index(
                fields=["tenant", "id"],
                condition=Q(state__in=("QUEUED", "RUNNING")),
                name="job_to_do_by_tenant",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.version_id}"

    @property
    def duration_ms(self) -> int:
        if self.started_at is None or self.finished_at is None:
            return 0
        return max(int((self.finished_at - self.started_at).total_seconds() * 1000), 0)
