"""Brings the index to what the catalog says. Only what differs is embedded and written."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Self

from django.db import connection, transaction
from django.db.models.expressions import RawSQL

from apps.metadata import selectors as metadata
from apps.oracle import vectors
from apps.oracle.embedding import embedder, grams
from apps.oracle.models import IndexEntry
from axiom.references import Where, take_turns
from axiom.tenancy import current_tenant_id

AT_ONCE = 2_000
NOT_OFFERED = "text_to_sql_is_valid"
"""A tag; a table or a column that has it as false is no longer offered to queries."""

Key = tuple[str, str, str]
Terms = dict[str, list[metadata.KnownTerm]]


class Wanted(NamedTuple):
    """An entry as it should be."""

    key: Key
    dtype: str
    description: str
    terms: tuple[str, ...]
    is_offered: bool
    text: str

    @property
    def fingerprint(self) -> str:
        """Of what it is and of what it was made with. There are many: no JSON in between."""
        key, terms = "\0".join(self.key), "\0".join(self.terms)
        made_with = f"{embedder().name}\0{vectors.are_here()}"
        whole = (
            f"{made_with}\0\0{key}\0\0{self.dtype}\0\0{terms}\0\0{self.is_offered}\0\0{self.text}"
        )
        return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()


@dataclass
class IndexReport:
    """What was otherwise in the index than in the catalog."""

    entries: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0

    def __iadd__(self, other: "IndexReport") -> Self:
        for name in ("entries", "added", "changed", "removed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    @property
    def differences(self) -> int:
        return self.added + self.changed + self.removed


@transaction.atomic
def index_tables(
    datasource_name: str, only: Collection[Where] | None = None, *, anew: bool = False
) -> IndexReport:
    """Index these tables, or all of a source, as they are now; `anew` writes also what is right."""
    # Not the lock of references: nobody who saves a cube waits for a large index.
    take_turns(datasource_name, reading=False, what="index")
    stored, terms = _stored(datasource_name, only), _terms_by_column(datasource_name)
    report = IndexReport()
    for tables in _some(metadata.known_tables(datasource_name, only), AT_ONCE // 8):
        wanted = [entry for table in tables for entry in _entries(table, terms)]
        _write(datasource_name, _different(wanted, stored, report, anew))
    report.removed = _forget(stored.values())
    return report


def reindex(datasource_name: str | None = None, *, anew: bool = False) -> IndexReport:
    """Compare everything with the catalog: all sources, also those that are not there any more."""
    report = IndexReport()
    for name in [datasource_name] if datasource_name else _every_source():
        report += index_tables(name, anew=anew)
    return report


def reindex_terms(datasource_name: str, terms: Collection[str]) -> IndexReport:
    """Index the tables that a term is, or was, about."""
    entries = IndexEntry.objects.filter(datasource_name=datasource_name)
    touched: set[Where] = set()
    for term in terms:
        found = entries.filter(terms__contains=[term])
        touched |= set(found.values_list("schema_name", "table_name"))
    wanted = [each for each in metadata.glossary(datasource_name) if each.term in set(terms)]
    touched |= {where for each in wanted for where in _tables_of(each)}
    return index_tables(datasource_name, touched) if touched else IndexReport()


def _some(rows: Iterable[Any], count: int) -> Iterator[tuple[Any, ...]]:
    rest = iter(rows)
    while some := tuple(islice(rest, count)):
        yield some


def _every_source() -> list[str]:
    indexed = IndexEntry.objects.order_by().values_list("datasource_name", flat=True).distinct()
    return sorted({*indexed, *metadata.datasource_names()})


Facts = tuple[int, str, str, str, list[str], bool, bool]


def _stored(datasource_name: str, only: Collection[Where] | None) -> dict[Key, Facts]:
    rows = IndexEntry.objects.filter(datasource_name=datasource_name)
    if only is not None:
        schemas, names = {schema for schema, _ in only}, {name for _, name in only}
        rows = rows.filter(schema_name__in=schemas, table_name__in=names)
    made = "embedding" if vectors.are_here() else "words"
    found = rows.annotate(made=RawSQL(f"{made} IS NOT NULL", [])).values_list(
        "schema_name", "table_name", "column_name", "pk", "fingerprint", "dtype", "description",
        "terms", "is_offered", "made",
    )  # fmt: skip
    return {row[:3]: row[3:] for row in found.iterator() if only is None or row[:2] in only}


def _different(
    entries: Iterable[Wanted], stored: dict[Key, Facts], report: IndexReport, anew: bool
) -> list[Wanted]:
    """What has to be written; what is left in `stored` at the end has to go."""
    different = []
    for wanted in entries:
        report.entries += 1
        there = stored.pop(wanted.key, None)
        if there is None:
            report.added += 1
        elif anew or there[1:] != _facts(wanted):
            report.changed += 1
        else:
            continue
        different.append(wanted)
    return different


def _facts(wanted: Wanted) -> tuple[Any, ...]:
    fingerprint, terms = wanted.fingerprint, list(wanted.terms)
    return fingerprint, wanted.dtype, wanted.description, terms, wanted.is_offered, True


def _entries(table: metadata.KnownTable, terms: Terms) -> Iterator[Wanted]:
    offered = table.tags.get(NOT_OFFERED) is not False
    where, name = (table.schema, table.name), table.name
    # The name counts twice: what people search for is most often part of it.
    text = f"{name} {name} {table.schema} {table.description}"
    yield Wanted((*where, ""), "", table.description, (), offered, text)
    for column in table.columns:
        known = terms.get(".".join((*where, column.name)), ())
        words = [word for term in known for word in (term.term, *term.synonyms)]
        text = " ".join([column.name, column.name, name, column.description, *words])
        yield Wanted(
            (*where, column.name), column.dtype, column.description,
            tuple(term.term for term in known),
            offered and column.tags.get(NOT_OFFERED) is not False, text,
        )  # fmt: skip


def _terms_by_column(datasource_name: str) -> Terms:
    found: Terms = defaultdict(list)
    for term in metadata.glossary(datasource_name):
        for column in term.related_columns:
            found[column].append(term)
    return found


def _tables_of(term: metadata.KnownTerm) -> Iterator[Where]:
    for column in term.related_columns:
        schema, _, rest = column.partition(".")
        yield schema, rest.rpartition(".")[0]


_UPSERT = """
INSERT INTO oracle_indexentry AS entry
    (tenant_id, datasource_name, schema_name, table_name, column_name, dtype, description,
     terms, is_offered, fingerprint, embedder, words{column})
SELECT %s, %s, row.schema_name, row.table_name, row.column_name, row.dtype, row.description,
       row.terms::jsonb, row.is_offered, row.fingerprint, %s,
       array_to_tsvector(string_to_array(row.words, ' ')){value}
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::boolean[],
            %s::text[], %s::text[], %s::text[])
     AS row (schema_name, table_name, column_name, dtype, description, terms, is_offered,
             fingerprint, words, embedding)
ON CONFLICT (tenant_id, datasource_name, schema_name, table_name, column_name) DO UPDATE SET
    dtype = excluded.dtype, description = excluded.description, terms = excluded.terms,
    is_offered = excluded.is_offered, fingerprint = excluded.fingerprint,
    embedder = excluded.embedder, words = excluded.words{update}
"""
_WITH_VECTORS = _UPSERT.format(
    column=", embedding",
    value=", row.embedding::sparsevec",
    update=", embedding = excluded.embedding",
)
_WITHOUT = _UPSERT.format(column="", value="", update="")


def _write(datasource_name: str, entries: list[Wanted]) -> None:
    statement = _WITH_VECTORS if vectors.are_here() else _WITHOUT
    fixed: list[Any] = [current_tenant_id(), datasource_name, embedder().name]
    with connection.cursor() as cursor:
        for some in _some(entries, AT_ONCE):
            cursor.execute(statement, [*fixed, *map(list, zip(*_rows(some), strict=True))])


def _rows(entries: tuple[Wanted, ...]) -> Iterator[tuple[Any, ...]]:
    for entry, (words, embedding) in zip(entries, _searchable(entries), strict=True):
        terms = json.dumps(entry.terms, ensure_ascii=False)
        yield (
            *entry.key, entry.dtype, entry.description, terms, entry.is_offered,
            entry.fingerprint, words, embedding,
        )  # fmt: skip


def _searchable(entries: tuple[Wanted, ...]) -> Iterator[tuple[str | None, str | None]]:
    """What an entry is found by: a vector, or pieces of words."""
    if not vectors.are_here():
        yield from ((" ".join(sorted(grams([entry.text]))), None) for entry in entries)
        return
    dimensions = embedder().dimensions
    for vector in embedder().embed([entry.text for entry in entries]):
        yield None, vectors.literal(vector, dimensions)


def _forget(stored: Iterable[Facts]) -> int:
    ids = [facts[0] for facts in stored]
    if not ids:
        return 0
    return int(IndexEntry.objects.filter(pk__in=ids).delete()[0])
