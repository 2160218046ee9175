"""The structure of a database as plain facts: what is read, compared, kept and restored."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

BASE_TABLE = "BASE TABLE"
VIEWS = frozenset({"VIEW", "MATERIALIZED VIEW"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `number` is its identity where the engine has one."""

    name: str
    dtype: str
    nullable: bool = True
    default: str | None = None
    comment: str = ""
    # A column that was dropped and came back is the same to whoever reads it.
    number: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns that refer to those of another table."""

    name: str
    columns: tuple[str, ...]
    schema: str
    table: str
    referred: tuple[str, ...]
    on_update: str = ""
    on_delete: str = ""


@dataclass(frozen=True, slots=True)
class Index:
    """An index, without the one of the primary key; columns may be expressions."""

    name: str
    columns: tuple[str, ...]
    unique: bool = False
    method: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table or a view; `identity` is the engine's own number for it, through every rename."""

    schema: str
    name: str
    kind: str = BASE_TABLE
    columns: tuple[Column, ...] = ()
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    indexes: tuple[Index, ...] = ()
    comment: str = ""
    definition: str = ""
    identity: int | None = field(default=None, compare=False)
    row_count: int | None = field(default=None, compare=False)
    partitions_count: int = field(default=0, compare=False)

    @property
    def key(self) -> tuple[str, str]:
        return self.schema, self.name

    @property
    def label(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def is_view(self) -> bool:
        return self.kind in VIEWS


@dataclass(frozen=True, slots=True)
class Reading:
    """A table as it came from the database: its parts are JSON, parsed when somebody asks.

    Of thousands of tables few have changed: the fingerprint of the text tells which.
    """

    schema: str
    name: str
    kind: str
    columns: str
    keys: str = ""
    indexes: str = ""
    comment: str = ""
    definition: str = ""
    identity: int | None = None
    row_count: int | None = None
    partitions_count: int = 0

    @property
    def key(self) -> tuple[str, str]:
        return self.schema, self.name

    @property
    def fingerprint(self) -> str:
        parts = (self.kind, self.columns, self.keys, self.indexes, self.comment, self.definition)
        text = f"{self.identity}\0" + "\0".join(parts)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def table(self) -> Table:
        """The same as facts that can be compared."""
        keys = orjson.loads(self.keys) if self.keys else []
        primary: list[str] = next((key[1] for key in keys if key[0] == "p"), [])
        return Table(
            self.schema, self.name, self.kind, columns_from(self.columns), tuple(primary),
            tuple(_foreign_key(*key[1:]) for key in keys if key[0] == "f"),
            indexes_from(self.indexes), self.comment, self.definition, self.identity,
            self.row_count, self.partitions_count,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Extraction:
    """All that was read of a data source, whole."""

    engine: str
    readings: tuple[Reading, ...]
    scope: str = ""
    """Within one scope an identity means the same table; of a restored copy it does not."""
    missing_schemas: tuple[str, ...] = ()
    """Schemas that were asked for and could not be seen."""


def columns_from(text: str) -> tuple[Column, ...]:
    return tuple(
        Column(name, dtype, nullable, default, comment or "", number)
        for number, name, dtype, nullable, default, comment in orjson.loads(text or "[]")
    )


def indexes_from(text: str) -> tuple[Index, ...]:
    return tuple(
        Index(name, tuple(columns), unique, method, where or "")
        for name, columns, unique, method, where in orjson.loads(text or "[]")
    )


def _foreign_key(
    columns: Any, name: str, schema: str, table: str, referred: Any, update: str, delete: str
) -> ForeignKey:
    return ForeignKey(name, tuple(columns), schema, table, tuple(referred), update, delete)


def foreign_key_from(facts: Mapping[str, Any]) -> ForeignKey:
    """A foreign key from its stored form."""
    lists = {"columns": tuple(facts["columns"]), "referred": tuple(facts["referred"])}
    return ForeignKey(**{**facts, **lists})


def index_from(facts: Mapping[str, Any]) -> Index:
    """An index from its stored form."""
    return Index(**{**facts, "columns": tuple(facts["columns"])})
