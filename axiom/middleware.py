"""Names and counts every request, and tells every error of the API as a problem."""

import re
import time
import uuid
from collections.abc import Callable

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from apps.events import context
from axiom import metrics
from axiom.errors import AxiomError, is_api
from axiom.problems import CONTENT_TYPE, SAFE_METHODS, problem_of, problem_of_status

log = structlog.get_logger(__name__)

_ACCEPTABLE_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_TRACEPARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class RequestContextMiddleware:
    """Names the request: X-Request-ID in and out, the trace from W3C traceparent."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with context.fresh(
            request_id=_request_id(request),
            trace_id=_trace_id(request),
            source=f"{request.method} {request.path}"[:300],
        ) as here:
            began = time.perf_counter()
            response = self.get_response(request)
            response["X-Request-ID"] = here.request_id
            _tell(request, response, seconds=time.perf_counter() - began)
            return response


class ProblemMiddleware:
    """Makes a problem of every error below /api/ that something else than our views answered.

    An unmatched URL, a Django view, a middleware, a bug: whatever page they made is dropped,
    so that nothing of it leaks and clients have one format to read.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not is_api(request):
            return response
        if response.status_code == 301 and request.method not in SAFE_METHODS:
            response.status_code = 308  # 301 for a missing slash would turn the POST into a GET.
        return response if _is_told(response) else _retold(request, response)

    def process_exception(self, request: HttpRequest, exc: Exception) -> HttpResponse | None:
        """An error of ours in a plain Django view; Django logs and answers the others."""
        problem = problem_of(exc) if isinstance(exc, AxiomError) and is_api(request) else None
        return problem.answer(request) if problem else None


def _is_told(response: HttpResponse) -> bool:
    return response.status_code < 400 or response.get("Content-Type") == CONTENT_TYPE


def _retold(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    answer = problem_of_status(response.status_code).answer(request)
    for name in ("Allow", "Retry-After", "WWW-Authenticate"):
        if response.has_header(name):
            answer[name] = response[name]
    answer.cookies = response.cookies
    # Django logged the page it made; a second line would say nothing new.
    answer._has_been_logged = getattr(response, "_has_been_logged", False)  # type: ignore[attr-defined]
    return answer


def _request_id(request: HttpRequest) -> str:
    given = request.headers.get("X-Request-ID", "")
    return given if _ACCEPTABLE_ID.fullmatch(given) else uuid.uuid4().hex


def _trace_id(request: HttpRequest) -> str:
    given = _TRACEPARENT.fullmatch(request.headers.get("traceparent", ""))
    return given.group(1) if given else uuid.uuid4().hex


def _tell(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    """The request's line in the log and its share in the metrics."""
    method = request.method if request.method in _METHODS else "OTHER"
    route = _route(request)
    metrics.REQUESTS.labels(method, route, response.status_code).inc()
    metrics.REQUEST_SECONDS.labels(method, route).observe(seconds)
    log.info(
        "request",
        method=request.method,
        path=request.path,
        route=route,
        status=response.status_code,
        milliseconds=round(seconds * 1000, 1),
        **_who(request),
    )


def _who(request: HttpRequest) -> dict[str, str]:
    """Who asked: by now the request acts for nobody again."""
    login = getattr(request, "login", None)
    if login is None:
        return {}
    return {"actor": login.user.email, "tenant_id": str(login.tenant_id or "")}


def _route(request: HttpRequest) -> str:
    """The pattern that matched: paths themselves are without number."""
    if request.resolver_match:
        return f"/{request.resolver_match.route}"
    return "static" if request.path.startswith(settings.STATIC_URL) else "unmatched"
