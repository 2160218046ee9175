"""What changed between two states of a database: pure functions over its structure.

`compare(old, new)` tells every difference as what it is, `apply(old, changes)` makes the new
state of it again: nothing is left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from django.utils.translation import gettext_noop as noop

from apps.metadata.structure import Column, ForeignKey, Index, Table
from apps.metadata.widening import judge

GONE = noop("What reads it fails.")
RENAMED = noop("What reads it by its old name fails.")
NOTHING_READS_IT = noop("Nothing can depend on it yet.")
MUST_BE_FILLED = noop("Rows that are written without it are refused.")
MAY_BE_EMPTY = noop("Nothing is refused; values may be missing now.")
DEFAULT_GONE = noop("Rows that relied on its default are refused.")
DEFAULT_OTHER = noop("New rows get another value; nothing is refused.")
KEY_OTHER = noop("Rows are told apart by other columns; upserts by the old key fail.")
LINK_ADDED = noop("Rows that refer to nothing are refused.")
LINK_GONE = noop("Nothing is refused any more.")
UNIQUE_ADDED = noop("Repeated values are refused.")
UNIQUE_GONE = noop("Upserts by these columns fail.")
ONLY_SPEED = noop("It changes how fast answers come, not the answers.")
OTHER_DEFINITION = noop("The same columns come from another query.")
OTHER_KIND = noop("What wrote to it, or relied on its rows, may fail.")
ONLY_WORDS = noop("Words only.")


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: before and after are structures, or None for "was not there"."""

    kind: str
    schema: str
    table: str
    """Its name afterwards; of a table that is gone, its name before."""
    name: str = ""
    before: Any = None
    after: Any = None
    breaking: bool = False
    reason: str = ""

    @property
    def of(self) -> tuple[str, str]:
        return self.schema, self.table

    @property
    def label(self) -> str:
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class Pair:
    """A table before and after; one of them may be missing."""

    old: Table | None
    new: Table | None


Part = TypeVar("Part", Column, ForeignKey, Index)


def compare(
    old: Iterable[Table], new: Iterable[Table], *, same_identities: bool = True
) -> list[Change]:
    """Every difference. Identities speak only where both states come from the same database."""
    pairs = match(list(old), list(new), same_identities=same_identities)
    return compare_pairs(pairs, same_identities=same_identities)


def compare_pairs(pairs: Sequence[Pair], *, same_identities: bool) -> list[Change]:
    renames = Renames(pairs, same_identities=same_identities)
    return [change for pair in pairs for change in _of_pair(pair, renames)]


def match(old: Sequence[Table], new: Sequence[Table], *, same_identities: bool) -> list[Pair]:
    """Which table became which: by identity where there is one, else by name."""
    pairs, left_old, left_new = [], {t.key: t for t in old}, {t.key: t for t in new}
    if same_identities:
        known = {table.identity: table for table in old if table.identity is not None}
        for table in new:
            before = known.get(table.identity) if table.identity is not None else None
            if before is not None:
                pairs.append(Pair(left_old.pop(before.key), left_new.pop(table.key)))
    for key, table in left_new.items():
        pairs.append(Pair(left_old.pop(key, None), table))
    return pairs + [Pair(table, None) for table in left_old.values()]


class Renames:
    """What things are called now, so that what refers to them is not told as changed too."""

    def __init__(self, pairs: Iterable[Pair], *, same_identities: bool) -> None:
        self.tables: dict[tuple[str, str], tuple[str, str]] = {}
        self.columns: dict[tuple[str, str], dict[str, str]] = {}
        self.same_identities = same_identities
        for pair in pairs:
            if pair.old and pair.new:
                self._learn(pair.old, pair.new)

    def _learn(self, old: Table, new: Table) -> None:
        if old.key != new.key:
            self.tables[old.key] = new.key
        matched = match_columns(old, new, self.keeps_identity(old, new))
        renamed = {was.name: now.name for was, now in matched if was and now}
        renamed = {was: now for was, now in renamed.items() if was != now}
        if renamed:
            self.columns[old.key] = renamed

    def keeps_identity(self, old: Table, new: Table) -> bool:
        return self.same_identities and old.identity is not None and old.identity == new.identity

    def of_columns(self, table: tuple[str, str], names: Iterable[str]) -> tuple[str, ...]:
        renamed = self.columns.get(table, {})
        return tuple(_renamed_in(name, renamed) for name in names)

    def of_link(self, link: ForeignKey, table: tuple[str, str]) -> ForeignKey:
        target = link.schema, link.table
        schema, name = self.tables.get(target, target)
        return replace(
            link, schema=schema, table=name, columns=self.of_columns(table, link.columns),
            referred=self.of_columns(target, link.referred),
        )  # fmt: skip

    def of_index(self, index: Index, table: tuple[str, str]) -> Index:
        renamed = self.columns.get(table, {})
        where = _renamed_in(index.where, renamed)
        return replace(index, columns=self.of_columns(table, index.columns), where=where)


def _renamed_in(text: str, renamed: Mapping[str, str]) -> str:
    """A name, or the names in an expression, as they are now."""
    if not renamed or text in renamed:
        return renamed.get(text, text)
    words = "|".join(re.escape(name) for name in sorted(renamed, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{words})(?!\w)", lambda word: renamed[word[0]], text)


def match_columns(
    old: Table, new: Table, by_number: bool
) -> list[tuple[Column | None, Column | None]]:
    """Which column became which, as for tables."""
    pairs: list[tuple[Column | None, Column | None]] = []
    left_old, left_new = {c.name: c for c in old.columns}, {c.name: c for c in new.columns}
    if by_number:
        known = {column.number: column for column in old.columns if column.number is not None}
        for column in new.columns:
            if column.number in known:
                before = known[column.number]
                pairs.append((left_old.pop(before.name), left_new.pop(column.name)))
    for name, column in left_new.items():
        pairs.append((left_old.pop(name, None), column))
    return pairs + [(column, None) for column in left_old.values()]


def _of_pair(pair: Pair, renames: Renames) -> Iterator[Change]:
    old, new = pair.old, pair.new
    if old is None and new is not None:
        yield Change("table_added", *new.key, "", None, new, False, NOTHING_READS_IT)
    elif new is None and old is not None:
        yield Change("table_removed", *old.key, "", old, None, True, GONE)
    elif old is not None and new is not None:
        yield from _of_table(old, new, renames)


def _of_table(old: Table, new: Table, renames: Renames) -> Iterator[Change]:
    if old.key != new.key:
        was, now = list(old.key), list(new.key)
        yield Change("table_renamed", *new.key, "", was, now, True, RENAMED)
    if old.kind != new.kind:
        yield Change("kind_changed", *new.key, "", old.kind, new.kind, True, OTHER_KIND)
    for before, after in match_columns(old, new, renames.keeps_identity(old, new)):
        yield from _of_column(before, after, new)
    yield from _of_keys(old, new, renames)
    if old.definition != new.definition:
        told = old.definition, new.definition
        yield Change("definition_changed", *new.key, "", *told, False, OTHER_DEFINITION)
    if old.comment != new.comment:
        yield Change("comment_changed", *new.key, "", old.comment, new.comment, False, ONLY_WORDS)


def _of_column(old: Column | None, new: Column | None, table: Table) -> Iterator[Change]:
    if old is None and new is not None:
        needed = not new.nullable and new.default is None and not table.is_view
        reason = MUST_BE_FILLED if needed else NOTHING_READS_IT
        yield Change("column_added", *table.key, new.name, None, new, needed, reason)
    elif new is None and old is not None:
        yield Change("column_removed", *table.key, old.name, old, None, True, GONE)
    elif old is not None and new is not None:
        yield from _of_same_column(old, new, table)


def _of_same_column(old: Column, new: Column, table: Table) -> Iterator[Change]:
    where = *table.key, new.name
    if old.name != new.name:
        yield Change("column_renamed", *where, old.name, new.name, True, RENAMED)
    if old.dtype != new.dtype:
        widens, reason = judge(old.dtype, new.dtype)
        yield Change("type_changed", *where, old.dtype, new.dtype, not widens, reason)
    if old.nullable != new.nullable:
        reason = MAY_BE_EMPTY if new.nullable else MUST_BE_FILLED
        told = old.nullable, new.nullable
        yield Change("nullable_changed", *where, *told, not new.nullable, reason)
    if old.default != new.default:
        lost = new.default is None and not new.nullable
        reason = DEFAULT_GONE if lost else DEFAULT_OTHER
        yield Change("default_changed", *where, old.default, new.default, lost, reason)
    if old.comment != new.comment:
        yield Change("comment_changed", *where, old.comment, new.comment, False, ONLY_WORDS)


def _of_keys(old: Table, new: Table, renames: Renames) -> Iterator[Change]:
    was, now = renames.of_columns(old.key, old.primary_key), new.primary_key
    if was != now:
        broken = bool(was)
        reason = KEY_OTHER if broken else UNIQUE_ADDED
        yield Change("primary_key_changed", *new.key, "", list(was), list(now), broken, reason)
    links = [renames.of_link(link, old.key) for link in old.foreign_keys]
    yield from _of_parts("foreign_key", links, new.foreign_keys, new)
    indexes = [renames.of_index(index, old.key) for index in old.indexes]
    yield from _of_parts("index", indexes, new.indexes, new)


def _of_parts(
    what: str, old: Sequence[Part], new: Sequence[Part], table: Table
) -> Iterator[Change]:
    """Keys and indexes: by name, and what is left by what it does, for it may be renamed."""
    for was, now in _matched_parts(old, new):
        if was != now:
            how = "added" if was is None else "removed" if now is None else "changed"
            name = (now or was).name  # type: ignore[union-attr]
            yield Change(f"{what}_{how}", *table.key, name, was, now, *_judged(was, now))


def _matched_parts(
    old: Sequence[Part], new: Sequence[Part]
) -> Iterator[tuple[Part | None, Part | None]]:
    before, after = {each.name: each for each in old}, {each.name: each for each in new}
    for name in sorted(before.keys() & after.keys()):
        yield before.pop(name), after.pop(name)
    nameless = {replace(each, name=""): each for each in before.values()}
    for now in after.values():
        was = nameless.pop(replace(now, name=""), None)
        yield (before.pop(was.name) if was else None), now
    for was in before.values():
        yield was, None


def _judged(old: Any, new: Any) -> tuple[bool, str]:
    if old and new and replace(old, name="") == replace(new, name=""):
        return False, ONLY_WORDS
    if isinstance(new or old, ForeignKey):
        return (True, LINK_ADDED) if new else (False, LINK_GONE)
    if new and new.unique and not (old and old.unique and old.columns == new.columns):
        return True, UNIQUE_ADDED
    if old and old.unique and not (new and new.unique):
        return True, UNIQUE_GONE
    return False, ONLY_SPEED


def apply(old: Iterable[Table], changes: Iterable[Change]) -> list[Table]:
    """The state that the changes lead to."""
    changes = list(changes)
    renames = _renames_told(changes)
    tables: dict[tuple[str, str], Table] = {}
    gone = {each.of for each in changes if each.kind == "table_removed"}
    dropped = _dropped_columns(changes, renames)
    for table in old:
        if table.key not in gone:
            kept = tuple(c for c in table.columns if (*table.key, c.name) not in dropped)
            now = _as_called_now(replace(table, columns=kept), renames)
            tables[now.key] = now
    for change in changes:
        _apply_one(tables, change)
    return list(tables.values())


def _renames_told(changes: Iterable[Change]) -> Renames:
    renames = Renames((), same_identities=True)
    for each in changes:
        if each.kind == "table_renamed":
            renames.tables[tuple(each.before)] = tuple(each.after)
    before = {now: was for was, now in renames.tables.items()}
    for each in changes:
        if each.kind == "column_renamed":
            renames.columns.setdefault(before.get(each.of, each.of), {})[each.before] = each.after
    return renames


def _dropped_columns(changes: Iterable[Change], renames: Renames) -> set[tuple[str, str, str]]:
    """By the names of before: another column may be called the same afterwards."""
    before = {now: was for was, now in renames.tables.items()}
    return {
        (*before.get(each.of, each.of), each.name)
        for each in changes
        if each.kind == "column_removed"
    }


def _as_called_now(table: Table, renames: Renames) -> Table:
    """The table with every rename done, its own and those of what it refers to."""
    schema, name = renames.tables.get(table.key, table.key)
    renamed = renames.columns.get(table.key, {})
    return replace(
        table, schema=schema, name=name,
        columns=tuple(replace(c, name=renamed.get(c.name, c.name)) for c in table.columns),
        primary_key=renames.of_columns(table.key, table.primary_key),
        foreign_keys=tuple(renames.of_link(link, table.key) for link in table.foreign_keys),
        indexes=tuple(renames.of_index(index, table.key) for index in table.indexes),
    )  # fmt: skip


_OF_TABLE = {
    "kind_changed": "kind", "definition_changed": "definition", "comment_changed": "comment",
    "primary_key_changed": "primary_key",
}  # fmt: skip
_OF_COLUMN = {
    "type_changed": "dtype", "nullable_changed": "nullable", "default_changed": "default",
    "comment_changed": "comment",
}  # fmt: skip


_DONE_BEFORE = {"table_removed", "table_renamed", "column_removed", "column_renamed"}


def _apply_one(tables: dict[tuple[str, str], Table], change: Change) -> None:
    if change.kind == "table_added":
        tables[change.of] = change.after
    elif change.kind not in _DONE_BEFORE:
        tables[change.of] = _changed(tables[change.of], change)


def _changed(table: Table, change: Change) -> Table:
    if change.kind == "column_added":
        return replace(table, columns=_exchanged(table.columns, change))
    if change.kind.startswith("foreign_key"):
        return replace(table, foreign_keys=_exchanged(table.foreign_keys, change))
    if change.kind.startswith("index"):
        return replace(table, indexes=_exchanged(table.indexes, change))
    if change.name:
        told = {_OF_COLUMN[change.kind]: change.after}
        columns = (replace(c, **told) if c.name == change.name else c for c in table.columns)
        return replace(table, columns=tuple(columns))
    after = tuple(change.after) if change.kind == "primary_key_changed" else change.after
    told_of_table: dict[str, Any] = {_OF_TABLE[change.kind]: after}
    return replace(table, **told_of_table)


def _exchanged(parts: tuple[Any, ...], change: Change) -> tuple[Any, ...]:
    gone = {change.name, getattr(change.before, "name", change.name)}
    kept = tuple(each for each in parts if each.name not in gone)
    return kept if change.after is None else (*kept, change.after)
