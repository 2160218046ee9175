"""What accounts know: who is logged in, who belongs where."""

import uuid
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

from django.contrib.auth import HASH_SESSION_KEY
from django.db.models import F, Max, Q, QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from apps.accounts import tokens
from apps.accounts.errors import LoginEnded
from apps.accounts.models import LoginSession, Membership, Tenant, User
from apps.events.statements import preparing_cursor

LOGIN_IN_SESSION = "login_id"


def login_by_token(text: str) -> LoginSession:
    """The login an access token belongs to, with its person, tenant and role: one query."""
    login = _find(tokens.read_access(text)[tokens.LOGIN_CLAIM])
    if login is None or not is_open(login) or not _stamped(login.user, login.password_stamp):
        raise LoginEnded
    return login


def login_by_session(session: Mapping[str, Any]) -> LoginSession | None:
    """The login of a browser's session, in one query; None when there is none or it ended."""
    login = _find(session.get(LOGIN_IN_SESSION))
    if login is None or not is_open(login):
        return None
    return login if _stamped(login.user, session.get(HASH_SESSION_KEY, "")) else None


def login_by_id(login_id: str | None) -> LoginSession | None:
    """The login of this id, if it still lets its person in."""
    login = _find(login_id)
    return login if login is not None and is_open(login) else None


def login_goes_on(login_id: str) -> bool:
    """Whether this login still lets its person in, under the password they have now."""
    login = login_by_id(login_id)
    return login is not None and _stamped(login.user, login.password_stamp)


def is_open(login: LoginSession) -> bool:
    """Whether this login still lets its person in."""
    tenant_is_open = login.tenant is None or login.tenant.is_active
    alive = login.revoked_at is None and login.expires_at > timezone.now()
    return alive and login.user.is_active and tenant_is_open


def _find(login_id: str | None) -> LoginSession | None:
    try:
        key = uuid.UUID(login_id)
    except (ValueError, TypeError, AttributeError):
        return None
    with preparing_cursor() as cursor:
        cursor.execute(_statement(), [key])
        row = cursor.fetchone()
    return _login(row) if row else None


# Every request asks this. The ORM takes longer to write the statement than PostgreSQL to answer it.
_PARTS = {"l": LoginSession, "u": User, "m": Membership, "t": Tenant}


@cache
def _statement() -> str:
    columns = (f'{alias}."{f.column}"' for alias, m in _PARTS.items() for f in _columns(m))
    return f"""
        SELECT {", ".join(columns)} FROM accounts_loginsession l
        JOIN accounts_user u ON u.id = l.user_id
        LEFT JOIN accounts_membership m ON m.id = l.membership_id
        LEFT JOIN accounts_tenant t ON t.id = m.tenant_id
        WHERE l.id = %s"""


def _columns(model: Any) -> Any:
    return model._meta.concrete_fields


def _login(row: tuple[Any, ...]) -> LoginSession:
    values = iter(row)
    login, user, membership, tenant = (_made(model, values) for model in _PARTS.values())
    login.user = user
    if membership is not None:
        membership.tenant, membership.user, login.membership = tenant, user, membership
    return login


def _made(model: Any, values: Iterator[Any]) -> Any:
    """The next row of this model; None where there was nothing to join."""
    names = [field.attname for field in _columns(model)]
    found = [next(values) for _ in names]
    return None if found[0] is None else model.from_db("default", names, found)


def with_circumstances(logins: Any) -> QuerySet[LoginSession]:
    return logins.select_related("user", "membership__tenant")


def _stamped(user: User, stamp: str) -> bool:
    stamps = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    return any(constant_time_compare(stamp, known) for known in stamps)


def memberships_of(user: User) -> QuerySet[Membership]:
    """Where a person belongs, the tenant of their latest login first."""
    return (
        Membership.objects.filter(user=user, tenant__is_active=True)
        .select_related("tenant")
        .annotate(last_login_at=Max("logins__created_at"))
        .order_by(F("last_login_at").desc(nulls_last=True), "created_at", "pk")
    )


def membership_in(user: User, tenant: str) -> Membership | None:
    """The person's membership in the tenant of this id or short name."""
    return memberships_of(user).filter(_named(tenant)).first()


def _named(tenant: str) -> Q:
    try:
        return Q(tenant_id=uuid.UUID(tenant))
    except ValueError:
        return Q(tenant__slug=tenant)


def open_logins_of(user_id: Any) -> QuerySet[LoginSession]:
    """Where a person is logged in now."""
    return with_circumstances(
        LoginSession.objects.filter(user_id=user_id, revoked_at=None, expires_at__gt=timezone.now())
    )


def members_of(tenant_id: uuid.UUID) -> QuerySet[Membership]:
    return Membership.objects.filter(tenant_id=tenant_id).select_related("user")


def active_roles(
    tenant_ids: Collection[uuid.UUID],
) -> QuerySet[Membership, tuple[uuid.UUID, uuid.UUID, str]]:
    """Who works in these tenants, and as what: tenant, person and role."""
    rows = Membership.objects.filter(tenant_id__in=tenant_ids, user__is_active=True)
    return rows.order_by("user_id").values_list("tenant_id", "user_id", "role")


def users_by_id(user_ids: Collection[uuid.UUID | str]) -> QuerySet[User]:
    return User.objects.filter(pk__in=user_ids)


def tenant_by_id(tenant_id: uuid.UUID) -> Tenant | None:
    return Tenant.objects.filter(pk=tenant_id).first()


def active_tenants() -> QuerySet[Tenant]:
    return Tenant.objects.filter(is_active=True).order_by("name")
