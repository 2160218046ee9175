"""The OpenAPI document says what every view inherits: problems, headers, conditions."""

import uuid
from http import HTTPStatus
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from apps.events.context import acting
from axiom.problems import CONTENT_TYPE

_IF_MATCH = "The ETag you last saw, or `*`."
_IF_NONE_MATCH = "An ETag you have: 304 when it still stands."
_KEY = "Any string of your own: a repeated request with it is answered again, not done again."


class FaultSerializer(serializers.Serializer[Any]):
    """What is wrong with one value, and where it is."""

    pointer = serializers.CharField(required=False, help_text="JSON pointer into the body.")
    parameter = serializers.CharField(required=False, help_text="Name of the query parameter.")
    code = serializers.CharField()
    detail = serializers.CharField()


class ProblemSerializer(serializers.Serializer[Any]):
    """An error, as RFC 9457 has it."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField(help_text="Stable: switch on this one.")
    instance = serializers.CharField()
    request_id = serializers.CharField(help_text="Tell us this when you ask for help.")
    errors = FaultSerializer(many=True, required=False)  # type: ignore[assignment]


class Generator(SchemaGenerator):
    """Asks views for their querysets, as if for a tenant that has nothing."""

    def get_schema(self, *args: Any, **kwargs: Any) -> Any:
        with acting(tenant_id=uuid.UUID(int=0)):
            return super().get_schema(*args, **kwargs)


class ConventionSchema(AutoSchema):
    """Adds to each operation what the conventions add to each view."""

    def get_override_parameters(self) -> list[Any]:
        headers = [_answered("Retry-After", [429])]
        if self._takes_a_key():
            headers.append(_header("Idempotency-Key", _KEY))
        if self._is_conditional():
            headers.append(_header("If-Match", _IF_MATCH, required=True))
        if self._is_shown():
            headers.append(_header("If-None-Match", _IF_NONE_MATCH))
        if self._is_shown() or self._is_conditional() or self._is_create_operation():
            headers.append(_answered("ETag", [200, 201]))
        return headers

    def get_response_serializers(self) -> Any:
        shown = getattr(self.view, "serializer_class", None)
        if getattr(self.view, "action", None) in {"create", "update", "partial_update"} and shown:
            return shown
        return super().get_response_serializers()

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        for status in sorted(self._problems()):
            bodies.setdefault(str(status), self._problem(str(status), direction))
        if self._is_shown():
            bodies["304"] = {"description": "Not modified"}
        return bodies

    def _problem(self, status: str, direction: Any) -> dict[str, Any]:
        body = self._get_response_for_code(ProblemSerializer, status, [CONTENT_TYPE], direction)
        return {**body, "description": HTTPStatus(int(status)).phrase}

    def _problems(self) -> set[int]:
        """The problems this operation may answer."""
        found = {400, 401, 403, 406, 429}
        if "{" in self.path or self._is_shown():
            found.add(404)
        if self.method != "GET":
            found |= {409, 415}
        if self._takes_a_key():
            found.add(422)
        return found | {404, 412, 428} if self._is_conditional() else found

    def _takes_a_key(self) -> bool:
        return self.method == "POST" and getattr(self.view, "idempotent", False)

    def _is_conditional(self) -> bool:
        return getattr(self.view, "action", None) in {"update", "partial_update", "destroy"} and (
            getattr(self.view, "versioned", False)
        )

    def _is_shown(self) -> bool:
        return getattr(self.view, "action", None) == "retrieve" and (
            getattr(self.view, "versioned", False)
        )


def _header(name: str, description: str, required: bool = False) -> OpenApiParameter:
    return OpenApiParameter(
        name, OpenApiTypes.STR, OpenApiParameter.HEADER, required=required, description=description
    )


def _answered(name: str, statuses: list[int]) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.STR, OpenApiParameter.HEADER, response=statuses)
