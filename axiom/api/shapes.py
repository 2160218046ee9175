"""How rows become JSON: worked out once per serializer, not once per page and row.

A serializer makes its fields anew for each request and looks each attribute up step by step;
on a page of fifty rows that takes longer than the SQL. A shape says the same in closures. See
columns.py for rows that need not even become objects.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from inspect import isfunction
from operator import attrgetter, methodcaller
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from rest_framework.fields import DateTimeField, Field, SerializerMethodField, SkipField
from rest_framework.relations import RelatedField
from rest_framework.serializers import BaseSerializer, Serializer

Shape = Callable[[Any], Any]


def shape_of(serializer_class: type[BaseSerializer[Any]], context: dict[str, Any]) -> Shape:
    """What this serializer makes of a row, prepared.

    One that looks at the request says so (`sees_request = True`) and is prepared for it alone.
    """
    if getattr(serializer_class, "sees_request", False):
        return _shape(serializer_class(context=context))
    kind: Any = serializer_class
    return _prepared(kind)


@cache
def _prepared(serializer_class: Any) -> Shape:
    return _shape(serializer_class())


def _shape(serializer: BaseSerializer[Any], model: Any = None) -> Shape:
    if type(serializer).to_representation is not Serializer.to_representation:
        return serializer.to_representation
    model = getattr(getattr(serializer, "Meta", None), "model", model)
    parts = [(name, _part(field, model)) for name, field in readable(serializer)]

    def shaped(row: Any) -> dict[str, Any]:
        told = {}
        for name, part in parts:
            try:
                told[name] = part(row)
            except SkipField:
                continue
        return told

    return shaped


def readable(serializer: Any) -> list[tuple[str, "Field[Any, Any, Any, Any]"]]:
    fields = serializer.fields.items()
    return [(name, field) for name, field in fields if not field.write_only]


def _part(field: "Field[Any, Any, Any, Any]", model: Any) -> Shape:
    """The value of one field of a row."""
    if isinstance(field, SerializerMethodField):
        return getattr(field.parent, str(field.method_name))
    path = _columns(model, field.source_attrs)
    get = _getter(field, model, path)
    tell = _teller(field, path[-1].related_model if path else None)

    def part(row: Any) -> Any:
        value = get(row)
        return None if value is None else tell(value)

    return part


def _getter(field: "Field[Any, Any, Any, Any]", model: Any, path: list[Any]) -> Shape:
    """Columns are attributes and methods are called; whatever else it is, the field knows."""
    if path and not isinstance(field, RelatedField):
        return attrgetter(str(field.source))
    if len(field.source_attrs) == 1 and isfunction(getattr(model, str(field.source), None)):
        return methodcaller(str(field.source))
    return field.get_attribute


def _columns(model: Any, steps: list[str]) -> list[Any]:
    """The columns that lead to a value, if nothing else is on the way (a property, a None)."""
    path: list[Any] = []
    for step in steps:
        column = _column(model, step)
        if column is None or (path and path[-1].null):
            return []
        path.append(column)
        model = column.related_model
    return path


def _column(model: Any, name: str) -> Any:
    try:
        column = model and model._meta.get_field(name)
    except FieldDoesNotExist:
        return None
    return column if column and column.concrete else None


def _teller(field: "Field[Any, Any, Any, Any]", related: Any) -> Shape:
    if isinstance(field, Serializer):
        return _shape(field, related)
    if isinstance(field, RelatedField):
        return lambda value: _of_relation(field, value)
    return teller_of_column(field)


def teller_of_column(field: "Field[Any, Any, Any, Any]") -> Shape:
    """What is told of the value of a column."""
    return _moment if type(field) is DateTimeField else field.to_representation


def _moment(value: datetime) -> str:
    """The API tells every moment in UTC, so nobody needs to look for the zone of each value."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _of_relation(field: Any, value: Any) -> Any:
    """A related row may be a stand-in that knows only its key, and that key may be None."""
    alone = value.pk if field.use_pk_only_optimization() else value
    return None if alone is None else field.to_representation(value)
