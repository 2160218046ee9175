"""Rows by the million: made in the database, from what the models say of their columns."""

from collections.abc import Mapping
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models

POOL = 1_000
"""How many rows stand behind a foreign key, when nobody has made any."""

_NOW_AND_BEFORE = "now() - (%(count)s::int - n) * interval '20 seconds'"
_BY_KIND: tuple[tuple[Any, str], ...] = (
    (models.DateTimeField, _NOW_AND_BEFORE),
    (models.DateField, "current_date - n %% 1000"),
    (models.TimeField, "'08:00'::time"),
    (models.DurationField, "interval '1 hour'"),
    (models.BooleanField, "n %% 10 <> 0"),
    (models.SmallIntegerField, "n %% 100"),
    (models.BigIntegerField, "n"),
    (models.IntegerField, "n %% 1000"),
    (models.FloatField, "0.5"),
    (models.DecimalField, "n %% 100000"),
    (models.GenericIPAddressField, "'10.0.0.1'::inet"),
    (models.UUIDField, "gen_random_uuid()"),
    (models.BinaryField, "''::bytea"),
    (ArrayField, "'{}'"),
)
"""The first that fits says what stands in a column."""


def fill(
    model: type[models.Model], count: int, columns: Mapping[str, str], *,
    first: int = 1, bare: bool = False,
) -> None:  # fmt: skip
    """Rows up to this number, the newest last; `columns` says what stands in those that matter.

    Bare ones have nothing where they may: they are there to be pointed to.
    """
    fields = [field for field in model._meta.concrete_fields if _is_written(field, columns)]
    values = [columns.get(field.name) or _value(field, count, bare=bare) for field in fields]
    names = ", ".join(f'"{field.column}"' for field in fields)
    table = model._meta.db_table
    with connection.cursor() as cursor:
        rebuild = _without_checks_and_indexes(cursor, table)
        cursor.execute(
            f'INSERT INTO "{table}" ({names}) SELECT {", ".join(values)} '
            "FROM generate_series(%(first)s, %(count)s) AS n",
            {"first": first, "count": count},
        )
        for statement in rebuild:
            cursor.execute(statement)
        cursor.execute(f'VACUUM ANALYZE "{table}"')


def _is_written(field: Any, columns: Mapping[str, str]) -> bool:
    """Numbers that PostgreSQL gives itself stay its own: said by an empty text, or by the model."""
    if field.name in columns:
        return bool(columns[field.name])
    return not (field.generated or isinstance(field, models.AutoField))


def _value(field: Any, count: int, *, bare: bool) -> str:
    if bare and field.null:
        return "NULL"
    if field.remote_field:
        return _of_pool(field, count)
    if field.primary_key and isinstance(field, models.UUIDField):
        return "uuidv7((n - %(count)s::int) * interval '20 seconds')"
    value = _plain(field)
    return f"CASE WHEN n %% 2 = 0 THEN {value} END" if field.null else value


def _of_pool(field: Any, count: int) -> str:
    """One of the rows it may point to, made first when there are none; each once if it must be."""
    target = field.related_model
    each_once = _is_each_once(field)
    wanted = count if each_once else POOL
    there = _count_some(target, wanted)
    if there == 0 or (each_once and there < wanted):
        fill(target, wanted, {}, first=there + 1, bare=True)
        there = wanted
    key = target._meta.pk.column
    pool = f'ARRAY(SELECT "{key}" FROM "{target._meta.db_table}" LIMIT {there})'
    return f"({pool})[n]" if each_once else f"({pool})[n %% {there} + 1]"


def _is_each_once(field: Any) -> bool:
    """Whether no two rows, or no two of a tenant, point to the same."""
    mine = {"tenant", field.name}
    return field.unique or (
        field.name != "tenant"
        and any(mine == set(each.fields) for each in field.model._meta.total_unique_constraints)
    )


def _count_some(model: type[models.Model], most: int) -> int:
    return int(model._base_manager.order_by()[:most].count())


def _plain(field: Any) -> str:
    if field.choices:
        named = ", ".join(f"'{value}'" for value, _label in field.flatchoices)
        return f"(ARRAY[{named}])[n %% {len(field.flatchoices)} + 1]"
    if isinstance(field, models.JSONField):
        return "'[]'::jsonb" if field.default is list else "'{}'::jsonb"
    for kind, value in _BY_KIND:
        if isinstance(field, kind):
            return value
    if field.db_type(connection) == "json":
        return "'{}'::json"
    return f"left('{field.name} ' || n, {field.max_length or 200})"


def _without_checks_and_indexes(cursor: Any, table: str) -> list[str]:
    """What costs time for every row, and is not measured; returns what makes the indexes again."""
    cursor.execute(
        "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype IN ('c', 'f') "
        "AND conparentid = 0",
        [table],
    )
    for (name,) in cursor.fetchall():
        cursor.execute(f'ALTER TABLE "{table}" DROP CONSTRAINT "{name}"')
    cursor.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() "
        "AND tablename = %s AND NOT EXISTS (SELECT FROM pg_constraint "
        "WHERE conname = indexname AND conrelid = %s::regclass)",
        [table, table],
    )
    indexes = cursor.fetchall()
    for name, _made in indexes:
        cursor.execute(f'DROP INDEX "{name}"')
    # "ONLY" would leave the partitions of a table without theirs.
    return [made.replace(" ON ONLY ", " ON ") for _name, made in indexes]


def empty(model: type[models.Model]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f'TRUNCATE "{model._meta.db_table}" CASCADE')
