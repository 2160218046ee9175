"""Errors people can act on, told as problem+json (RFC 9457)."""

import inspect
from typing import Any, ClassVar

from rest_framework.response import Response

CONTENT_TYPE = "application/problem+json"


class AxiomError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 400

    def __init__(self, message: str = "", **facts: Any) -> None:
        self.message = message or inspect.cleandoc(self.__class__.__doc__ or "").split("\n\n")[0]
        self.facts = facts
        super().__init__(self.message)


def handle(exc: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler."""
    from rest_framework.views import exception_handler

    return exception_handler(exc, context)
