"""Every error of the API, told as problem+json (RFC 9457)."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.exceptions import ValidationError as DjangoValidationError
from django.http import Http404, HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.serializers import as_serializer_error
from rest_framework.views import set_rollback

from apps.events.context import current
from axiom.errors import AxiomError, CsrfFailed, is_api

CONTENT_TYPE = "application/problem+json"
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


@dataclass(frozen=True)
class Problem:
    """One error, ready to be told."""

    status: int
    code: str
    title: str
    detail: str
    errors: list[dict[str, str]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def body(self, request: HttpRequest) -> dict[str, Any]:
        told = {
            "type": f"urn:axiom:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "instance": request.path,
            "request_id": current().request_id,
        }
        return {**self.facts, **told, **({"errors": self.errors} if self.errors else {})}

    def answer(self, request: HttpRequest) -> JsonResponse:
        """The answer of code that is not a REST framework view."""
        return JsonResponse(
            self.body(request),
            status=self.status,
            content_type=CONTENT_TYPE,
            headers=self.headers,
        )


def handle(exc: Exception, context: dict[str, Any]) -> Response | None:
    """REST framework's exception handler. What it does not know, Django logs and answers."""
    request = context["request"]
    problem = problem_of(exc, in_body=request.method not in SAFE_METHODS)
    if problem is None:
        return None
    set_rollback()
    return Response(
        problem.body(request),
        status=problem.status,
        content_type=CONTENT_TYPE,
        headers=problem.headers,
    )


def problem_of(exc: Exception, *, in_body: bool = True) -> Problem | None:
    """The problem that an exception stands for; None if it is a bug of ours."""
    if isinstance(exc, AxiomError):
        return problem_of_error(exc)
    if isinstance(exc, DjangoValidationError):
        exc = exceptions.ValidationError(as_serializer_error(exc))
    if isinstance(exc, exceptions.ValidationError):
        return _problem_of_validation(exc, in_body=in_body)
    if isinstance(exc, Http404):
        exc = exceptions.NotFound()
    if isinstance(exc, PermissionDenied):
        exc = exceptions.PermissionDenied()
    return _problem_of_api_exception(exc) if isinstance(exc, exceptions.APIException) else None


def problem_of_status(status: int) -> Problem:
    """The problem of an answer about which nothing but its status is known."""
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "Error"
    code = _CODES.get(status, re.sub("[^a-z]+", "_", phrase.lower()))
    title = str(_TITLES.get(status, phrase))
    return Problem(status, code, title, title, headers=_headers(status))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    """Django's answer to a missing or wrong CSRF token, outside of REST framework's views."""
    from django.views.csrf import csrf_failure as page

    return (
        problem_of_error(CsrfFailed()).answer(request) if is_api(request) else page(request, reason)
    )


_TITLES = {
    400: _("The request could not be understood."),
    401: _("Please log in."),
    403: _("You may not do this."),
    404: _("There is nothing here, or not for you."),
    405: _("This method is not allowed here."),
    406: _("No form of the answer that was asked for exists."),
    413: _("The request is too large."),
    415: _("The body is in a form that is not read here."),
    429: _("Too many requests."),
    500: _("Something broke on our side; it was recorded."),
    503: _("The service is not available at the moment."),
}
_CODES = {400: "bad_request", 403: "permission_denied", 413: "too_large", 500: "internal_error"}


def problem_of_error(exc: AxiomError) -> Problem:
    headers = _headers(exc.status, retry_after=exc.facts.get("retry_after"))
    title, detail = gettext(exc.sentence()), gettext(exc.message)
    return Problem(exc.status, exc.code, title, detail, facts=exc.facts, headers=headers)


def _problem_of_validation(exc: exceptions.ValidationError, *, in_body: bool) -> Problem:
    place, root = ("pointer", "#") if in_body else ("parameter", "")
    return Problem(
        exc.status_code,
        "invalid",
        gettext("Some values are not valid."),
        gettext("See `errors` for what is wrong with each value."),
        errors=list(_faults(exc.detail, place, root)),
    )


def _problem_of_api_exception(exc: exceptions.APIException) -> Problem:
    detail = exc.detail.get("detail", "") if isinstance(exc.detail, dict) else exc.detail
    codes = exc.get_codes()
    return Problem(
        exc.status_code,
        codes if isinstance(codes, str) else exc.default_code,
        # Of its own words, REST framework's are a form to fill in: "{method}", "{media_type}".
        str(_TITLES.get(exc.status_code, exc.default_detail)),
        str(detail[0] if isinstance(detail, list) else detail),
        headers=_headers(exc.status_code, retry_after=getattr(exc, "wait", None)),
    )


def _headers(status: int, retry_after: float | None = None) -> dict[str, str]:
    headers = {"WWW-Authenticate": 'Bearer realm="api"'} if status == 401 else {}
    # Rounded up: a client that is told 0 comes straight back.
    return headers | ({"Retry-After": str(math.ceil(retry_after))} if retry_after else {})


_NO_FIELD = {"non_field_errors", "__all__"}


def _faults(detail: Any, place: str, at: str) -> Iterator[dict[str, str]]:
    """Every fault with the place it is at: a JSON pointer into the body, or a parameter."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield from _faults(inner, place, at if name in _NO_FIELD else _below(at, name))
    elif isinstance(detail, list):
        for number, inner in enumerate(detail):
            yield from _faults(inner, place, _below(at, number) if _nests(inner) else at)
    else:
        yield {place: at, "code": detail.code, "detail": str(detail)}


def _nests(detail: Any) -> bool:
    return isinstance(detail, dict | list)


def _below(at: str, name: object) -> str:
    step = str(name).replace("~", "~0").replace("/", "~1")
    return f"{at}/{step}" if at else step
