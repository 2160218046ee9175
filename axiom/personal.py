"""The person's own language and time zone."""

import zoneinfo
from collections.abc import Callable

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation


class PersonalMiddleware:
    """Speaks the person's language and tells the time of their zone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        user = request.user
        if isinstance(user, AnonymousUser):
            return self.get_response(request)
        with translation.override(user.language), timezone.override(_zone(user.timezone)):
            response = self.get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language())
            return response


def _zone(name: str) -> zoneinfo.ZoneInfo | None:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return None
