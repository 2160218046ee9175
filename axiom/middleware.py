"""Gives every request an id and a trace, and forgets them when it ends."""

import re
import uuid
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse

from apps.events import context

log = structlog.get_logger(__name__)

_ACCEPTABLE_ID = re.compile(r"^[A-Za-z0-9._-]{8,64}$")
_TRACEPARENT = re.compile(r"^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$")


class RequestContextMiddleware:
    """Names the request: X-Request-ID in and out, the trace from W3C traceparent."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with context.fresh(request_id=_request_id(request), trace_id=_trace_id(request)) as here:
            response = self.get_response(request)
            response["X-Request-ID"] = here.request_id
            log.info(
                "request", method=request.method, path=request.path, status=response.status_code
            )
            return response


def _request_id(request: HttpRequest) -> str:
    given = request.headers.get("X-Request-ID", "")
    return given if _ACCEPTABLE_ID.match(given) else uuid.uuid4().hex


def _trace_id(request: HttpRequest) -> str:
    given = _TRACEPARENT.match(request.headers.get("traceparent", ""))
    return given.group(1) if given else uuid.uuid4().hex
