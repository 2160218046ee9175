"""Sorting by `?ordering=`, strictly: a field that cannot be sorted by is told, not ignored."""

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.filters import OrderingFilter
from rest_framework.request import Request


class Ordering(OrderingFilter):
    """The view names its `ordering_fields`; without any it cannot be sorted otherwise.

    A dictionary gives a column another name: `{"email": "user__email"}`.
    """

    ordering_fields = ()

    def remove_invalid_fields(
        self, queryset: QuerySet[Any], fields: Any, view: Any, request: Request
    ) -> list[str]:
        unknown = set(fields) - set(_choices(view))
        if unknown:
            raise ValidationError({"ordering": [_refusal(unknown, view)]})
        columns = _columns(view)
        return [
            ("-" if name.startswith("-") else "") + columns[name.removeprefix("-")]
            for name in fields
        ]

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        choices = _choices(view)
        if not choices:
            return []
        return [
            {
                "name": "ordering",
                "in": "query",
                "required": False,
                "description": _("Sort by these fields, the first first; `-` for descending."),
                "explode": False,
                "style": "form",
                "schema": {"type": "array", "items": {"type": "string", "enum": choices}},
            }
        ]


def _columns(view: Any) -> dict[str, str]:
    fields = getattr(view, "ordering_fields", None) or ()
    return dict(fields) if isinstance(fields, dict) else {field: field for field in fields}


def _choices(view: Any) -> list[str]:
    return [sign + field for field in _columns(view) for sign in ("", "-")]


def _refusal(unknown: set[str], view: Any) -> str:
    return _("Cannot sort by %(unknown)s; choose from %(choices)s.") % {
        "unknown": ", ".join(sorted(unknown)),
        "choices": ", ".join(_choices(view)) or "-",
    }
