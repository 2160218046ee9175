"""Pages that neither skip nor repeat a row while others write: keyset pagination.

A page begins after the last row of the one before it, found by that row's values, so the
hundredth page costs what the first does and nothing is ever counted.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core import signing
from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured
from django.db.models import Field, Model, Q, QuerySet
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import remove_query_param, replace_query_param


@dataclass(frozen=True)
class Term:
    """One column of the order."""

    path: str
    field: "Field[Any, Any]"
    descending: bool

    def __str__(self) -> str:
        return f"-{self.path}" if self.descending else self.path

    def reversed(self) -> "Term":
        return Term(self.path, self.field, not self.descending)

    def value_in(self, row: Model | dict[str, Any]) -> Any:
        if isinstance(row, dict):
            return _plain(row[self.path])
        value: Any = row
        for step in self.path.split("__"):
            value = getattr(value, step) if value is not None else None
        return _plain(value)

    def same(self, value: Any) -> Q:
        return Q(**{f"{self.path}__isnull": True}) if value is None else Q(**{self.path: value})

    def beyond(self, value: Any) -> Q:
        """Rows that come later. As in PostgreSQL, NULL is greater than everything."""
        if value is None:
            return Q(**{f"{self.path}__isnull": False}) if self.descending else _NOTHING
        after = Q(**{f"{self.path}__{'lt' if self.descending else 'gt'}": value})
        if self.descending or not self.field.null:
            return after
        return after | Q(**{f"{self.path}__isnull": True})


_NOTHING = Q(pk__in=[])


@dataclass(frozen=True)
class Cursor:
    """Begin beyond the row with these values, forward or backward."""

    order: str
    values: list[Any]
    backward: bool

    def encode(self) -> str:
        return signing.dumps([self.order, self.values, self.backward], salt=_SALT)

    @classmethod
    def decode(cls, text: str, terms: Sequence[Term]) -> "Cursor":
        """Only what we signed gets here, so values need no suspicion, but the order may differ."""
        try:
            order, values, backward = signing.loads(text, salt=_SALT)
        except signing.BadSignature:
            raise _invalid_cursor() from None
        if order != _name(terms):
            raise _invalid_cursor()
        return cls(order, [_parse(*pair) for pair in zip(terms, values, strict=True)], backward)


_SALT = "axiom.api.cursor"


class KeysetPagination(BasePagination):
    """`?cursor=` (from `next` and `previous`) and `?page_size=`, without a COUNT."""

    page_size = 50
    max_page_size = 200

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        terms = _terms(queryset)
        cursor = _cursor(request, terms)
        size = self._size(request)
        backward = cursor is not None and cursor.backward
        rows = list(_seek(queryset, terms, cursor)[: size + 1])
        more, page = len(rows) > size, rows[:size]
        self._remember(request, terms, page[::-1] if backward else page, cursor, more)
        return self.page

    def _remember(
        self,
        request: Request,
        terms: list[Term],
        page: list[Any],
        cursor: Cursor | None,
        more: bool,
    ) -> None:
        backward = cursor is not None and cursor.backward
        self.page, self._terms, self._url = page, terms, request.build_absolute_uri()
        self._has_next = more if not backward else True
        self._has_previous = more if backward else cursor is not None

    def get_paginated_response(self, data: Any) -> Response:
        return Response(
            {
                "next": self._link(self._has_next, -1, backward=False),
                "previous": self._link(self._has_previous, 0, backward=True),
                "results": data,
            }
        )

    def _link(self, exists: bool, index: int, *, backward: bool) -> str | None:
        if not exists or not self.page:
            return None
        values = [term.value_in(self.page[index]) for term in self._terms]
        cursor = Cursor(_name(self._terms), values, backward).encode()
        return replace_query_param(remove_query_param(self._url, "cursor"), "cursor", cursor)

    def _size(self, request: Request) -> int:
        given = request.query_params.get("page_size", str(self.page_size))
        if not (given.isascii() and given.isdigit() and 1 <= int(given[:9]) <= self.max_page_size):
            message = _("Give a number from 1 to %(most)d.") % {"most": self.max_page_size}
            raise ValidationError({"page_size": [message]})
        return int(given)

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        link = {"type": "string", "format": "uri", "nullable": True}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": link, "previous": link, "results": schema},
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        size = {"type": "integer", "minimum": 1, "maximum": self.max_page_size}
        return [
            _parameter("cursor", _("Where the page begins: see `next`."), {"type": "string"}),
            _parameter("page_size", _("Rows per page."), {**size, "default": self.page_size}),
        ]


def _seek(queryset: QuerySet[Any], terms: list[Term], cursor: Cursor | None) -> QuerySet[Any]:
    if cursor is None:
        return queryset.order_by(*map(str, terms))
    if cursor.backward:
        terms = [term.reversed() for term in terms]
    return queryset.filter(_beyond(terms, cursor.values)).order_by(*map(str, terms))


def _beyond(terms: Sequence[Term], values: Sequence[Any]) -> Q:
    """(a, b) > (x, y) as: a >= x and (a > x or (a = x and b > y))."""
    beyond, same = Q(), Q()
    for term, value in zip(terms, values, strict=True):
        beyond |= same & term.beyond(value)
        same &= term.same(value)
    # The first half says nothing new, but an index on the first column can use it.
    return (terms[0].beyond(values[0]) | terms[0].same(values[0])) & beyond


def order_of(queryset: QuerySet[Any]) -> list[str]:
    """The columns by whose values a page finds where the next one begins."""
    return [term.path for term in _terms(queryset)]


def _terms(queryset: QuerySet[Any]) -> list[Term]:
    """The queryset's order, made total by its primary key."""
    named = queryset.query.order_by or queryset.model._meta.ordering or ["-pk"]
    if not all(isinstance(name, str) and name != "?" for name in named):
        raise ImproperlyConfigured(f"Pages of {queryset.model.__name__} need an order by names.")
    terms = [_term(queryset, str(name)) for name in named]
    if not any(term.field.primary_key and "__" not in term.path for term in terms):
        terms.append(Term("pk", queryset.model._meta.pk, terms[-1].descending))
    return terms


def _term(queryset: QuerySet[Any], name: str) -> Term:
    path = name.removeprefix("-")
    return Term(path, _field(queryset, path), name.startswith("-"))


def _field(queryset: QuerySet[Any], path: str) -> "Field[Any, Any]":
    if path in queryset.query.annotations:
        return queryset.query.annotations[path].output_field
    model, nullable = queryset.model, False
    for step in path.split("__"):
        field = model._meta.pk if step == "pk" else model._meta.get_field(step)
        nullable = nullable or field.null
        model = field.related_model or model
    if field.is_relation:
        raise FieldDoesNotExist(f"Order by a column of {path}, not by the relation.")
    if nullable and not field.null:
        field = field.clone()
        field.null = True
    return field


def _name(terms: Sequence[Term]) -> str:
    return ",".join(map(str, terms))


def _cursor(request: Request, terms: Sequence[Term]) -> Cursor | None:
    given = request.query_params.get("cursor")
    return Cursor.decode(given, terms) if given else None


def _invalid_cursor() -> ValidationError:
    return ValidationError({"cursor": [_("Take the cursor from `next` or `previous`.")]})


def _plain(value: Any) -> Any:
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _parse(term: Term, value: Any) -> Any:
    return None if value is None else term.field.to_python(value)


def _parameter(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": description,
        "schema": schema,
    }
