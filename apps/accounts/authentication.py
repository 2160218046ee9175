"""Tells REST framework who is asking; the middleware has found out already."""

from typing import Any, cast

from django.http import HttpRequest
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.request import Request

from apps.accounts.models import LoginSession, User
from axiom.errors import CsrfFailed


class LoginAuthentication(BaseAuthentication):
    """`Authorization: Bearer <access token>`, or a browser's session with its CSRF token."""

    def authenticate(self, request: Request) -> tuple[User, LoginSession] | None:
        if error := getattr(request._request, "login_error", None):
            raise error
        login: LoginSession | None = getattr(request._request, "login", None)
        if login is None:
            return None
        if login.kind == LoginSession.Kind.BROWSER:
            require_csrf(request._request)
        return login.user, login

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


def require_csrf(request: HttpRequest) -> None:
    """Refuse what another site may have made the browser send."""
    check = CSRFCheck(lambda _: None)  # type: ignore[arg-type]
    check.process_request(request)
    if check.process_view(request, None, (), {}):  # type: ignore[arg-type]
        raise CsrfFailed


def login_of(request: Request) -> LoginSession:
    """The login of a request that was authenticated."""
    return cast(LoginSession, request.auth)


class LoginScheme(OpenApiAuthenticationExtension):
    target_class = "apps.accounts.authentication.LoginAuthentication"
    name = ["token", "session"]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        return [
            {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            {"type": "apiKey", "in": "cookie", "name": "sessionid"},
        ]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[str]]]:
        """One or the other; in one dictionary it would mean both."""
        return [{"token": []}, {"session": []}]
