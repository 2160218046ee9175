"""Errors people can act on. `axiom.problems` tells them."""

import inspect
from typing import Any, ClassVar

from django.http import HttpRequest

API_PREFIX = "/api/"


def first_sentence(docstring: str | None) -> str:
    """The first paragraph of a docstring, in one line: what people are told."""
    return " ".join(inspect.cleandoc(docstring or "").split("\n\n")[0].split())


class AxiomError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 400

    def __init__(self, message: str = "", **facts: Any) -> None:
        self.message = message or self.sentence()
        self.facts = facts
        super().__init__(self.message)

    @classmethod
    def sentence(cls) -> str:
        """What this error always means, whatever the occasion."""
        return first_sentence(cls.__doc__)


class CsrfFailed(AxiomError):
    """The CSRF token is missing or wrong: send the cookie's value as X-CSRFToken."""

    code, status = "csrf_failed", 403


def is_api(request: HttpRequest) -> bool:
    """Whether a program asks, which reads problems, and not a person, who reads pages."""
    return request.path.startswith(API_PREFIX)
