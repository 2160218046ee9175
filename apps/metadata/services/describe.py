"""What tables and columns mean: descriptions and tags, by people and by a generator."""

from typing import Any
from uuid import UUID

from django.db import transaction

from apps.events.outbox import publish
from apps.metadata import generators
from apps.metadata.diff import Change
from apps.metadata.events import TagChanged
from apps.metadata.models import CatalogColumn, CatalogTable, DataSource
from apps.metadata.models.catalog import Described
from apps.metadata.services import announce
from apps.metadata.services.store import keep_versions, remember

Source = Described.Source


@transaction.atomic
def describe(
    *, target: CatalogTable | CatalogColumn, description: str, source: str = Source.MANUAL
) -> Any:
    """Say what a table or a column is; an empty text takes the description away."""
    place = _Place(target)
    row, before = place.row, place.row.told
    if row.description == description:
        return row
    was = row.description
    row.description, row.description_source = description, source if description else ""
    row.save(update_fields=["description", "description_source"])
    place.keep(Change("description_changed", *place.key, place.column, was, description))
    publish(
        announce.description_updated(
            place.datasource, *place.key, place.column or None, before, row.told, source
        )
    )
    return row


@transaction.atomic
def tag(*, target: CatalogTable | CatalogColumn, name: str, value: Any = True) -> Any:
    """Put a tag on a table or a column, or give it another value."""
    place = _Place(target)
    before = place.row.tags.get(name)
    if name in place.row.tags and before == value:
        return place.row
    action = "changed" if name in place.row.tags else "added"
    place.row.tags = {**place.row.tags, name: value}
    return _tagged(place, name, action, before, value)


@transaction.atomic
def untag(*, target: CatalogTable | CatalogColumn, name: str) -> Any:
    """Take a tag off; one that is not there is off already."""
    place = _Place(target)
    if name not in place.row.tags:
        return place.row
    before = place.row.tags[name]
    place.row.tags = {key: value for key, value in place.row.tags.items() if key != name}
    return _tagged(place, name, "removed", before, None)


def _tagged(place: "_Place", name: str, action: Any, before: Any, after: Any) -> Any:
    place.row.save(update_fields=["tags"])
    place.keep(
        Change(
            "tag_changed", *place.key, place.column or "",
            None if action == "added" else {name: before},
            None if action == "removed" else {name: after},
        )
    )  # fmt: skip
    publish(
        TagChanged(
            **announce.whose(place.datasource), schema=place.key[0], table_name=place.key[1],
            target_type="column" if place.column else "table", column_name=place.column or None,
            tag_name=name, action=action, old_value=before, new_value=after,
        )
    )  # fmt: skip
    return place.row


class _Place:
    """A table or a column with its data source, held until the transaction ends.

    First the source, then the row: an extraction does it in this order too.
    """

    def __init__(self, target: CatalogTable | CatalogColumn) -> None:
        table = target if isinstance(target, CatalogTable) else target.table
        sources = DataSource.objects.select_for_update()
        self.datasource = sources.get(pk=table.datasource_id)
        fresh: Any = type(target).objects.select_for_update(of=("self",))
        self.row = fresh.get(pk=target.pk)
        self.table = self.row if isinstance(target, CatalogTable) else self.row.table
        self.key = self.table.schema, self.table.name
        self.column = "" if isinstance(target, CatalogTable) else self.row.name

    def keep(self, change: Change) -> None:
        """The table has a new version, and the history a new line."""
        self.datasource.version += 1
        self.datasource.save(update_fields=["version"])
        keep_versions(self.datasource, [self.table.pk])
        remember(self.datasource, [change])


def request_descriptions(*, table: CatalogTable) -> None:
    """Have a worker ask the generator; refused where there is none."""
    from apps.metadata.tasks import generate

    generators.configured()
    key, tenant = str(table.pk), str(table.tenant_id)
    transaction.on_commit(lambda: generate.delay(tenant, key), robust=True)


def generate_descriptions(*, table: CatalogTable) -> int:
    """Have a table and its columns described where nobody did so by hand; says how many.

    The generator is asked outside of any transaction: it may take its time.
    """
    columns = list(table.columns.order_by("position"))
    answer = generators.configured().describe(_request_for(table, columns))
    given: list[tuple[Any, str]] = [(table, answer.table)]
    given += [(column, answer.columns.get(column.name, "")) for column in columns]
    return sum(_accept(target.pk, type(target), text.strip()) for target, text in given)


def _request_for(table: CatalogTable, columns: list[CatalogColumn]) -> generators.Request:
    return generators.Request(
        table.datasource.name, table.schema, table.name, table.told,
        [(column.name, column.dtype, column.told) for column in columns],
    )  # fmt: skip


def _accept(pk: UUID, kind: Any, text: str) -> bool:
    """A description by hand is worth more, also one that was written meanwhile."""
    target = kind.objects.filter(pk=pk).first()
    if not text or target is None or target.description_source == Source.MANUAL:
        return False
    describe(target=target, description=text, source=Source.GENERATED)
    return True
