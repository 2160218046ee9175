"""Finds out who is asking, once per request, and lets the rest of it act as them."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.accounts.models import LoginSession
from apps.accounts.selectors import LOGIN_IN_SESSION, login_by_session, login_by_token
from apps.events.context import acting
from axiom.errors import AxiomError, is_api

_SEEN_EVERY = timedelta(minutes=5)


class LoginMiddleware:
    """Sets `request.login` and acts for its tenant while the request lasts, and not longer.

    Here and not in the views' authentication, because a `with` around everything cannot be
    forgotten by a new view, nor left open by an exception. A token wins over a cookie.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        login, error = _identify(request)
        request.login, request.login_error = login, error  # type: ignore[attr-defined]
        with _acting_as(login):
            return self.get_response(request)


def _identify(request: HttpRequest) -> tuple[LoginSession | None, AxiomError | None]:
    """The login, or the error that a view which needs one will tell."""
    try:
        token = _bearer(request)
        login = login_by_token(token) if token is not None else _login_of_browser(request)
    except AxiomError as error:
        _install_user(request, AnonymousUser())
        return None, error
    _install_user(request, login.user if login else AnonymousUser())
    if login and timezone.now() - login.last_seen_at > _SEEN_EVERY:
        LoginSession.objects.filter(pk=login.pk).update(last_seen_at=timezone.now())
    return login, None


def _bearer(request: HttpRequest) -> str | None:
    scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and is_api(request) else None


def _login_of_browser(request: HttpRequest) -> LoginSession | None:
    return login_by_session(request.session) if LOGIN_IN_SESSION in request.session else None


def _install_user(request: HttpRequest, user: Any) -> None:
    """Before Django asks the database for the user once more."""
    request.user = request._cached_user = request._acached_user = user  # type: ignore[attr-defined]


def _acting_as(login: LoginSession | None) -> AbstractContextManager[Any]:
    if login is None:
        return nullcontext()
    return acting(tenant_id=login.tenant_id, actor=login.user.email)
