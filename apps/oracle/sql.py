"""Which columns of which tables a SELECT uses: through stars, aliases, CTEs and subqueries."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from sqlglot import exp, parse
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from apps.oracle.errors import QueryRefused
from axiom.references import LONGEST as LONGEST_NAME
from axiom.references import Table, Use, Where

LONGEST = 50_000
_DIALECTS = {
    "postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql", "sqlite": "sqlite",
    "mssql": "tsql", "oracle": "oracle",
}  # fmt: skip
# Here a name's case says something, once it was folded as the engine does unless it was quoted.
_EXACT = {"postgres", "oracle"}
_WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Into, exp.Command, exp.Lock)

# What a parser does with a text that nobody foresaw.
FAILURES = (
    SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError,
)  # fmt: skip

LookUp = Callable[[Collection[Where] | None], Iterable[Table]]
"""What the catalog knows of these tables, or of all."""


@dataclass(frozen=True)
class Speech:
    """How an engine reads names."""

    engine: str

    @property
    def name(self) -> str:
        return _DIALECTS.get(self.engine, "")

    @property
    def is_exact(self) -> bool:
        return self.name in _EXACT

    @property
    def dialect(self) -> Dialect:
        folding = "" if self.is_exact else ", normalization_strategy=case_insensitive"
        return Dialect.get_or_raise(f"{self.name}{folding}")

    def fold(self, name: str) -> str:
        return name if self.is_exact else name.lower()


def uses_of(sql: str, *, engine: str, default_schema: str, look_up: LookUp) -> set[Use]:
    """Every table and column the query uses, by the names they have in the catalog."""
    speech = Speech(engine)
    query = parsed(sql, speech)
    mentioned = set(_mentioned(query, default_schema))
    # An engine that ignores case may have stored any; ask for all of its tables.
    tables = list(look_up(mentioned if speech.is_exact else None)) if mentioned else []
    names = _Names(speech, tables)
    qualified = _qualified(query, speech, names.schema(), speech.fold(default_schema))
    return {_short_enough(names.original(use)) for use in _used(qualified, names)}


def _short_enough(use: Use) -> Use:
    if len(max(use, key=len)) > LONGEST_NAME:
        raise QueryRefused(_("A name in it is too long."))
    return use


def parsed(sql: str, speech: Speech) -> Any:
    """The one SELECT in the text, with names folded as its engine does."""
    if len(sql) > LONGEST:
        raise QueryRefused(_("It is longer than %(most)d characters.") % {"most": LONGEST})
    try:
        statements = [each for each in parse(sql, dialect=speech.dialect) if each is not None]
    except FAILURES as error:
        raise QueryRefused(_("It cannot be read: %s") % str(error)[:500]) from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise QueryRefused
    if writing := statements[0].find(*_WRITES):
        raise QueryRefused(_("It does more than read: %s") % writing.key.upper())
    return normalize_identifiers(statements[0], dialect=speech.dialect)


def _mentioned(query: exp.Expression, default_schema: str) -> Iterator[Where]:
    """CTEs too; a table of that name may be there, and costs nothing."""
    for table in query.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier):
            yield table.db or default_schema, table.name


def _qualified(
    query: exp.Expression, speech: Speech, schema: MappingSchema, default_schema: str
) -> exp.Expression:
    try:
        return qualify(
            query, dialect=speech.dialect, schema=schema, db=default_schema,
            validate_qualify_columns=False, quote_identifiers=False, identify=False,
        )  # fmt: skip
    except FAILURES as error:
        raise QueryRefused(_("It cannot be read: %s") % str(error)[:500]) from None


class _Names:
    """The catalog's names, as the engine folds them, and back."""

    def __init__(self, speech: Speech, tables: Iterable[Table]) -> None:
        fold = speech.fold
        self.tables = {(fold(t.schema), fold(t.name)): t for t in tables}
        self.columns = {
            where: {fold(column.name): column for column in table.columns}
            for where, table in self.tables.items()
        }
        self.speech = speech

    def schema(self) -> MappingSchema:
        known: dict[str, Any] = {}
        for (schema, name), columns in self.columns.items():
            # Only names matter here; a type that sqlglot does not know would be an error.
            known.setdefault(schema, {})[name] = dict.fromkeys(columns, "text")
        return MappingSchema(known, dialect=self.speech.dialect, normalize=False)

    def original(self, use: Use) -> Use:
        table = self.tables.get(use.where)
        if table is None:
            return use
        column = self.columns[use.where].get(use.column)
        return Use(table.schema, table.name, column.name if column else use.column)


def _used(query: exp.Expression, names: _Names) -> Iterator[Use]:
    for scope in traverse_scope(query):
        tables = {
            alias: where for alias, source in scope.sources.items() if (where := _where(source))
        }
        yield from (Use(*where) for where in tables.values())
        for column in scope.columns:
            yield from _resolved(column, tables, scope, names)
        for row in scope.find_all(exp.TableColumn):
            if row.name in tables:
                yield from _all_columns(tables[row.name], names)


def _where(source: exp.Expression | Scope) -> Where | None:
    """The schema and name, if this is a table and not a subquery, a CTE or a function."""
    if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
        return source.db, source.name
    return None


def _all_columns(where: Where, names: _Names) -> Iterator[Use]:
    yield from (Use(*where, name) for name in names.columns.get(where, ()))


def _resolved(
    column: exp.Column, tables: dict[str, Where], scope: Scope, names: _Names
) -> Iterator[Use]:
    if isinstance(column.this, exp.Star):
        # A star over a table that is not known: nothing can be said about its columns.
        return
    if column.table:
        if column.table in tables:
            yield Use(*tables[column.table], column.name)
    elif owner := _likely_owner(tables, scope, names):
        yield Use(*owner, column.name)
    elif tables and not _is_an_alias(column, scope):
        told = {"column": column.name}
        raise QueryRefused(_("Of which table is the column %(column)s?") % told)


def _likely_owner(tables: dict[str, Where], scope: Scope, names: _Names) -> Where | None:
    """Whose column it must be, if no known table has it: that of the one table there is."""
    unknown = [where for where in tables.values() if where not in names.tables]
    candidates = unknown or (list(tables.values()) if len(scope.sources) == 1 else [])
    return candidates[0] if len(candidates) == 1 else None


def _is_an_alias(column: exp.Column, scope: Scope) -> bool:
    """Whether it stands for what the query itself computes: ORDER BY and its like may do that."""
    beside = column.find_ancestor(exp.Order, exp.Group, exp.Having, exp.Qualify)
    return beside is not None and column.name in getattr(scope.expression, "named_selects", ())
