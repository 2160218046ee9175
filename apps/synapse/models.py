"""The ontology, what in data sources it stands for, and where event logs are read."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.events.ids import uuid7
from axiom.references import Checked, Reference
from axiom.tenancy import TenantOwned


class OntologyNode(TenantOwned):
    """A notion of the business, in one of four layers."""

    class Layer(models.TextChoices):
        INSTANCE = "instance", _("Instance")
        PROCESS = "process", _("Process")
        RESOURCE = "resource", _("Resource")
        MEASURE = "measure", _("Measure")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    layer = models.CharField(_("layer"), max_length=10, choices=Layer.choices)
    name = models.CharField(_("name"), max_length=200)
    description = models.TextField(_("description"), max_length=10_000, blank=True)
    created_by = models.CharField(_("created by"), max_length=254, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("ontology node")
        verbose_name_plural = _("ontology nodes")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "layer", "name"], name="ontology_node_named_once"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class OntologyLink(Checked):
    """A node stands for what is in a table, or in a column of it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    node = models.ForeignKey(
        OntologyNode, on_delete=models.CASCADE, related_name="links", verbose_name=_("node")
    )
    schema_name = models.CharField(_("schema"), max_length=200)
    table_name = models.CharField(_("table"), max_length=200)
    column_name = models.CharField(_("column"), max_length=200, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta(Checked.Meta):
        verbose_name = _("ontology link")
        verbose_name_plural = _("ontology links")
        constraints = [
            models.UniqueConstraint(
                fields=["node", "datasource_name", "schema_name", "table_name", "column_name"],
                name="ontology_link_once",
            ),
        ]
        indexes = [
            # Read by the list of links.
            models.Index(fields=["tenant", "-created_at"], name="ontology_link_by_age"),
        ]

    def __str__(self) -> str:
        return ".".join(filter(None, (self.schema_name, self.table_name, self.column_name)))


class LinkReference(Reference):
    owner = models.ForeignKey(OntologyLink, on_delete=models.CASCADE, related_name="references")

    class Meta(Reference.Meta):
        verbose_name = _("column of a link")
        verbose_name_plural = _("columns of links")


class EventLogBinding(Checked):
    """A table that is read as an event log: whose case, which activity, and when."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=200)
    schema_name = models.CharField(_("schema"), max_length=200)
    table_name = models.CharField(_("table"), max_length=200)
    case_column = models.CharField(_("column of the case"), max_length=200)
    activity_column = models.CharField(_("column of the activity"), max_length=200)
    timestamp_column = models.CharField(_("column of the time"), max_length=200)
    resource_column = models.CharField(_("column of the resource"), max_length=200, blank=True)
    created_by = models.CharField(_("created by"), max_length=254, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta(Checked.Meta):
        verbose_name = _("event-log binding")
        verbose_name_plural = _("event-log bindings")
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="event_log_binding_named_once"),
        ]

    def __str__(self) -> str:
        return self.name


class BindingReference(Reference):
    owner = models.ForeignKey(EventLogBinding, on_delete=models.CASCADE, related_name="references")

    class Meta(Reference.Meta):
        verbose_name = _("column of a binding")
        verbose_name_plural = _("columns of bindings")
