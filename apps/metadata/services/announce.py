"""Makes events of changes: one per table that came or went, one per column that changed."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from apps.events.outbox import publish_many
from apps.metadata.diff import Change
from apps.metadata.differences import Differences
from apps.metadata.events import (
    LISTED_TABLES,
    ColumnModified,
    DescriptionUpdated,
    MetadataChange,
    MetadataExtracted,
    TableAdded,
    TableRemoved,
    TablesDiff,
)
from apps.metadata.models import DataSource
from apps.metadata.selectors import impact
from apps.metadata.structure import Column, ForeignKey, Table

BATCH = 2_000
_PROPERTIES = {
    "type_changed": "dtype",
    "nullable_changed": "nullable",
    "default_changed": "default",
}


def announce(datasource: DataSource, events: Iterable[MetadataChange]) -> int:
    """Publish, so many with one statement; says how many there were."""
    waiting: list[MetadataChange] = []
    count = 0
    for event in events:
        waiting.append(event)
        count += 1
        if len(waiting) == BATCH:
            publish_many(waiting)
            waiting = []
    publish_many(waiting)
    return count


def whose(datasource: DataSource) -> dict[str, Any]:
    """What the envelope of every event about this source says."""
    return {"datasource_name": datasource.name, "case_id": datasource.case_id}


def told(datasource: DataSource, differences: Differences) -> Iterator[MetadataChange]:
    """Every event of these differences, tables first."""
    yield from _of_tables(datasource, differences)
    yield from _of_columns(datasource, differences)
    yield from _of_comments(datasource, differences)


def extracted(
    datasource: DataSource, differences: Differences, counts: tuple[int, int, int, int],
    duration_ms: int, snapshot_id: str | None = None,
) -> MetadataExtracted:  # fmt: skip
    """That it was read, with a summary of what changed."""
    schemas, tables, columns, links = counts
    return MetadataExtracted(
        **whose(datasource), schemas_count=schemas, tables_count=tables, columns_count=columns,
        foreign_keys_count=links, snapshot_id=snapshot_id, duration_ms=duration_ms,
        engine=datasource.engine, diff=_summary(differences),
    )  # fmt: skip


def _summary(differences: Differences) -> TablesDiff:
    added = sorted(table.label for table in differences.added)
    removed = sorted(table.label for table in differences.removed)
    changed = differences.changed
    unchanged = differences.known_count - len(removed) - len(changed)
    return TablesDiff(
        tables_added=tuple(added[:LISTED_TABLES]), tables_removed=tuple(removed[:LISTED_TABLES]),
        tables_changed=tuple(changed[:LISTED_TABLES]), tables_unchanged=unchanged,
        tables_added_count=len(added), tables_removed_count=len(removed),
        tables_changed_count=len(changed),
    )  # fmt: skip


def _of_tables(datasource: DataSource, differences: Differences) -> Iterator[MetadataChange]:
    here = whose(datasource)
    gone = [(table, None) for table in differences.removed]
    renamed = [(old, new) for old, new in differences.kept if old.key != new.key]
    used = impact.queries_on(datasource.name, (old.key for old, _ in [*gone, *renamed]))
    for old, new in [*gone, *renamed]:
        queries = used[old.key]
        yield TableRemoved(
            **here, schema=old.schema, table_name=old.name, had_queries=bool(queries),
            affected_query_count=queries, renamed_to=new.label if new else None,
        )  # fmt: skip
    for table in differences.added:
        yield _added(here, table)
    for old, new in renamed:
        yield _added(here, new, old.label)


def _added(here: dict[str, Any], table: Table, renamed_from: str | None = None) -> TableAdded:
    return TableAdded(
        **here, schema=table.schema, table_name=table.name, table_type=table.kind,
        columns_count=len(table.columns), row_count=table.row_count, renamed_from=renamed_from,
    )  # fmt: skip


def _of_columns(datasource: DataSource, differences: Differences) -> Iterator[MetadataChange]:
    by_table: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in differences.changes:
        by_table[change.of].append(change)
    for old, new in differences.kept:
        for name, column in _Columns(old, new, by_table.get(new.key, ())).told().items():
            yield ColumnModified(
                **whose(datasource), schema=new.schema, table_name=new.name, column_name=name,
                **column,
            )  # fmt: skip


class _Columns:
    """All that happened to each column of a table, in one event per column."""

    def __init__(self, old: Table, new: Table, changes: Iterable[Change]) -> None:
        self.old, self.new, self.changes = old, new, list(changes)
        self.facts: dict[tuple[str, str], dict[str, Any]] = {}

    def told(self) -> dict[str, dict[str, Any]]:
        for change in self.changes:
            self._take(change)
        found = {name: fact for (name, _), fact in sorted(self.facts.items())}
        return {name: fact for name, fact in found.items() if fact["changes"] or _moved(fact)}

    def _take(self, change: Change) -> None:
        if change.kind in {"column_added", "column_removed"}:
            self._came_or_went(change)
        elif change.kind == "column_renamed":
            self._about(change.name, change).update(change="renamed", previous_name=change.before)
        elif change.kind in _PROPERTIES:
            changes = self._about(change.name, change)["changes"]
            changes[_PROPERTIES[change.kind]] = {"old": change.before, "new": change.after}
        elif change.kind == "primary_key_changed":
            self._key(change)
        elif change.kind.startswith("foreign_key_"):
            self._link(change)
        elif change.kind.startswith("index_"):
            self._index(change)

    def _about(self, name: str, change: Change, how: str = "modified") -> dict[str, Any]:
        """What is told of a column; the gravest change gives the reason."""
        empty = {"change": how, "changes": {}, "breaking": False, "reason": change.reason}
        # A column that went and one of the same name that came are two.
        fact = self.facts.setdefault((name, "removed" if how == "removed" else ""), empty)
        if change.breaking and not fact["breaking"]:
            fact.update(breaking=True, reason=change.reason)
        return fact

    def _came_or_went(self, change: Change) -> None:
        came = change.kind == "column_added"
        column: Column = change.after if came else change.before
        fact = self._about(change.name, change, "added" if came else "removed")
        facts = {"dtype": column.dtype, "nullable": column.nullable, "default": column.default}
        for name, value in facts.items():
            fact["changes"][name] = {
                "old": None if came else value, "new": value if came else None,
            }  # fmt: skip

    def _key(self, change: Change) -> None:
        for name in self._there({*change.before} ^ {*change.after}):
            changes = self._about(name, change)["changes"]
            changes["primary_key"] = {"old": name in change.before, "new": name in change.after}

    def _link(self, change: Change) -> None:
        before, after = _targets(change.before), _targets(change.after)
        for name in self._there(before.keys() | after.keys()):
            changes = self._about(name, change)["changes"]
            changes["foreign_key"] = {"old": before.get(name), "new": after.get(name)}

    def _index(self, change: Change) -> None:
        parts = [each for each in (change.before, change.after) if each]
        for name in self._there({column for each in parts for column in each.columns}):
            changes = self._about(name, change)["changes"]
            told = changes.setdefault("indexes", {"old": [], "new": []})
            for side, index in (("old", change.before), ("new", change.after)):
                if index and name in index.columns:
                    told[side].append(index.name)

    def _there(self, names: Iterable[str]) -> list[str]:
        """Of these, the columns that the table has now and had before."""
        added = {each.name for each in self.changes if each.kind == "column_added"}
        now = {column.name for column in self.new.columns}
        return sorted({*names} & now - added)


def _targets(link: ForeignKey | None) -> dict[str, str]:
    if link is None:
        return {}
    pairs = zip(link.columns, link.referred, strict=False)
    return {column: f"{link.schema}.{link.table}.{referred}" for column, referred in pairs}


def _moved(fact: dict[str, Any]) -> bool:
    return fact["change"] != "modified"


def _of_comments(datasource: DataSource, differences: Differences) -> Iterator[MetadataChange]:
    """A comment is a description as long as nobody wrote another."""
    before = {new.key: old for old, new in differences.kept}
    for change in differences.changes:
        if change.kind != "comment_changed":
            continue
        row = differences.rows[before[change.of].key]
        known = row.descriptions.get(change.name) if change.name else row.description
        if not known:
            yield description_updated(
                datasource, change.schema, change.table, change.name or None,
                change.before, change.after, "database",
            )  # fmt: skip


def description_updated(
    datasource: DataSource, schema: str, table: str, column: str | None,
    old: str, new: str, source: str,
) -> DescriptionUpdated:  # fmt: skip
    return DescriptionUpdated(
        **whose(datasource), schema=schema, table_name=table, column_name=column,
        target_type="column" if column else "table", old_description=old or None,
        new_description=new or None, source=source,
    )  # fmt: skip
