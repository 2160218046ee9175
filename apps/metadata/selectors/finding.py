"""Finds tables and columns: by what is written about them, and by what people mean.

What people mean is known to an app above, which registers itself, in a module that its AppConfig
imports in `ready()`:

    from apps.metadata.selectors import finding

    @finding.by_meaning
    def nearest(question: str, datasource_name: str | None, limit: int) -> Iterable[Place]:
        ...
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from apps.metadata.models import CatalogColumn, CatalogTable, GlossaryTerm

MOST, MOST_TERMS, MOST_NEAR = 50, 10, 10
LONGEST = 200


@dataclass(frozen=True, slots=True)
class Place:
    """A table or a column that was found."""

    datasource: str
    schema: str
    table: str
    column: str = ""
    dtype: str = ""
    description: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.datasource, self.schema, self.table, self.column


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to; of tables and columns the first so many."""

    tables: list[Place]
    columns: list[Place]
    terms: list[GlossaryTerm]
    near: list[Place]

    @property
    def count(self) -> int:
        return len(self.tables) + len(self.columns) + len(self.terms) + len(self.near)

    @property
    def is_cut(self) -> bool:
        return max(len(self.tables), len(self.columns)) >= MOST


Finder = Callable[[str, str | None, int], Iterable[Place]]

_finders: list[Finder] = []


def by_meaning(finder: Finder) -> Finder:
    """Register who knows which tables and columns are meant by a question."""
    _finders.append(finder)
    return finder


def find(text: str, datasource_name: str | None = None) -> Found:
    """Tables, columns and terms that are called or described like this, or are meant by it."""
    text = text[:LONGEST].replace("\0", "")
    tables, columns = _tables(text, datasource_name), _columns(text, datasource_name)
    known = {each.key for each in (*tables, *columns)}
    near = [
        each
        for finder in _finders
        for each in finder(text, datasource_name, MOST_NEAR)
        if each.key not in known
    ]
    return Found(tables, columns, _terms(text, datasource_name), near)


def _said(text: str) -> Q:
    return Q(name__icontains=text) | Q(description__icontains=text) | Q(comment__icontains=text)


def _tables(text: str, datasource_name: str | None) -> list[Place]:
    rows = CatalogTable.objects.filter(_said(text), **_of("datasource__name", datasource_name))
    told = rows.order_by("schema", "name", "id").values_list(
        "datasource__name", "schema", "name", "description", "comment"
    )[:MOST]
    return [
        Place(source, schema, name, description=description or comment)
        for source, schema, name, description, comment in told
    ]


def _columns(text: str, datasource_name: str | None) -> list[Place]:
    rows = CatalogColumn.objects.filter(
        _said(text), **_of("table__datasource__name", datasource_name)
    )
    told = rows.order_by("name", "id").values_list(
        "table__datasource__name", "table__schema", "table__name", "name", "dtype",
        "description", "comment",
    )[:MOST]  # fmt: skip
    return [
        Place(source, schema, table, name, dtype, description or comment)
        for source, schema, table, name, dtype, description, comment in told
    ]


def _terms(text: str, datasource_name: str | None) -> list[GlossaryTerm]:
    said = Q(term__icontains=text) | Q(definition__icontains=text) | Q(synonyms__icontains=text)
    rows = GlossaryTerm.objects.filter(said, **_of("datasource__name", datasource_name))
    return list(rows.select_related("datasource").order_by("term", "id")[:MOST_TERMS])


def _of(name: str, value: str | None) -> dict[str, Any]:
    return {name: value} if value else {}
