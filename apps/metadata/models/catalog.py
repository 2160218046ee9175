"""The catalog: tables and columns as they are now, and every version they had."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Deferrable, Q
from django.utils.translation import gettext_lazy as _

from apps.events.ids import uuid7
from axiom.tenancy import TenantOwned


class Described(TenantOwned):
    """What people and generators say about a table or a column, beside what the database says."""

    class Source(models.TextChoices):
        MANUAL = "manual", _("By hand")
        GENERATED = "llm_enrichment", _("Generated")
        DATABASE = "database", _("From the database")

    comment = models.TextField(_("comment in the database"), blank=True)
    description = models.TextField(_("description"), blank=True)
    description_source = models.CharField(
        _("description from"), max_length=20, choices=Source.choices, blank=True
    )
    tags = models.JSONField(_("tags"), default=dict, blank=True)

    class Meta(TenantOwned.Meta):
        abstract = True

    @property
    def told(self) -> str:
        """What readers are told it is: somebody's description, or the database's comment."""
        return self.description or self.comment


class CatalogTable(Described):
    """A table or a view. Its partitions are counted, not listed.

    Keys and indexes are read and written with their table only, and so are part of its row.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    datasource = models.ForeignKey(
        "DataSource",
        on_delete=models.CASCADE,
        related_name="tables",
        verbose_name=_("data source"),
    )
    schema = models.TextField(_("schema"))
    name = models.TextField(_("name"))
    kind = models.CharField(_("kind"), max_length=30)
    # PostgreSQL's oid: the same through every rename.
    identity = models.BigIntegerField(_("object id"), null=True)
    row_count = models.BigIntegerField(_("rows (estimate)"), null=True)
    partitions_count = models.PositiveIntegerField(_("partitions"), default=0)
    columns_count = models.PositiveIntegerField(_("columns"), default=0)
    primary_key = ArrayField(models.TextField(), verbose_name=_("primary key"), default=list)
    foreign_keys = models.JSONField(_("foreign keys"), default=list)
    indexes = models.JSONField(_("indexes"), default=list)
    definition = models.TextField(_("definition"), blank=True)
    # Of what was read: a table whose fingerprint is known need not be compared.
    fingerprint = models.CharField(max_length=32, blank=True)

    class Meta(Described.Meta):
        verbose_name = _("table")
        verbose_name_plural = _("tables")
        constraints = [
            # Looked at when the transaction ends: two tables may exchange their names.
            models.UniqueConstraint(
                fields=["datasource", "schema", "name"],
                name="catalog_table_once",
                deferrable=Deferrable.DEFERRED,
            ),
        ]
        indexes = [
            # Read by the list of all tables of a tenant.
            models.Index(fields=["tenant", "schema", "name", "id"], name="catalog_table_by_name"),
            # Read by the look for tables that refer to one.
            GinIndex(
                fields=["foreign_keys"], opclasses=["jsonb_path_ops"], name="catalog_table_refers"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


class CatalogColumn(Described):
    """A column of a table or a view."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    table = models.ForeignKey(
        CatalogTable, on_delete=models.CASCADE, related_name="columns", verbose_name=_("table")
    )
    name = models.TextField(_("name"))
    position = models.PositiveIntegerField(_("position"))
    # PostgreSQL's attnum: the same through every rename.
    number = models.PositiveIntegerField(_("number"), null=True)
    dtype = models.TextField(_("type"))
    nullable = models.BooleanField(_("nullable"))
    default = models.TextField(_("default"), null=True)  # noqa: DJ001  (an empty text is a default)

    class Meta(Described.Meta):
        verbose_name = _("column")
        verbose_name_plural = _("columns")
        constraints = [
            models.UniqueConstraint(
                fields=["table", "name"],
                name="catalog_column_once",
                deferrable=Deferrable.DEFERRED,
            ),
        ]
        indexes = [
            # Read by the search for columns of a tenant by name.
            models.Index(fields=["tenant", "name", "id"], name="catalog_column_by_name"),
        ]

    def __str__(self) -> str:
        return self.name


class TableVersion(TenantOwned):
    """A table as it was from one version of its data source to another."""

    datasource = models.ForeignKey("DataSource", on_delete=models.CASCADE, related_name="+")
    table_id = models.UUIDField(_("table"))
    schema = models.TextField(_("schema"))
    name = models.TextField(_("name"))
    document = models.JSONField(_("as it was"))
    since = models.BigIntegerField(_("since version"))
    until = models.BigIntegerField(_("until version"), null=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("version of a table")
        verbose_name_plural = _("versions of tables")
        constraints = [
            models.UniqueConstraint(
                fields=["table_id"], condition=Q(until=None), name="table_version_one_is_now"
            ),
        ]
        indexes = [
            # Read by snapshots: what was there at a version.
            models.Index(fields=["datasource", "since", "until"], name="table_version_at"),
        ]

    def __str__(self) -> str:
        return f"{self.schema}.{self.name} ({self.since})"
