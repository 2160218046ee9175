"""The catalog for the apps that read it: plain facts, no models."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from apps.metadata.models import CatalogColumn, CatalogTable, DataSource, GlossaryTerm


@dataclass(frozen=True, slots=True)
class KnownColumn:
    """A column as readers need it."""

    name: str
    dtype: str
    nullable: bool
    description: str
    tags: dict[str, Any]


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table or a view with its columns, in their order."""

    schema: str
    name: str
    kind: str
    description: str
    tags: dict[str, Any]
    columns: tuple[KnownColumn, ...]


@dataclass(frozen=True, slots=True)
class KnownTerm:
    """A word of the business; its related columns as schema.table.column."""

    term: str
    definition: str
    synonyms: tuple[str, ...]
    related_columns: tuple[str, ...]


def known_tables(
    datasource_name: str, only: Collection[tuple[str, str]] | None = None
) -> list[KnownTable]:
    """The tables of a data source, or only those of these schemas and names, by name.

    Two statements, whatever their number. A description is somebody's, or else the database's
    own comment. A data source that is not there has no tables.
    """
    rows = list(_tables(datasource_name, only).values_list(*_OF_TABLE))
    columns = _columns_of(datasource_name, [row[0] for row in rows] if only is not None else None)
    return [
        KnownTable(schema, name, kind, description or comment, tags, tuple(columns[table_id]))
        for table_id, schema, name, kind, description, comment, tags in rows
    ]


def glossary(datasource_name: str | None = None) -> list[KnownTerm]:
    """The terms of a data source, or of all of them, by name."""
    terms = GlossaryTerm.objects.order_by("term", "id")
    if datasource_name is not None:
        terms = terms.filter(datasource__name=datasource_name)
    return [
        KnownTerm(each.term, each.definition, tuple(each.synonyms), tuple(each.related_columns))
        for each in terms
    ]


def datasource_names() -> list[str]:
    """The names of all data sources, sorted."""
    return list(DataSource.objects.order_by("name").values_list("name", flat=True))


_AMONG = "(schema, metadata_catalogtable.name) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
_OF_TABLE = ("id", "schema", "name", "kind", "description", "comment", "tags")
_OF_COLUMN = ("table_id", "name", "dtype", "nullable", "description", "comment", "tags")


def _tables(
    datasource_name: str, only: Collection[tuple[str, str]] | None
) -> QuerySet[CatalogTable]:
    rows = CatalogTable.objects.filter(datasource__name=datasource_name)
    if only is not None:
        schemas, names = [schema for schema, _ in only], [name for _, name in only]
        rows = rows.extra(
            where=[_AMONG],
            params=[schemas, names],
        )
    return rows.order_by("schema", "name")


def _columns_of(
    datasource_name: str, table_ids: list[UUID] | None
) -> dict[UUID, list[KnownColumn]]:
    rows = CatalogColumn.objects.filter(table__datasource__name=datasource_name)
    if table_ids is not None:
        rows = rows.filter(table_id__in=table_ids)
    found: dict[UUID, list[KnownColumn]] = defaultdict(list)
    ordered = rows.order_by("table_id", "position").values_list(*_OF_COLUMN)
    for table_id, name, dtype, nullable, description, comment, tags in ordered.iterator(10_000):
        found[table_id].append(KnownColumn(name, dtype, nullable, description or comment, tags))
    return found
