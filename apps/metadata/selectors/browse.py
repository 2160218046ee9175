"""What somebody sees who looks around in the catalog: portion by portion, however large it is."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery

from apps.metadata.models import (
    CatalogChange,
    CatalogColumn,
    CatalogTable,
    DataSource,
    ExtractionRun,
    Snapshot,
)

PORTION = 100
MOST = 1_000
"""Tables of a branch that somebody opened portion by portion, when it is renewed."""
MOST_SOURCES, MOST_SCHEMAS, MOST_COLUMNS, MOST_SNAPSHOTS = 200, 500, 1_600, 200
NEWEST = 10


@dataclass(frozen=True, slots=True)
class Source:
    """A data source and the newest run that read it, or tried to."""

    row: DataSource
    newest: ExtractionRun | None

    @property
    def is_held(self) -> bool:
        return self.newest is not None and self.newest.state == ExtractionRun.State.HELD


@dataclass(frozen=True, slots=True)
class Reach:
    """Which tables of a schema: from and to a name, or those next to one."""

    start: str = ""
    end: str = ""
    after: str = ""
    before: str = ""
    around: str = ""
    again: bool = False
    """All that was shown already, which may be more than a portion."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Some tables in their order, and whether there are others on either side."""

    tables: list[CatalogTable]
    earlier: bool
    later: bool


def sources() -> list[Source]:
    """The data sources by name, each with its newest run; two statements."""
    newest = ExtractionRun.objects.filter(datasource=OuterRef("pk")).order_by("-created_at")
    rows = DataSource.objects.annotate(newest_id=Subquery(newest.values("pk")[:1]))
    found = list(rows.order_by("name")[:MOST_SOURCES])
    runs = _runs().in_bulk([each.newest_id for each in found if each.newest_id])
    return [Source(each, runs.get(each.newest_id)) for each in found]


def source_called(name: str) -> Source | None:
    """The data source of this name."""
    found = DataSource.objects.filter(name=name).first()
    if found is None:
        return None
    return Source(found, _runs().filter(datasource=found).order_by("-created_at").first())


def _runs() -> QuerySet[Any]:
    return ExtractionRun.objects.defer("pending", "removals", "approved_removals")


def schemas_of(datasource: DataSource) -> list[tuple[str, int]]:
    """Schemas by name, and how many tables each has."""
    rows = CatalogTable.objects.filter(datasource=datasource).values("schema")
    counted = rows.annotate(count=Count("pk")).order_by("schema")[:MOST_SCHEMAS]
    return [(row["schema"], row["count"]) for row in counted]


def tables_of(datasource: DataSource, schema: str, reach: Reach) -> Portion:
    """A portion of a schema's tables, by name."""
    rows = CatalogTable.objects.filter(datasource=datasource, schema=schema).only(
        "id", "name", "kind", "columns_count", "description", "comment"
    )
    found = list(_reached(rows, reach))
    if not found:
        return Portion([], False, False)
    earlier = rows.filter(name__lt=found[0].name).exists()
    return Portion(found, earlier, rows.filter(name__gt=found[-1].name).exists())


def _reached(rows: QuerySet[Any], reach: Reach) -> list[Any]:
    if reach.before:
        return _nearest_before(rows, reach.before, PORTION)
    if reach.around:
        some = PORTION // 5
        here = rows.filter(name__gte=reach.around).order_by("name")[: PORTION - some]
        return [*_nearest_before(rows, reach.around, some), *here]
    if reach.after:
        return list(rows.filter(name__gt=reach.after).order_by("name")[:PORTION])
    if reach.start:
        rows = rows.filter(name__gte=reach.start)
    if reach.end:
        rows = rows.filter(name__lte=reach.end)
    return list(rows.order_by("name")[: MOST if reach.again else PORTION])


def _nearest_before(rows: QuerySet[Any], name: str, count: int) -> list[Any]:
    return list(rows.filter(name__lt=name).order_by("-name")[:count])[::-1]


def table_called(datasource: DataSource, schema: str, name: str) -> CatalogTable | None:
    rows = CatalogTable.objects.filter(datasource=datasource)
    found: CatalogTable | None = rows.filter(schema=schema, name=name).first()
    return found


def columns_of(table: CatalogTable) -> list[CatalogColumn]:
    """The columns in their order."""
    return list(CatalogColumn.objects.filter(table=table).order_by("position")[:MOST_COLUMNS])


def changes_of(datasource: DataSource, schema: str = "", table: str = "") -> list[CatalogChange]:
    """The newest changes of a data source, or of one table of it."""
    rows = CatalogChange.objects.filter(datasource=datasource)
    if table:
        rows = rows.filter(schema=schema, table=table)
    return list(rows.order_by("-created_at", "-id")[:NEWEST])


def snapshots(datasource: DataSource | None = None) -> list[Snapshot]:
    """The newest snapshots, of one data source or of all."""
    rows = Snapshot.objects.select_related("datasource")
    if datasource is not None:
        rows = rows.filter(datasource=datasource)
    return list(rows.order_by("-created_at", "-id")[:MOST_SNAPSHOTS])
