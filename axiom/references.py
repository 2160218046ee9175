"""What refers to tables and columns of a data source by name, and whether they are still there.

Cubes, ontology links, event-log bindings and cached queries live beside the catalog and not in
it. Each keeps what it uses as rows (`Reference`) and is held against the catalog as it is now
(`recheck`), never against what an event said: so an event that was missed, came twice or came
late leaves nothing wrong behind.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

from django.db import connection, models
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop

from axiom.tenancy import TenantOwned, current_tenant_id

LONGEST = 200
"""Of a name. Of a type the beginning is enough: it tells the kind."""

Where = tuple[str, str]
"""Schema and table."""


class Use(NamedTuple):
    """A table, or a column of it, that something cannot do without."""

    schema: str
    table: str
    column: str = ""

    @property
    def where(self) -> Where:
        return self.schema, self.table


class Column(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...


class Table(Protocol):
    """A table as the catalog knows it."""

    @property
    def schema(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> Iterable[Column]: ...


Catalog = Callable[[str, Collection[Where]], Iterable[Table]]
"""What is known of these tables of a data source."""
Renames = Mapping[tuple[str, ...], str]
"""New names, by schema and table, or by schema, table and column."""
Types = dict[Where, dict[str, str]]
Trouble = dict[str, str]

_SENTENCES = {
    "table_missing": noop("Table %(table)s is not there."),
    "table_renamed": noop("Table %(table)s is now called %(now)s."),
    "column_missing": noop("Column %(column)s of table %(table)s is not there."),
    "column_renamed": noop("Column %(column)s of table %(table)s is now called %(now)s."),
    "type_changed": noop("Column %(column)s of table %(table)s was %(was)s and is %(now)s."),
}


class Status(models.TextChoices):
    VALID = "VALID", _("Valid")
    INVALID = "INVALID", _("Invalid")


class Checked(TenantOwned):
    """Something that works only as long as the tables and columns it uses do.

    What it uses is in rows of a `Reference`, related as `references`.
    """

    datasource_name = models.CharField(_("data source"), max_length=200)
    status = models.CharField(
        _("status"), max_length=10, choices=Status.choices, default=Status.VALID, editable=False
    )
    # As facts, not as sentences: everybody reads them in a language of their own.
    troubles = models.JSONField(_("what is wrong"), default=list, editable=False)
    checked_at = models.DateTimeField(_("checked"), default=timezone.now, editable=False)

    class Meta(TenantOwned.Meta):
        abstract = True

    @property
    def reason(self) -> str:
        """Why it is invalid, in the reader's language."""
        return " ".join(sentence(trouble) for trouble in self.troubles)


class Reference(TenantOwned):
    """One table or column that its `owner` uses, and of which type that column was."""

    schema_name = models.CharField(_("schema"), max_length=LONGEST)
    table_name = models.CharField(_("table"), max_length=LONGEST)
    column_name = models.CharField(_("column"), max_length=LONGEST, blank=True)
    dtype = models.CharField(_("type"), max_length=LONGEST, blank=True)

    class Meta(TenantOwned.Meta):
        abstract = True
        indexes = [
            # Read by the look for what a changed table affects.
            models.Index(fields=["tenant", "table_name", "schema_name"], name="%(class)s_by_table"),
        ]

    def __str__(self) -> str:
        return dotted(self.use)

    @property
    def use(self) -> Use:
        return Use(self.schema_name, self.table_name, self.column_name)


@dataclass
class Report:
    """What a check found: how many it looked at, and which are otherwise than was stored."""

    checked: int = 0
    changed: list[Any] = field(default_factory=list)

    def __iadd__(self, other: "Report") -> Self:
        self.checked += other.checked
        self.changed += other.changed
        return self

    @property
    def broken(self) -> list[Any]:
        return [row for row in self.changed if row.status == Status.INVALID]

    @property
    def mended(self) -> list[Any]:
        return [row for row in self.changed if row.status == Status.VALID]


def dotted(use: Iterable[str]) -> str:
    return ".".join(part for part in use if part)


def sentence(trouble: Trouble) -> str:
    text = _SENTENCES.get(trouble["code"])
    return gettext(text) % defaultdict(str, trouble) if text else trouble["detail"]


def take_turns(datasource_name: str, *, reading: bool, what: str = "references") -> None:
    """Until the transaction ends, nothing new begins to refer to a source that is rechecked.

    Otherwise a cube made in the moment its table goes would be held against the table before, and
    would not be there yet when those who use the table are looked up.
    """
    function = "pg_advisory_xact_lock_shared" if reading else "pg_advisory_xact_lock"
    key = f"axiom.{what}.{current_tenant_id()}.{datasource_name}"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [key])


def refer(owner: Any, uses: Iterable[Use], *, known: Catalog) -> None:
    """Keep what the owner uses, with the types of today, and judge it. The owner is saved."""
    take_turns(owner.datasource_name, reading=True)
    wanted = sorted(set(uses))
    types = types_of(known(owner.datasource_name, {use.where for use in wanted}))
    references = owner._meta.get_field("references").related_model
    rows = [
        references(
            owner=owner, schema_name=use.schema, table_name=use.table, column_name=use.column,
            dtype=types.get(use.where, {}).get(use.column, "")[:LONGEST],
        )
        for use in wanted
    ]  # fmt: skip
    _judge(owner, rows, types, {})
    owner.checked_at = timezone.now()
    owner.save()
    owner.references.all().delete()
    references.objects.bulk_create(rows)


def recheck(
    owners: models.QuerySet[Any],
    datasource_name: str,
    *,
    known: Catalog,
    only: Collection[Where] | None = None,
    renames: Renames | None = None,
) -> Report:
    """Hold each owner against the catalog as it is; only what is otherwise than stored is written."""
    take_turns(datasource_name, reading=False)
    found = owners.filter(datasource_name=datasource_name)
    rows = list((found if only is None else using(found, only)).prefetch_related("references"))
    references = {row.pk: list(row.references.all()) for row in rows}
    needed = {each.use.where for uses in references.values() for each in uses}
    types = types_of(known(datasource_name, needed)) if needed else {}
    changed = [row for row in rows if _judge(row, references[row.pk], types, renames or {})]
    _learn_types(references, types)
    _write(owners.model, changed)
    return Report(len(rows), changed)


def using(owners: models.QuerySet[Any], tables: Collection[Where]) -> models.QuerySet[Any]:
    """Those that use one of these tables."""
    references = owners.model._meta.get_field("references").related_model
    names, schemas = {table for _schema, table in tables}, {schema for schema, _table in tables}
    rows = references.objects.filter(table_name__in=names, schema_name__in=schemas)
    ids = {
        owner_id
        for owner_id, schema, table in rows.values_list("owner_id", "schema_name", "table_name")
        if (schema, table) in tables
    }
    return owners.filter(pk__in=ids)


def types_of(tables: Iterable[Table]) -> Types:
    return {
        (table.schema, table.name): {column.name: column.dtype for column in table.columns}
        for table in tables
    }


def _judge(owner: Checked, references: list[Any], types: Types, renames: Renames) -> bool:
    """Set the status that the owner deserves; whether that is news."""
    hints = {**_known_hints(owner.troubles), **renames}
    troubles = list(_troubles(references, types, hints))
    status = Status.INVALID if troubles else Status.VALID
    if (owner.status, owner.troubles) == (status, troubles):
        return False
    owner.status, owner.troubles, owner.checked_at = status, troubles, timezone.now()
    return True


def _known_hints(troubles: Iterable[Trouble]) -> dict[tuple[str, ...], str]:
    """Where something went is told once, by an event; it stays true when nothing is told."""
    hints = {}
    for trouble in troubles:
        if trouble["code"] in {"table_renamed", "column_renamed"}:
            hints[tuple(trouble["hint"])] = trouble["now"]
    return hints


def _troubles(references: Iterable[Any], types: Types, hints: Renames) -> Iterator[Trouble]:
    missing = set()
    for use, dtype in sorted((each.use, each.dtype) for each in references):
        if use.where not in types:
            if use.where not in missing:
                yield _gone("table", use.where, dotted(use.where), "", hints)
            missing.add(use.where)
        elif use.column and use.column not in types[use.where]:
            yield _gone("column", tuple(use), dotted(use.where), use.column, hints)
        elif (
            use.column and kind_of(dtype) != kind_of(now := types[use.where][use.column]) and dtype
        ):
            yield {
                "code": "type_changed", "table": dotted(use.where), "column": use.column,
                "was": dtype, "now": now,
            }  # fmt: skip


def _gone(what: str, key: tuple[str, ...], table: str, column: str, hints: Renames) -> Trouble:
    trouble: dict[str, Any] = {"code": f"{what}_missing", "table": table, "column": column}
    if now := hints.get(key):
        trouble |= {"code": f"{what}_renamed", "now": now, "hint": list(key)}
    return trouble


def _learn_types(references: Mapping[Any, list[Any]], types: Types) -> None:
    """A column that was not there when it was first referred to has its first type now."""
    learned = []
    for each in (row for rows in references.values() for row in rows):
        now = types.get(each.use.where, {}).get(each.column_name, "")
        if each.column_name and now and not each.dtype:
            each.dtype = now[:LONGEST]
            learned.append(each)
    if learned:
        type(learned[0]).objects.bulk_update(learned, ["dtype"], batch_size=1000)


def _write(model: type[Any], rows: list[Any]) -> None:
    if rows:
        model.objects.bulk_update(rows, ["status", "troubles", "checked_at"], batch_size=500)


_KINDS = {
    "number": (
        "smallint integer int int2 int4 int8 bigint tinyint mediumint smallserial serial bigserial "
        "numeric decimal number real float float4 float8 double money"
    ),
    "text": "text varchar char character bpchar nvarchar nchar clob citext name tinytext mediumtext "
    "longtext string",
    "moment": "timestamp timestamptz datetime",
    "boolean": "boolean bool",
    "binary": "bytea blob binary varbinary tinyblob mediumblob longblob",
    "json": "json jsonb",
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}


def kind_of(dtype: str) -> str:
    """What can be done with values of a type: who reads a number can read a longer one too.

    A type that is no longer of its kind is what breaks a reader. Whether a value still fits in
    is the concern of those who write.
    """
    array = "[]" if dtype.rstrip().endswith("[]") else ""
    first = re.match(r"\s*(\w+)", dtype.lower())
    name = first[1] if first else ""
    return _KIND_OF.get(name, name) + array


Target = tuple[str, str, str | None]
"""Schema, table, and a column of it or None for all of it."""


def affected(
    owners: models.QuerySet[Any], datasource_name: str, targets: Collection[Target]
) -> Iterator[tuple[Any, Target, str]]:
    """Who uses one of the targets: the owner, that target, and what of it is used."""
    wanted: dict[Where, list[Target]] = {}
    for target in targets:
        wanted.setdefault(target[:2], []).append(target)
    found = using(owners.filter(datasource_name=datasource_name), wanted)
    for owner in found.prefetch_related("references"):
        uses = [reference.use for reference in owner.references.all()]
        yield from _of_owner(owner, uses, wanted)


def _of_owner(
    owner: Any, uses: list[Use], wanted: Mapping[Where, list[Target]]
) -> Iterator[tuple[Any, Target, str]]:
    for where in sorted({use.where for use in uses} & set(wanted)):
        columns = sorted(use.column for use in uses if use.where == where and use.column)
        for target in wanted[where]:
            used = [name for name in columns if target[2] in {None, name}]
            if used or target[2] is None:
                names = ", ".join(used)
                yield owner, target, dotted(where) + (f" ({names})" if names else "")
