"""The index of tables and columns, and queries that were asked before."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.events.ids import uuid7
from axiom.references import Checked, Reference
from axiom.tenancy import TenantOwned


class IndexEntry(TenantOwned):
    """A table, or a column, as it can be searched for.

    Where PostgreSQL has pgvector there is one more column, `embedding`; see vectors.py.
    """

    datasource_name = models.CharField(_("data source"), max_length=200)
    schema_name = models.TextField(_("schema"))
    table_name = models.TextField(_("table"))
    # Empty for the table itself.
    column_name = models.TextField(_("column"), blank=True)
    dtype = models.TextField(_("type"), blank=True)
    description = models.TextField(_("description"), blank=True)
    terms = models.JSONField(_("terms"), default=list)
    is_offered = models.BooleanField(_("offered to queries"), default=True)
    # Of everything above and of what was made of it.
    fingerprint = models.CharField(max_length=32)
    embedder = models.CharField(max_length=100, blank=True)
    # Used where there is no pgvector.
    words = SearchVectorField(null=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("index entry")
        verbose_name_plural = _("index entries")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "datasource_name", "schema_name", "table_name", "column_name"],
                name="index_entry_once",
            ),
        ]
        indexes = [
            # Read by the search where there is no pgvector.
            GinIndex(fields=["words"], name="index_entry_words"),
        ]

    def __str__(self) -> str:
        return ".".join(filter(None, (self.schema_name, self.table_name, self.column_name)))


class CachedQuery(Checked):
    """A question that was asked, and the SQL that answers it."""

    class Engine(models.TextChoices):
        """Whose SQL it is. Not translated: these are names."""

        POSTGRESQL = "postgresql", "PostgreSQL"
        MYSQL = "mysql", "MySQL"
        MARIADB = "mariadb", "MariaDB"
        SQLITE = "sqlite", "SQLite"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    question = models.CharField(_("question"), max_length=1000)
    sql = models.TextField(_("SQL"), max_length=50_000)
    engine = models.CharField(
        _("engine"), max_length=20, choices=Engine.choices, default=Engine.POSTGRESQL
    )
    default_schema = models.CharField(
        _("default schema"),
        max_length=200,
        default="public",
        help_text=_("Where tables are that the query names without a schema."),
    )
    created_by = models.CharField(_("created by"), max_length=254, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta(Checked.Meta):
        verbose_name = _("cached query")
        verbose_name_plural = _("cached queries")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "datasource_name", "question"],
                name="cached_query_once",
                violation_error_message=_("This question is answered already."),
            ),
        ]
        indexes = [
            # Read by the list of queries.
            models.Index(fields=["tenant", "-created_at"], name="cached_query_by_age"),
        ]

    def __str__(self) -> str:
        return self.question


class QueryReference(Reference):
    owner = models.ForeignKey(CachedQuery, on_delete=models.CASCADE, related_name="references")

    class Meta(Reference.Meta):
        verbose_name = _("column of a query")
        verbose_name_plural = _("columns of queries")
