"""Lists that say nothing but what stands in columns: their rows never become objects.

Making a model of each row and of each row beside it costs more than its SQL, and reads columns
that nobody is told of. Where a serializer names columns alone, a list asks for just these.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, NamedTuple

from django.core.exceptions import FieldDoesNotExist
from django.db.models import Field as Column
from django.db.models import QuerySet
from django.db.models.query_utils import DeferredAttribute
from rest_framework.relations import PrimaryKeyRelatedField, RelatedField
from rest_framework.serializers import BaseSerializer, Serializer, SerializerMethodField

from axiom.api.shapes import readable, teller_of_column

Values = dict[str, Any]
Tell = Callable[[Values], Any]


class Columns(NamedTuple):
    """The columns that a list needs, and what it tells of their values."""

    names: tuple[str, ...]
    tell: Tell

    def of(self, rows: QuerySet[Any], *beside: str) -> QuerySet[Any]:
        """Just these columns of the rows, and those that their order needs."""
        wanted = dict.fromkeys((*self.names, *beside))
        return rows.prefetch_related(None).values(*wanted)


class OfColumns:
    """Mixed into a field that is made of several columns of the same row, and of nothing else."""

    columns: ClassVar[tuple[str, ...]]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "source": "*", "read_only": True})

    def told_of(self, *values: Any) -> Any:
        """What is told of the values of these columns."""
        raise NotImplementedError

    def to_representation(self, row: Any) -> Any:
        return self.told_of(*(getattr(row, name) for name in self.columns))


class _NotInColumns(Exception):
    """Something is computed by an object."""


@cache
def columns_of(serializer_class: Any) -> Columns | None:
    """The columns of this serializer, or None where it says more than stands in them."""
    if getattr(serializer_class, "sees_request", False):
        return None
    names: list[str] = []
    try:
        tell = _teller(serializer_class(), None, "", names)
    except _NotInColumns:
        return None
    return Columns(tuple(names), tell)


def _teller(serializer: BaseSerializer[Any], model: Any, prefix: str, names: list[str]) -> Tell:
    model = getattr(getattr(serializer, "Meta", None), "model", model)
    if model is None or type(serializer).to_representation is not Serializer.to_representation:
        raise _NotInColumns
    parts = [(name, _part(field, model, prefix, names)) for name, field in readable(serializer)]
    return lambda values: {name: part(values) for name, part in parts}


def _part(field: Any, model: Any, prefix: str, names: list[str]) -> Tell:
    if isinstance(field, SerializerMethodField):
        raise _NotInColumns
    if isinstance(field, OfColumns):
        made_of = [_found([step], model, prefix)[1] for step in field.columns]
        names.extend(made_of)
        return lambda values: field.told_of(*(values[name] for name in made_of))
    column, name = _found(field.source_attrs, model, prefix)
    if isinstance(field, Serializer):
        names.append(name)
        inner = prefix + "__".join((*field.source_attrs, ""))
        told = _teller(field, column.related_model, inner, names)
    elif isinstance(field, RelatedField):
        if type(field) is not PrimaryKeyRelatedField or field.pk_field:
            raise _NotInColumns
        names.append(name)
        return lambda values: values[name]
    else:
        names.append(name)
        tell = teller_of_column(field)
        told = lambda values: tell(values[name])
    return lambda values: None if values[name] is None else told(values)


def _found(steps: list[str], model: Any, prefix: str) -> tuple[Any, str]:
    """The column at the end of these steps, and its name in a query."""
    column = None
    for step in steps:
        if column is not None and column.null:
            raise _NotInColumns  # A row that may be missing: objects know what that means.
        column, model = _column(model, step)
    if column is None:
        raise _NotInColumns
    return column, prefix + "__".join((*steps[:-1], column.attname))


def _column(model: Any, name: str) -> tuple[Any, Any]:
    try:
        column = model._meta.get_field(name) if model else None
    except FieldDoesNotExist:
        column = None
    if not isinstance(column, Column) or not column.concrete or not _is_plain(column):
        raise _NotInColumns
    return column, column.related_model


def _is_plain(column: Any) -> bool:
    """An attribute of the row is the value of the column, not something made of it (a file)."""
    return bool(column.is_relation or (issubclass(column.descriptor_class, DeferredAttribute)
                and not hasattr(column, "attr_class")))  # fmt: skip
