"""What happens after too many failed logins (django-axes counts them)."""

from typing import Any

from axes.helpers import get_cool_off
from axes.models import AccessAttempt
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from apps.accounts.errors import LockedOut
from axiom.api.client import client_ip
from axiom.errors import is_api
from axiom.problems import problem_of_error


def name_of(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """Whose login is tried, however they spell it: attempts are counted by this name."""
    given = (credentials or {}).get("username") or request.POST.get("username", "")
    return str(given).strip().lower()[:255]


def is_locked_out(request: HttpRequest) -> bool:
    return bool(getattr(request, "axes_locked_out", False))


def seconds_left(request: HttpRequest, name: str) -> float:
    """How long until the next attempt is let through."""
    attempts = AccessAttempt.objects.filter(
        username=name.strip().lower()[:255], ip_address=client_ip(request)
    )
    latest = attempts.order_by("-attempt_time").first()
    since = timezone.now() - latest.attempt_time if latest else get_cool_off(request)
    return max(1.0, (get_cool_off(request) - since).total_seconds())


def answer(request: HttpRequest, *_: Any) -> HttpResponse:
    """What axes answers in place of the login view."""
    credentials = getattr(request, "axes_credentials", None)
    seconds = seconds_left(request, name_of(request, credentials))
    problem = problem_of_error(LockedOut(retry_after=round(seconds)))
    if is_api(request):
        return problem.answer(request)
    minutes = max(1, round(seconds / 60))
    page = render(request, "accounts/locked_out.html", {"minutes": minutes}, status=429)
    page["Retry-After"] = problem.headers["Retry-After"]
    return page
