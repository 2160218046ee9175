"""What people know beyond the structure, what changed, and what was kept of the past."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop

from apps.events.ids import uuid7
from axiom.tenancy import TenantOwned

AFTER_EXTRACTION = noop("After an extraction")


class GlossaryTerm(TenantOwned):
    """A word of the business, and where in a data source it is found."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    datasource = models.ForeignKey(
        "DataSource",
        on_delete=models.CASCADE,
        related_name="terms",
        verbose_name=_("data source"),
    )
    term = models.CharField(_("term"), max_length=200)
    definition = models.TextField(_("definition"), max_length=10_000)
    synonyms = ArrayField(
        models.CharField(max_length=200), verbose_name=_("synonyms"), default=list, blank=True
    )
    related_columns = ArrayField(
        models.CharField(max_length=600),
        verbose_name=_("related columns"),
        default=list,
        blank=True,
        help_text=_("As schema.table.column."),
    )
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("glossary term")
        verbose_name_plural = _("glossary terms")
        constraints = [
            models.UniqueConstraint(
                fields=["datasource", "term"],
                name="glossary_term_once",
                violation_error_message=_("This term is defined already."),
            ),
        ]
        indexes = [
            # Read by the list of a tenant's terms.
            models.Index(fields=["tenant", "term", "id"], name="glossary_term_by_name"),
        ]

    def __str__(self) -> str:
        return self.term


class CatalogChange(TenantOwned):
    """One thing that changed in the catalog: the history of tables, columns and terms."""

    class Kind(models.TextChoices):
        TABLE_ADDED = "table_added", _("Table added")
        TABLE_REMOVED = "table_removed", _("Table removed")
        TABLE_RENAMED = "table_renamed", _("Table renamed")
        KIND_CHANGED = "kind_changed", _("Kind of table changed")
        DEFINITION_CHANGED = "definition_changed", _("Definition of a view changed")
        COLUMN_ADDED = "column_added", _("Column added")
        COLUMN_REMOVED = "column_removed", _("Column removed")
        COLUMN_RENAMED = "column_renamed", _("Column renamed")
        TYPE_CHANGED = "type_changed", _("Type changed")
        NULLABLE_CHANGED = "nullable_changed", _("Nullability changed")
        DEFAULT_CHANGED = "default_changed", _("Default changed")
        PRIMARY_KEY_CHANGED = "primary_key_changed", _("Primary key changed")
        FOREIGN_KEY_ADDED = "foreign_key_added", _("Foreign key added")
        FOREIGN_KEY_REMOVED = "foreign_key_removed", _("Foreign key removed")
        FOREIGN_KEY_CHANGED = "foreign_key_changed", _("Foreign key changed")
        INDEX_ADDED = "index_added", _("Index added")
        INDEX_REMOVED = "index_removed", _("Index removed")
        INDEX_CHANGED = "index_changed", _("Index changed")
        COMMENT_CHANGED = "comment_changed", _("Comment changed")
        DESCRIPTION_CHANGED = "description_changed", _("Description changed")
        TAG_CHANGED = "tag_changed", _("Tag changed")
        TERM_CHANGED = "term_changed", _("Term changed")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    datasource = models.ForeignKey(
        "DataSource", on_delete=models.CASCADE, related_name="+", verbose_name=_("data source")
    )
    run = models.ForeignKey(
        "ExtractionRun",
        null=True,
        on_delete=models.SET_NULL,
        related_name="changes",
        verbose_name=_("extraction run"),
    )
    kind = models.CharField(_("kind"), max_length=20, choices=Kind.choices)
    schema = models.TextField(_("schema"), blank=True)
    table = models.TextField(_("table"), blank=True)
    # Of a column, a key, an index, a tag or a term: its name.
    name = models.TextField(_("of what"), blank=True)
    before = models.JSONField(_("before"), null=True)
    after = models.JSONField(_("after"), null=True)
    breaking = models.BooleanField(_("breaking"), default=False)
    reason = models.CharField(_("why"), max_length=200, blank=True)
    actor = models.CharField(_("by"), max_length=254)
    version = models.BigIntegerField(_("version"), default=0)
    created_at = models.DateTimeField(_("when"), default=timezone.now)

    class Meta(TenantOwned.Meta):
        verbose_name = _("catalog change")
        verbose_name_plural = _("catalog changes")
        indexes = [
            # Read by the list of changes, newest first, also of one data source or table.
            models.Index(fields=["tenant", "-created_at", "-id"], name="catalog_change_newest"),
            models.Index(
                fields=["datasource", "-created_at", "-id"], name="catalog_change_of_source"
            ),
            models.Index(
                fields=["datasource", "schema", "table", "-created_at"],
                name="catalog_change_of_table",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.schema}.{self.table} {self.name}".rstrip()


class Snapshot(TenantOwned):
    """The state of a data source's catalog at one version, kept under a label."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    datasource = models.ForeignKey(
        "DataSource",
        on_delete=models.CASCADE,
        related_name="snapshots",
        verbose_name=_("data source"),
    )
    label = models.CharField(_("label"), max_length=200, blank=True)
    version = models.BigIntegerField(_("version"))
    tables_count = models.PositiveIntegerField(_("tables"), default=0)
    columns_count = models.PositiveIntegerField(_("columns"), default=0)
    created_by = models.CharField(_("created by"), max_length=254)
    created_at = models.DateTimeField(_("created"), default=timezone.now)

    class Meta(TenantOwned.Meta):
        verbose_name = _("snapshot")
        verbose_name_plural = _("snapshots")
        indexes = [
            # Read by the lists, newest first.
            models.Index(fields=["datasource", "-created_at"], name="snapshot_of_source"),
            models.Index(fields=["tenant", "-created_at", "-id"], name="snapshot_newest"),
        ]

    def __str__(self) -> str:
        return self.label or f"{self.created_at:%F %T}"

    @property
    def shown_label(self) -> str:
        """Those that Axiom kept by itself are called so in the reader's language."""
        return gettext(AFTER_EXTRACTION) if self.label == AFTER_EXTRACTION else self.label
