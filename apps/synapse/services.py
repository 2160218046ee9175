"""The ontology is written, tied to tables and columns, and held against the catalog."""

from collections.abc import Collection, Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.events.context import current
from apps.metadata import selectors as metadata
from apps.synapse.models import EventLogBinding, OntologyLink, OntologyNode
from axiom.references import Renames, Report, Use, Where, recheck, refer

CHECKED = (OntologyLink, EventLogBinding)


@transaction.atomic
def add_node(**facts: Any) -> OntologyNode:
    """Add a notion to a layer of the ontology."""
    return _save_node(OntologyNode(created_by=current().actor, **facts))


@transaction.atomic
def change_node(node: OntologyNode, /, **facts: Any) -> OntologyNode:
    return _save_node(_with(node, facts))


@transaction.atomic
def remove_node(node: OntologyNode) -> None:
    """Remove a node with its links."""
    node.delete()


@transaction.atomic
def link_node(**facts: Any) -> OntologyLink:
    """Say which table or column a node stands for."""
    return change_link(OntologyLink(**facts))


@transaction.atomic
def change_link(link: OntologyLink, /, **facts: Any) -> OntologyLink:
    _with(link, facts)
    return _save(link, [Use(link.schema_name, link.table_name, link.column_name)])


@transaction.atomic
def remove_link(link: OntologyLink) -> None:
    link.delete()


@transaction.atomic
def bind_event_log(**facts: Any) -> EventLogBinding:
    """Say which table is read as an event log, and what its columns mean."""
    return change_binding(EventLogBinding(created_by=current().actor, **facts))


@transaction.atomic
def change_binding(binding: EventLogBinding, /, **facts: Any) -> EventLogBinding:
    _with(binding, facts)
    where = (binding.schema_name, binding.table_name)
    columns = (
        "", binding.case_column, binding.activity_column, binding.timestamp_column,
        binding.resource_column,
    )  # fmt: skip
    return _save(binding, [Use(*where, column) for column in columns])


@transaction.atomic
def remove_binding(binding: EventLogBinding) -> None:
    binding.delete()


@transaction.atomic
def check_ontology(
    datasource_name: str,
    *,
    only: Collection[Where] | None = None,
    renames: Renames | None = None,
) -> Report:
    """Hold links and bindings against the catalog: all of a source, or those on some tables."""
    report = Report()
    for model in CHECKED:
        report += recheck(
            model.objects.all(), datasource_name,
            known=metadata.known_tables, only=only, renames=renames,
        )  # fmt: skip
    return report


def reconcile() -> Report:
    """Everything of the tenant; also what belongs to a data source that is not there any more."""
    report = Report()
    for name in _datasources():
        report += check_ontology(name)
    return report


def _datasources() -> list[str]:
    return sorted(
        {
            name
            for model in CHECKED
            for name in model.objects.order_by().values_list("datasource_name", flat=True)
        }
    )


def _save_node(node: OntologyNode) -> OntologyNode:
    node.full_clean()
    node.save()
    return node


def _save(row: Any, uses: Iterable[Use]) -> Any:
    row.full_clean()
    if row.datasource_name not in metadata.datasource_names():
        raise ValidationError({"datasource_name": _("There is no such data source.")})
    refer(row, uses, known=metadata.known_tables)
    return row


def _with(row: Any, facts: dict[str, Any]) -> Any:
    for name, value in facts.items():
        setattr(row, name, value)
    return row
