"""Keeps, compares and restores states of a data source's catalog.

Every table keeps its versions, so a snapshot is the number of one (ADR 0071).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from django.db import connection, transaction
from django.db.models import Q, QuerySet

from apps.events.context import current
from apps.events.outbox import publish
from apps.metadata import differences as differing
from apps.metadata import stored
from apps.metadata.diff import Change, Pair, compare_pairs
from apps.metadata.errors import SnapshotElsewhere
from apps.metadata.events import RestoreDiff, SnapshotCreated, SnapshotRestored
from apps.metadata.models import DataSource, Snapshot, TableVersion
from apps.metadata.services import announce
from apps.metadata.services.store import counts_of, keep_versions, remember, write
from apps.metadata.structure import Column, Table, foreign_key_from, index_from


@transaction.atomic
def create_snapshot(*, datasource: DataSource, label: str = "") -> Snapshot:
    """Keep the state of now under a label."""
    datasource = DataSource.objects.select_for_update().get(pk=datasource.pk)
    return keep_snapshot(datasource, label)


def keep_snapshot(datasource: DataSource, label: str) -> Snapshot:
    """The same for who holds the source already."""
    snapshot = Snapshot(
        datasource=datasource, label=label, version=datasource.version,
        tables_count=datasource.tables_count, columns_count=datasource.columns_count,
        created_by=current().actor,
    )  # fmt: skip
    snapshot.full_clean()
    snapshot.save(force_insert=True)
    publish(
        SnapshotCreated(
            **announce.whose(datasource), snapshot_id=str(snapshot.pk), label=label,
            tables_count=snapshot.tables_count, columns_count=snapshot.columns_count,
        )
    )  # fmt: skip
    return snapshot


def compare_snapshots(*, old: Snapshot, new: Snapshot) -> list[Change]:
    """What changed from one to the other, in structure and in words."""
    if old.datasource_id != new.datasource_id:
        raise SnapshotElsewhere
    before, after = _only_at(old, new.version), _only_at(new, old.version)
    return _compare(_tables(before), _tables(after))


def compare_with_now(*, snapshot: Snapshot) -> list[Change]:
    """What changed since."""
    rows = DataSource.objects.filter(pk=snapshot.datasource_id)
    now = rows.values_list("version", flat=True).get()
    return _compare(_tables(_only_at(snapshot, now)), _tables(_only_then(snapshot, now)))


@transaction.atomic
def restore_snapshot(*, snapshot: Snapshot) -> list[Change]:
    """Make the catalog what it was; the databases it describes are not touched.

    The next extraction tells how they differ from it.
    """
    datasource = DataSource.objects.select_for_update().get(pk=snapshot.datasource_id)
    then = _tables(_only_at(snapshot, datasource.version))
    now = _tables(_only_then(snapshot, datasource.version))
    changes = _compare(now, then)
    found = differing.between(
        stored.load([each.table_id for each in now]), [each.table for each in then],
        known_count=datasource.tables_count, same_identities=True,
    )  # fmt: skip
    if changes:
        _store(datasource, found, then, changes)
    announce.announce(datasource, announce.told(datasource, found))
    publish(_restored(datasource, snapshot, found))
    return changes


def _store(
    datasource: DataSource, found: differing.Differences, then: list["Kept"], changes: list[Change]
) -> None:
    datasource.version += 1
    touched = write(datasource, found)
    _restore_words(datasource, then)
    keep_versions(datasource, touched)
    remember(datasource, changes)
    _, datasource.tables_count, datasource.columns_count, _ = counts_of(datasource)
    datasource.save()


def _restored(
    datasource: DataSource, snapshot: Snapshot, found: differing.Differences
) -> SnapshotRestored:
    columns = {(c.of, c.name) for c in found.changes if c.name and "index" not in c.kind}
    return SnapshotRestored(
        **announce.whose(datasource), snapshot_id=str(snapshot.pk),
        restored_from=snapshot.created_at, tables_count=datasource.tables_count,
        columns_count=datasource.columns_count,
        diff_from_current=RestoreDiff(
            tables_added=len(found.added), tables_removed=len(found.removed),
            columns_changed=len(columns),
        ),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kept:
    """A table as a version keeps it."""

    table_id: UUID
    table: Table
    words: Mapping[str, Any]
    """Description and tags of the table, and of its columns by name."""


def _at(datasource_id: UUID, version: int) -> QuerySet[TableVersion]:
    return TableVersion.objects.filter(datasource_id=datasource_id).filter(_seen_at(version))


def _seen_at(version: int) -> Q:
    return Q(since__lte=version) & (Q(until=None) | Q(until__gt=version))


def _only_at(snapshot: Snapshot, other: int) -> QuerySet[TableVersion]:
    """Versions of the snapshot that are not also those of another version of its source."""
    return _at(snapshot.datasource_id, snapshot.version).exclude(_seen_at(other))


def _only_then(snapshot: Snapshot, other: int) -> QuerySet[TableVersion]:
    return _at(snapshot.datasource_id, other).exclude(_seen_at(snapshot.version))


def _tables(versions: QuerySet[TableVersion]) -> list[Kept]:
    return [_kept(version) for version in versions.iterator(2_000)]


def _kept(version: TableVersion) -> Kept:
    facts = version.document
    columns = facts["columns"]
    table = Table(
        version.schema, version.name, facts["kind"],
        tuple(Column(c["name"], c["dtype"], c["nullable"], c["default"], c["comment"], c["number"])
              for c in columns),
        tuple(facts["primary_key"]), tuple(map(foreign_key_from, facts["foreign_keys"])),
        tuple(map(index_from, facts["indexes"])), facts["comment"], facts["definition"],
        facts["identity"], facts["row_count"], facts["partitions_count"],
    )  # fmt: skip
    words = {"": _words(facts)} | {column["name"]: _words(column) for column in columns}
    return Kept(version.table_id, table, words)


_WORDS = ("description", "description_source", "tags")


def _words(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: facts[name] for name in _WORDS}


def _compare(old: list[Kept], new: list[Kept]) -> list[Change]:
    """Row ids go through renames; a table that was gone meanwhile is known by its name."""
    pairs = list(_paired(old, new))
    tables = [Pair(was.table if was else None, now.table if now else None) for was, now in pairs]
    changes = compare_pairs(tables, same_identities=True)
    return changes + [change for was, now in pairs if was and now for change in _said(was, now)]


def _paired(old: list[Kept], new: list[Kept]) -> Iterator[tuple[Kept | None, Kept | None]]:
    by_id, by_name = {each.table_id: each for each in old}, {each.table.key: each for each in old}
    ids = {each.table_id for each in new}
    left = dict(by_id)
    for now in new:
        was = by_id.get(now.table_id)
        named = by_name.get(now.table.key)
        if was is None and named is not None and named.table_id not in ids:
            was = named
        if was is not None:
            left.pop(was.table_id)
        yield was, now
    for was in left.values():
        yield was, None


def _said(old: Kept, new: Kept) -> Iterator[Change]:
    """What people said about what is there before and after."""
    for name in old.words.keys() & new.words.keys():
        was, now = old.words[name], new.words[name]
        if was["description"] != now["description"]:
            told = was["description"], now["description"]
            yield Change("description_changed", *new.table.key, name, *told)
        if was["tags"] != now["tags"]:
            yield Change("tag_changed", *new.table.key, name, was["tags"], now["tags"])


_RESTORE_TABLES = """
UPDATE metadata_catalogtable t
SET description = w.description, description_source = w.description_source, tags = w.tags
FROM json_to_recordset(%s) AS w(schema text, name text, description text,
                                description_source text, tags jsonb)
WHERE t.datasource_id = %s AND t.schema = w.schema AND t.name = w.name
"""
_RESTORE_COLUMNS = """
UPDATE metadata_catalogcolumn c
SET description = w.description, description_source = w.description_source, tags = w.tags
FROM json_to_recordset(%s) AS w(schema text, name text, of_column text, description text,
                                description_source text, tags jsonb)
JOIN metadata_catalogtable t ON t.schema = w.schema AND t.name = w.name
WHERE t.datasource_id = %s AND c.table_id = t.id AND c.name = w.of_column
"""


def _restore_words(datasource: DataSource, then: list[Kept]) -> None:
    rows = [
        {"schema": each.table.schema, "name": each.table.name, "of_column": name, **words}
        for each in then
        for name, words in each.words.items()
    ]
    with connection.cursor() as cursor:
        for statement, wanted in ((_RESTORE_TABLES, False), (_RESTORE_COLUMNS, True)):
            chosen = [row for row in rows if bool(row["of_column"]) is wanted]
            cursor.execute(statement, [orjson.dumps(chosen).decode(), datasource.pk])
