"""Finds out who opens a stream, and gives the database connection back before the first byte."""

import asyncio
import functools
import hashlib
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.db import Error as AnyDatabaseError
from django.db import close_old_connections, connection

from apps.accounts.selectors import login_by_id, login_by_session, login_by_token
from apps.notifications.selectors import Member
from apps.notifications.services.tickets import redeem_ticket
from axiom.errors import AxiomError

Answer = TypeVar("Answer")

# Few: streams are opened in bursts, and the database must not feel them.
_executor = ThreadPoolExecutor(max_workers=4, thread_name_prefix="live")


class NotLoggedIn(AxiomError):
    """Please log in."""

    code, status = "not_authenticated", 401


class ForeignOrigin(AxiomError):
    """Streams are opened from our own pages, or with a token or a ticket."""

    code, status = "foreign_origin", 403


class NoTenant(AxiomError):
    """Notifications belong to a tenant; this login has none."""

    code, status = "permission_denied", 403


class OnlyGet(AxiomError):
    """A stream is opened with GET."""

    code, status = "method_not_allowed", 405


class UnknownHost(AxiomError):
    """This host name is not ours."""

    code, status = "bad_request", 400


class DatabaseAway(AxiomError):
    """The database cannot be asked at the moment; try again shortly."""

    code, status = "database_away", 503


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks at a stream, and what must stay true for them to go on."""

    member: Member
    login_id: UUID
    stamp: str


async def in_database(function: Callable[..., Answer], *args: Any) -> Answer:
    """Run something that needs the database, beside the event loop."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_executor, functools.partial(_lent, function, *args))


def _lent(function: Callable[..., Answer], *args: Any) -> Answer:
    close_old_connections()
    try:
        return function(*args)
    finally:
        connection.close()


async def find_out(scope: dict[str, Any]) -> Viewer:
    """Who asks, found out beside the event loop; raises what to tell them otherwise."""
    try:
        return await in_database(identify, scope)
    except AnyDatabaseError:
        raise DatabaseAway(retry_after=3) from None


def request_of(scope: dict[str, Any]) -> ASGIRequest:
    return ASGIRequest({"method": "GET", **scope}, io.BytesIO())


def identify(scope: dict[str, Any]) -> Viewer:
    """Who asks: by a token, by a ticket or by the session of a page of ours."""
    request = request_of(scope)
    if request.method != "GET":
        raise OnlyGet
    login = _login_of(request, _host_of(request))
    if login is None:
        raise NotLoggedIn
    if login.tenant_id is None:
        raise NoTenant
    return Viewer((login.tenant_id, login.user_id), login.pk, stamp_of(login.user.password))


def stamp_of(password: str) -> str:
    """Changes with the password. PostgreSQL computes the same in `hub`'s look."""
    return hashlib.md5(password.encode(), usedforsecurity=False).hexdigest()


def _host_of(request: ASGIRequest) -> str:
    try:
        return request.get_host()
    except DisallowedHost:
        raise UnknownHost from None


def _login_of(request: ASGIRequest, host: str) -> Any:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return login_by_token(token.strip())
    if ticket := request.GET.get("ticket"):
        return login_by_id(redeem_ticket(ticket))
    _must_be_ours(request, host)
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    return login_by_session(SessionStore(key).load()) if key else None


def _must_be_ours(request: ASGIRequest, host: str) -> None:
    """A cookie is sent by whatever page a browser shows: another site must not listen with it."""
    origin = request.headers.get("Origin")
    foreign = origin is not None and urlsplit(origin).netloc != host
    if foreign or request.headers.get("Sec-Fetch-Site") == "cross-site":
        raise ForeignOrigin
