"""What views are made of. A resource built on these has every convention of the API."""

from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet
from rest_framework import viewsets
from rest_framework.generics import get_object_or_404
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from axiom.api.columns import columns_of
from axiom.api.concurrency import etag_of, is_known, must_match
from axiom.api.idempotency import Idempotent
from axiom.api.pagination import order_of
from axiom.api.shapes import shape_of
from axiom.roles import EVERYONE, OPERATORS, Roles


class Conventions(Idempotent):
    """What every view of the API has: roles, idempotent POST, answers kept out of caches."""

    # No OPTIONS: the OpenAPI document says what there is.
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    may_read: Roles = EVERYONE
    may_write: Roles = OPERATORS
    may: dict[str, Roles] = {}

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        # A browser may keep it, but must ask (If-None-Match) before it shows it again.
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response


class ApiView(Conventions):
    """A view that is no resource: one thing done."""


class PublicView(ApiView):
    """A view for people who are not logged in. It cannot know who repeats a request."""

    authentication_classes: list[type] = []
    permission_classes = [AllowAny]
    idempotent = False


class Resource(Conventions, viewsets.GenericViewSet[Any]):
    """Base of a resource; add Listed, Shown, Made, Changed, Removed or take all: FullResource.

    `serializer_class` is what readers see; `input_serializer_class` what POST takes, and
    `change_serializer_class` what PUT and PATCH take, where these differ. Rows come from
    `get_queryset()`, which runs inside a request, so `Model.objects` is the tenant's.
    """

    input_serializer_class: type[BaseSerializer[Any]] | None = None
    change_serializer_class: type[BaseSerializer[Any]] | None = None
    versioned = True
    _lock_rows = False

    def get_serializer_class(self) -> type[BaseSerializer[Any]]:
        shown = super().get_serializer_class()
        if self.action == "create":
            return self.input_serializer_class or shown
        if self.action in {"update", "partial_update"}:
            return self.change_serializer_class or self.input_serializer_class or shown
        return shown

    def representation(self, row: Any) -> Any:
        """What a reader of this row sees: what GET answers, and what the ETag is made of."""
        assert self.serializer_class
        return self.serializer_class(row, context=self.get_serializer_context()).data

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        rows = super().filter_queryset(queryset)
        return rows.select_for_update(of=("self",)) if self._lock_rows else rows

    def get_locked_object(self) -> Any:
        """The row of the URL, which nobody else changes until this transaction ends."""
        self._lock_rows = True
        try:
            return self.get_object()
        finally:
            self._lock_rows = False

    def validated(self, request: Request, row: Any = None, *, partial: bool = False) -> Any:
        serializer = self.get_serializer(row, data=request.data, partial=partial)
        serializer.is_valid(raise_exception=True)
        return serializer.validated_data

    def answer(self, row: Any, status: int = 200, **headers: str) -> Response:
        """The row as readers see it, with its ETag."""
        shown = self.representation(row)
        tag = {"ETag": etag_of(shown)} if self.versioned else {}
        return Response(shown, status=status, headers={**tag, **headers})


class Listed:
    """GET of the collection: filtered, sorted, in pages."""

    def list(self: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        rows = self.filter_queryset(self.get_queryset())
        columns = columns_of(self.get_serializer_class())
        if columns is None:
            tell = shape_of(self.get_serializer_class(), self.get_serializer_context())
        else:
            rows, tell = columns.of(rows, *order_of(rows)), columns.tell
        page = self.paginate_queryset(rows)
        told = [tell(row) for row in (rows if page is None else page)]
        return Response(told) if page is None else self.get_paginated_response(told)


class Shown:
    """GET of one row, or 304 when the reader has it already."""

    def retrieve(self: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        response: Response = self.answer(self.get_object())
        if self.versioned and is_known(request, response["ETag"]):
            return Response(status=304, headers={"ETag": response["ETag"]})
        return response


class Made:
    """POST: `make(data)` calls the service and returns the row."""

    def create(self: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        row = self.make(self.validated(request))
        location = {"Location": self.location(row)} if hasattr(self, "retrieve") else {}
        return self.answer(row, 201, **location)

    def location(self: Any, row: Any) -> str:
        name = self.lookup_url_kwarg or self.lookup_field
        known = {**self.kwargs, name: getattr(row, self.lookup_field)}
        return self.reverse_action("detail", kwargs=known)

    def make(self, data: dict[str, Any]) -> Model:
        raise NotImplementedError


class Changed:
    """PUT and PATCH under If-Match: `change(row, data)` calls the service and returns the row."""

    @transaction.atomic
    def update(
        self: Any, request: Request, *args: Any, partial: bool = False, **kwargs: Any
    ) -> Response:
        row = self.get_locked_object()
        if self.versioned:
            must_match(request, etag_of(self.representation(row)))
        return self.answer(self.change(row, self.validated(request, row, partial=partial)))

    def partial_update(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return self.update(request, *args, partial=True, **kwargs)

    def change(self, row: Any, data: dict[str, Any]) -> Model:
        raise NotImplementedError


class Removed:
    """DELETE under If-Match: `remove(row)` calls the service."""

    @transaction.atomic
    def destroy(self: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        row = self.get_locked_object()
        if self.versioned:
            must_match(request, etag_of(self.representation(row)))
        self.remove(row)
        return Response(status=204)

    def remove(self, row: Any) -> None:
        raise NotImplementedError


class FullResource(Listed, Shown, Made, Changed, Removed, Resource):
    """A resource with everything."""


class Single(Shown, Changed, Resource):
    """A resource of which the caller has exactly one: `get_queryset()` is that row."""

    routes: dict[str, Any] = {"get": "retrieve", "patch": "partial_update"}

    def get_object(self) -> Any:
        row = get_object_or_404(self.filter_queryset(self.get_queryset()))
        self.check_object_permissions(self.request, row)
        return row
