"""Writes differences into the catalog: only tables that changed, with a few statements."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any
from uuid import UUID

import orjson
from django.db import connection
from django.utils import timezone

from apps.events.context import current
from apps.events.ids import uuid7
from apps.metadata.diff import Change, match_columns
from apps.metadata.differences import Differences
from apps.metadata.models import DataSource, ExtractionRun, GlossaryTerm
from apps.metadata.stored import Stored
from apps.metadata.structure import Column, Table

_TABLE = (
    "id", "tenant_id", "datasource_id", "schema", "name", "kind", "identity", "row_count",
    "partitions_count", "columns_count", "primary_key", "foreign_keys", "indexes", "comment",
    "definition", "fingerprint", "description", "description_source", "tags",
)  # fmt: skip
_COLUMN = (
    "id", "tenant_id", "table_id", "name", "position", "number", "dtype", "nullable", '"default"',
    "comment", "description", "description_source", "tags",
)  # fmt: skip
_CHANGE = (
    "id", "tenant_id", "datasource_id", "run_id", "kind", "schema", '"table"', "name", "before",
    "after", "breaking", "reason", "actor", "version", "created_at",
)  # fmt: skip

_UPDATE_TABLES = """
UPDATE metadata_catalogtable t
SET schema = n.schema, name = n.name, kind = n.kind, identity = n.identity,
    row_count = n.row_count, partitions_count = n.partitions_count,
    columns_count = n.columns_count, primary_key = n.primary_key, foreign_keys = n.foreign_keys,
    indexes = n.indexes, comment = n.comment, definition = n.definition,
    fingerprint = n.fingerprint
FROM json_to_recordset(%s) AS n(id uuid, schema text, name text, kind text, identity bigint,
    row_count bigint, partitions_count int, columns_count int, primary_key text[],
    foreign_keys jsonb, indexes jsonb, comment text, definition text, fingerprint text)
WHERE t.id = n.id
"""
_UPDATE_COLUMNS = """
UPDATE metadata_catalogcolumn c
SET name = n.name, position = n.position, number = n.number, dtype = n.dtype,
    nullable = n.nullable, "default" = n."default", comment = n.comment
FROM json_to_recordset(%s) AS n(id uuid, name text, position int, number int, dtype text,
    nullable boolean, "default" text, comment text)
WHERE c.id = n.id
"""
_CLOSE_VERSIONS = """
UPDATE metadata_tableversion SET until = %(version)s
WHERE table_id = ANY (%(ids)s) AND until IS NULL
"""
_ADD_VERSIONS = """
INSERT INTO metadata_tableversion
    (tenant_id, datasource_id, table_id, schema, name, document, since, until)
SELECT t.tenant_id, t.datasource_id, t.id, t.schema, t.name, jsonb_build_object(
    'kind', t.kind, 'identity', t.identity, 'row_count', t.row_count,
    'partitions_count', t.partitions_count, 'primary_key', t.primary_key,
    'foreign_keys', t.foreign_keys, 'indexes', t.indexes, 'comment', t.comment,
    'definition', t.definition, 'description', t.description,
    'description_source', t.description_source, 'tags', t.tags,
    'columns', coalesce((
        SELECT jsonb_agg(jsonb_build_object(
            'name', c.name, 'number', c.number, 'dtype', c.dtype, 'nullable', c.nullable,
            'default', c."default", 'comment', c.comment, 'description', c.description,
            'description_source', c.description_source, 'tags', c.tags) ORDER BY c.position)
        FROM metadata_catalogcolumn c WHERE c.table_id = t.id), '[]')), %(version)s, NULL
FROM metadata_catalogtable t WHERE t.id = ANY (%(ids)s)
"""
_COUNTS = """
SELECT count(DISTINCT schema), count(*), coalesce(sum(columns_count), 0),
       coalesce(sum(jsonb_array_length(foreign_keys)), 0)
FROM metadata_catalogtable WHERE datasource_id = %s
"""


def store(
    datasource: DataSource, differences: Differences, *, run: ExtractionRun | None = None
) -> None:
    """Make the catalog what was read, and remember what changed. Inside a transaction."""
    if differences.pairs:
        datasource.version += 1
        touched = write(datasource, differences)
        keep_versions(datasource, touched)
        _rename_in_glossary(datasource, differences.changes)
        remember(datasource, differences.changes, run=run)


def write(datasource: DataSource, differences: Differences) -> list[UUID]:
    """Write the tables; returns the rows that changed, those of tables that are gone, too."""
    removed = [differences.row_id(table) for table in differences.removed]
    _delete("metadata_catalogcolumn", "table_id", removed)
    _delete("metadata_catalogtable", "id", removed)
    return [*removed, *_change(differences), *_insert(datasource, differences)]


def _insert(datasource: DataSource, differences: Differences) -> list[UUID]:
    ids = {table.key: uuid7() for table in differences.added}
    _copy("metadata_catalogtable", _TABLE, (
        (ids[table.key], datasource.tenant_id, datasource.pk, *_values(table),
         differences.fingerprints.get(table.key, ""), "", "", "{}")
        for table in differences.added
    ))  # fmt: skip
    _copy("metadata_catalogcolumn", _COLUMN, (
        (uuid7(), datasource.tenant_id, ids[table.key], *_of_column(column, position),
         "", "", "{}")
        for table in differences.added
        for position, column in enumerate(table.columns, 1)
    ))  # fmt: skip
    return list(ids.values())


def _values(table: Table) -> Iterator[Any]:
    yield from (table.schema, table.name, table.kind, table.identity, table.row_count)
    yield from (table.partitions_count, len(table.columns), list(table.primary_key))
    yield from (_json(table.foreign_keys), _json(table.indexes), table.comment, table.definition)


def _of_column(column: Column, position: int) -> tuple[Any, ...]:
    return (
        column.name, position, column.number, column.dtype, column.nullable, column.default,
        column.comment,
    )  # fmt: skip


def _change(differences: Differences) -> list[UUID]:
    """Tables that stayed: their rows keep their ids, and so descriptions and tags."""
    tables, columns, gone, new = [], [], [], []
    for old, now in differences.kept:
        row = differences.rows[old.key]
        tables.append(_facts_of(now, row.id, differences.fingerprints.get(now.key, "")))
        for column_id, column, position in _columns_of(row, old, now, differences.same_identities):
            if column is None:
                gone.append(column_id)
            elif column_id is None:
                new.append((uuid7(), row.id, *_of_column(column, position)))
            else:
                columns.append(_column_facts(column_id, column, position))
    _delete("metadata_catalogcolumn", "id", gone)
    _update(_UPDATE_TABLES, tables)
    _update(_UPDATE_COLUMNS, columns)
    _insert_columns(new)
    return [table["id"] for table in tables]


def _columns_of(
    row: Stored, old: Table, new: Table, same_identities: bool
) -> Iterator[tuple[UUID | None, Column | None, int]]:
    same = same_identities and old.identity is not None and old.identity == new.identity
    positions = {column.name: place for place, column in enumerate(new.columns, 1)}
    for was, now in match_columns(old, new, same):
        column_id = row.column_ids[was.name] if was else None
        yield column_id, now, positions[now.name] if now else 0


def _facts_of(table: Table, table_id: UUID, fingerprint: str) -> dict[str, Any]:
    return {
        "id": table_id, "schema": table.schema, "name": table.name, "kind": table.kind,
        "identity": table.identity, "row_count": table.row_count,
        "partitions_count": table.partitions_count, "columns_count": len(table.columns),
        "primary_key": list(table.primary_key), "foreign_keys": table.foreign_keys,
        "indexes": table.indexes, "comment": table.comment, "definition": table.definition,
        "fingerprint": fingerprint,
    }  # fmt: skip


def _column_facts(column_id: UUID, column: Column, position: int) -> dict[str, Any]:
    return {"id": column_id, "position": position, **asdict(column)}


def _insert_columns(rows: Sequence[tuple[Any, ...]]) -> None:
    tenant_id = current().tenant_id
    _copy("metadata_catalogcolumn", _COLUMN, (
        (column_id, tenant_id, table_id, *facts, "", "", "{}")
        for column_id, table_id, *facts in rows
    ))  # fmt: skip


def keep_versions(datasource: DataSource, table_ids: Sequence[UUID]) -> None:
    """What these tables are now is their version from now on; those that are gone have none."""
    given: dict[str, Any] = {"version": datasource.version, "ids": list(table_ids)}
    with connection.cursor() as cursor:
        cursor.execute(_CLOSE_VERSIONS, given)
        cursor.execute(_ADD_VERSIONS, given)


def remember(
    datasource: DataSource, changes: Iterable[Change], *, run: ExtractionRun | None = None
) -> None:
    """Keep what changed, who did it and whether it breaks something."""
    now, actor = timezone.now(), current().actor
    _copy("metadata_catalogchange", _CHANGE, (
        (uuid7(), datasource.tenant_id, datasource.pk, run.pk if run else None, each.kind,
         each.schema, each.table, each.name, _told(each.before), _told(each.after),
         each.breaking, each.reason, actor, datasource.version, now)
        for each in changes
    ))  # fmt: skip


def plain(value: Any) -> Any:
    """A structure as people may see it; of a whole table, its measures."""
    if isinstance(value, Table):
        return {"kind": value.kind, "columns": len(value.columns)}
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def counts_of(datasource: DataSource) -> tuple[int, int, int, int]:
    """Schemas, tables, columns and foreign keys that are stored."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, [datasource.pk])
        schemas, tables, columns, links = cursor.fetchone()
        return schemas, tables, columns, links


def _rename_in_glossary(datasource: DataSource, changes: Iterable[Change]) -> None:
    """A term goes on pointing at what was renamed."""
    renamed = dict(_new_names(changes))
    if not renamed:
        return
    for term in GlossaryTerm.objects.filter(datasource=datasource).select_for_update():
        now = [_called_now(column, renamed) for column in term.related_columns]
        if now != term.related_columns:
            term.related_columns = now
            term.save(update_fields=["related_columns", "updated_at"])


def _new_names(changes: Iterable[Change]) -> Iterator[tuple[str, str]]:
    tables = {}
    for each in changes:
        if each.kind == "table_renamed":
            tables[each.of] = tuple(each.before)
            yield ".".join(each.before) + ".", each.label + "."
        elif each.kind == "column_renamed":
            schema, table = tables.get(each.of, each.of)
            yield f"{schema}.{table}.{each.before}", f"{each.label}.{each.after}"


def _called_now(column: str, renamed: dict[str, str]) -> str:
    if column in renamed:
        return renamed[column]
    table, _, name = column.rpartition(".")
    return renamed.get(f"{table}.", f"{table}.") + name


def _delete(table: str, column: str, ids: list[Any]) -> None:
    if ids:
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table} WHERE {column} = ANY (%s)", [ids])


def _update(statement: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(statement, [_json(rows)])


def _copy(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _told(value: Any) -> str | None:
    told = plain(value)
    return None if told is None else _json(told)
