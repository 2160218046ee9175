"""The catalog as it is stored, for comparing."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from apps.metadata.models import CatalogColumn, CatalogTable, DataSource
from apps.metadata.structure import Column, Table, foreign_key_from, index_from


class Known(NamedTuple):
    """A stored table, as little of it as tells whether it changed."""

    id: UUID
    schema: str
    name: str
    fingerprint: str

    @property
    def key(self) -> tuple[str, str]:
        return self.schema, self.name


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored table with the rows it is kept in, and what people say about it."""

    id: UUID
    table: Table
    column_ids: dict[str, UUID]
    description: str = ""
    descriptions: dict[str, str] = field(default_factory=dict)


def index_of(datasource: DataSource) -> list[Known]:
    """Every table of the source; one statement."""
    rows = CatalogTable.objects.filter(datasource=datasource)
    named = rows.values_list("id", "schema", "name", "fingerprint")
    return [Known(*row) for row in named.iterator(5_000)]


PORTION = 5_000


def load(table_ids: Collection[UUID]) -> list[Stored]:
    """These tables in full; two statements for some thousand of them."""
    ids = list(table_ids)
    portions = (ids[start : start + PORTION] for start in range(0, len(ids), PORTION))
    return [stored for portion in portions for stored in _load(portion)]


def _load(ids: list[UUID]) -> Iterable[Stored]:
    columns = _columns_of(ids)
    for row in CatalogTable.objects.filter(pk__in=ids).iterator(PORTION):
        yield _stored(row, columns[row.pk])


def _columns_of(ids: list[UUID]) -> dict[UUID, list[CatalogColumn]]:
    found: dict[UUID, list[CatalogColumn]] = defaultdict(list)
    rows = CatalogColumn.objects.filter(table_id__in=ids).order_by("table_id", "position")
    for column in rows.iterator(PORTION):
        found[column.table_id].append(column)
    return found


def _stored(row: CatalogTable, columns: list[CatalogColumn]) -> Stored:
    return Stored(
        row.pk,
        structure_of(row, columns),
        {each.name: each.pk for each in columns},
        row.description,
        {each.name: each.description for each in columns if each.description},
    )


def structure_of(row: Any, columns: Iterable[Any]) -> Table:
    """The facts of a row and its columns."""
    return Table(
        row.schema, row.name, row.kind,
        tuple(Column(c.name, c.dtype, c.nullable, c.default, c.comment, c.number) for c in columns),
        tuple(row.primary_key), tuple(map(foreign_key_from, row.foreign_keys)),
        tuple(map(index_from, row.indexes)), row.comment, row.definition, row.identity,
        row.row_count, row.partitions_count,
    )  # fmt: skip
