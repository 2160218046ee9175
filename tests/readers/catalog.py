"""A catalog to change: every change is stored with its event, as an extraction does it."""

from django.db import transaction

from apps.events.outbox import publish, publish_many
from apps.metadata.events import (
    ColumnModified,
    DescriptionUpdated,
    GlossaryUpdated,
    SnapshotRestored,
    TableAdded,
    TableRemoved,
    TagChanged,
)
from apps.metadata.models import CatalogColumn, CatalogTable, DataSource, GlossaryTerm


class Catalog:
    """One data source of the current tenant."""

    def __init__(self, name="erp_db"):
        self.name = name
        self.source = DataSource.objects.create(name=name, engine="postgresql")

    @transaction.atomic
    def add(self, path, description="", **columns):
        """`add("public.orders", id="integer")`"""
        return self.add_many({path: columns}, description)[0]

    @transaction.atomic
    def add_many(self, tables, description=""):
        rows = [
            CatalogTable(
                datasource=self.source, schema=path.split(".")[0], name=path.split(".", 1)[1],
                kind="BASE TABLE", description=description, columns_count=len(columns),
            )
            for path, columns in tables.items()
        ]  # fmt: skip
        CatalogTable.objects.bulk_create(rows)
        CatalogColumn.objects.bulk_create(
            CatalogColumn(table=row, name=name, position=at, dtype=dtype, nullable=True)
            for row, columns in zip(rows, tables.values(), strict=True)
            for at, (name, dtype) in enumerate(columns.items())
        )
        publish_many([self._added(row) for row in rows])
        return rows

    @transaction.atomic
    def drop(self, *paths):
        for path in paths:
            self._table(path).delete()
        publish_many([TableRemoved(**self._about(path)) for path in paths])

    @transaction.atomic
    def rename(self, path, new):
        row = self._table(path)
        row.schema, row.name = new.split(".")
        row.save()
        publish_many([
            TableRemoved(**self._about(path), renamed_to=new),
            TableAdded(**self._about(new), table_type=row.kind, columns_count=row.columns_count,
                       renamed_from=path),
        ])  # fmt: skip

    @transaction.atomic
    def drop_column(self, path, column):
        self._column(path, column).delete()
        self._modified(path, column, change="removed")

    @transaction.atomic
    def add_column(self, path, column, dtype):
        table = self._table(path)
        CatalogColumn.objects.create(
            table=table, name=column, position=99, dtype=dtype, nullable=True
        )
        self._modified(path, column, change="added")

    @transaction.atomic
    def rename_column(self, path, column, new):
        CatalogColumn.objects.filter(pk=self._column(path, column).pk).update(name=new)
        self._modified(path, new, change="renamed", previous_name=column)

    @transaction.atomic
    def retype(self, path, column, dtype):
        row = self._column(path, column)
        old, row.dtype = row.dtype, dtype
        row.save()
        self._modified(path, column, changes={"dtype": {"old": old, "new": dtype}})

    @transaction.atomic
    def describe(self, path, description, column=None):
        row = self._column(path, column) if column else self._table(path)
        row.description = description
        row.save()
        publish(DescriptionUpdated(
            **self._about(path), target_type="column" if column else "table", column_name=column,
            old_description=None, new_description=description, source="manual",
        ))  # fmt: skip

    @transaction.atomic
    def tag(self, path, name, value):
        row = self._table(path)
        row.tags[name] = value
        row.save()
        publish(TagChanged(**self._about(path), target_type="table", tag_name=name,
                           action="changed", new_value=value))  # fmt: skip

    @transaction.atomic
    def define(self, term, *synonyms, columns=()):
        facts = {"definition": "...", "synonyms": list(synonyms), "related_columns": list(columns)}
        GlossaryTerm.objects.update_or_create(datasource=self.source, term=term, defaults=facts)
        publish(GlossaryUpdated(datasource_name=self.name, action="upsert", term=term, **facts))

    @transaction.atomic
    def undefine(self, term):
        GlossaryTerm.objects.get(datasource=self.source, term=term).delete()
        publish(GlossaryUpdated(datasource_name=self.name, action="delete", term=term,
                                definition=None))  # fmt: skip

    @transaction.atomic
    def restored(self):
        """Somebody restored a snapshot: what changed is told by no event of its own."""
        publish(SnapshotRestored(
            datasource_name=self.name, snapshot_id="s1", restored_from="2026-01-01T00:00:00Z",
            tables_count=0, columns_count=0,
            diff_from_current={"tables_added": 0, "tables_removed": 0, "columns_changed": 0},
        ))  # fmt: skip

    def _table(self, path):
        schema, name = path.split(".")
        return CatalogTable.objects.get(datasource=self.source, schema=schema, name=name)

    def _column(self, path, column):
        return self._table(path).columns.get(name=column)

    def _about(self, path):
        schema, name = path.split(".")
        return {"datasource_name": self.name, "schema": schema, "table_name": name}

    def _added(self, row):
        return TableAdded(
            datasource_name=self.name, schema=row.schema, table_name=row.name,
            table_type=row.kind, columns_count=row.columns_count,
        )  # fmt: skip

    def _modified(self, path, column, changes=None, **facts):
        publish(ColumnModified(**self._about(path), column_name=column, changes=changes or {},
                               **facts))  # fmt: skip
