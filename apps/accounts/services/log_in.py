"""Logins: opened by a password, ended at once wherever their tokens and cookies are."""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

import redis
import structlog
from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.models import update_last_login
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from apps.accounts import lockout
from apps.accounts.errors import LockedOut, NotAMember, WrongCredentials
from apps.accounts.models import LoginSession, Membership, User
from apps.accounts.selectors import membership_in, memberships_of
from apps.events.connections import redis_client
from axiom.api.client import client_ip

log = structlog.get_logger(__name__)

# Live connections listen here: {"user_id": ..., "login_ids": [...]}.
ENDED_CHANNEL = "axiom:logins:ended"
TOKEN_LIFETIME = timedelta(days=settings.REFRESH_TOKEN_DAYS)
BROWSER_LIFETIME = timedelta(seconds=settings.SESSION_COOKIE_AGE)


def log_in(*, request: HttpRequest, email: str, password: str, tenant: str = "") -> LoginSession:
    """Open a login for tokens. An unknown person and a wrong password are answered alike."""
    user = check_password(request=request, email=email, password=password)
    membership = choose_membership(user, tenant)
    # Django says this for browsers; failed attempts are forgotten and the date is kept here too.
    AxesProxyHandler.user_logged_in(sender=User, request=request, user=user)
    update_last_login(User, user)
    return open_login(
        user=user, membership=membership, kind=LoginSession.Kind.TOKEN, request=request
    )


def check_password(*, request: HttpRequest, email: str, password: str) -> User:
    """The person with this password, or an error that does not say what was wrong."""
    user = authenticate(request, username=email, password=password)
    if lockout.is_locked_out(request):
        raise LockedOut(retry_after=lockout.seconds_left(request, email))
    if not isinstance(user, User):
        raise WrongCredentials
    return user


def choose_membership(user: User, tenant: str = "") -> Membership | None:
    """The tenant that was asked for, else that of the latest login."""
    membership = membership_in(user, tenant) if tenant else memberships_of(user).first()
    if membership is None and (tenant or not user.is_staff):
        raise NotAMember
    return membership


def open_login(
    *, user: User, membership: Membership | None, kind: str, request: HttpRequest
) -> LoginSession:
    """Write a login down; its tokens or its cookie name it."""
    now = timezone.now()
    lifetime = TOKEN_LIFETIME if kind == LoginSession.Kind.TOKEN else BROWSER_LIFETIME
    return LoginSession.objects.create(
        user=user,
        membership=membership,
        kind=kind,
        password_stamp=user.get_session_auth_hash(),
        user_agent=request.META.get("HTTP_USER_AGENT", "")[:300],
        ip=client_ip(request),
        created_at=now,
        last_seen_at=now,
        expires_at=now + lifetime,
    )


@transaction.atomic
def switch_tenant(*, login: LoginSession, tenant: str, request: HttpRequest) -> LoginSession:
    """Go on in another tenant with a new login. The old one ends: it was for the old tenant."""
    membership = membership_in(login.user, tenant)
    if membership is None:
        raise NotAMember
    end_login(login=login)
    return open_login(user=login.user, membership=membership, kind=login.kind, request=request)


def end_login(*, login: LoginSession) -> None:
    """End one login with its tokens or its cookie."""
    end_logins(LoginSession.objects.filter(pk=login.pk))


@transaction.atomic
def end_logins(logins: QuerySet[LoginSession]) -> int:
    """End these logins; from now on no token or cookie of theirs is accepted."""
    ending = list(logins.filter(revoked_at=None).select_for_update())
    LoginSession.objects.filter(pk__in=[login.pk for login in ending]).update(
        revoked_at=timezone.now()
    )
    announce_ended(ending)
    return len(ending)


def announce_ended(logins: Iterable[LoginSession]) -> None:
    """Tell live connections once it is true, so that they close within a second."""
    by_user: dict[UUID, list[str]] = {}
    for login in logins:
        by_user.setdefault(login.user_id, []).append(str(login.pk))
    if by_user:
        transaction.on_commit(lambda: _announce(by_user))


def _announce(by_user: dict[UUID, list[str]]) -> None:
    try:
        for user_id, ids in by_user.items():
            notice = json.dumps({"user_id": str(user_id), "login_ids": ids})
            redis_client("nudge").publish(ENDED_CHANNEL, notice)
    except redis.RedisError as error:
        # The login is over all the same: every request reads that from the database.
        log.warning("ended logins not announced", error=str(error))


def purge_logins(*, now: datetime | None = None) -> int:
    """Forget logins and refresh tokens that expired; say how many logins."""
    from rest_framework_simplejwt.token_blacklist.models import OutstandingToken

    moment = now or timezone.now()
    OutstandingToken.objects.filter(expires_at__lte=moment).delete()
    return LoginSession.objects.filter(expires_at__lte=moment).delete()[0]
