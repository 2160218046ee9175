"""The person's own language and time zone."""

import zoneinfo
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation

from axiom.errors import is_api


class PersonalMiddleware:
    """Speaks the person's language and tells the time of their zone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        user = _person(request)
        if user is None:
            return self.get_response(request)
        # The API tells every moment in UTC: its readers are programs.
        zone = None if is_api(request) else _zone(user.timezone)
        with translation.override(user.language), timezone.override(zone):
            response = self.get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language())
            return response


def _person(request: HttpRequest) -> Any:
    """Whose language and zone count; None when the request's own headers do.

    Browsers send the language they were installed with. A program that names one means it.
    """
    login = getattr(request, "login", None)
    if login is None:
        return None
    names_a_language = "Authorization" in request.headers and "Accept-Language" in request.headers
    return None if names_a_language else login.user


def _zone(name: str) -> zoneinfo.ZoneInfo | None:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return None
