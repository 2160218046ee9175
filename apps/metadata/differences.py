"""What a reading would change in the catalog, before anything is changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.metadata import stored
from apps.metadata.diff import Change, Pair, compare_pairs, match
from apps.metadata.models import DataSource
from apps.metadata.stored import Stored
from apps.metadata.structure import Extraction, Table


@dataclass(frozen=True, slots=True)
class Differences:
    """Changes, and the tables before and after them. Tables that stayed are only counted."""

    known_count: int
    unchanged_count: int
    pairs: list[Pair]
    changes: list[Change]
    rows: dict[tuple[str, str], Stored]
    """Stored tables by the names they had."""
    fingerprints: dict[tuple[str, str], str]
    """Of what was read, by the names of now."""
    same_identities: bool = True

    @property
    def added(self) -> list[Table]:
        return [pair.new for pair in self.pairs if pair.new and not pair.old]

    @property
    def removed(self) -> list[Table]:
        return [pair.old for pair in self.pairs if pair.old and not pair.new]

    @property
    def kept(self) -> list[tuple[Table, Table]]:
        return [(pair.old, pair.new) for pair in self.pairs if pair.old and pair.new]

    @property
    def changed(self) -> list[str]:
        """Tables that are there before and after and differ, as schema.table."""
        whole = {"table_added", "table_removed"}
        return sorted({each.label for each in self.changes if each.kind not in whole})

    @property
    def removed_share(self) -> float:
        return len(self.removed) / self.known_count if self.known_count else 0.0

    @property
    def breaking_count(self) -> int:
        return sum(change.breaking for change in self.changes)

    def row_id(self, table: Table) -> UUID:
        return self.rows[table.key].id


def against_catalog(datasource: DataSource, extraction: Extraction) -> Differences:
    """What differs between what was read and what is stored.

    Tables with a known fingerprint are neither loaded nor parsed.
    """
    known = stored.index_of(datasource)
    fingerprints = {each.key: each.fingerprint for each in extraction.readings}
    same = {each.key for each in known if each.fingerprint == fingerprints.get(each.key)}
    old = stored.load([each.id for each in known if each.key not in same])
    new = [each.table() for each in extraction.readings if each.key not in same]
    identities = bool(extraction.scope) and extraction.scope == datasource.identity_scope
    return between(
        old,
        new,
        known_count=len(known),
        unchanged_count=len(same),
        same_identities=identities,
        fingerprints={key: fingerprints[key] for key in fingerprints.keys() - same},
    )


def between(
    old: Sequence[Stored],
    new: Sequence[Table],
    *,
    known_count: int,
    unchanged_count: int = 0,
    same_identities: bool,
    fingerprints: dict[tuple[str, str], str] | None = None,
) -> Differences:
    """The same between any two states; of the old one the rows are known."""
    fingerprints = fingerprints or {}
    rows = {each.table.key: each for each in old}
    tables = [each.table for each in old]
    pairs = match(tables, new, same_identities=same_identities)
    changes = compare_pairs(pairs, same_identities=same_identities)
    return Differences(
        known_count, unchanged_count, pairs, changes, rows, fingerprints, same_identities
    )
