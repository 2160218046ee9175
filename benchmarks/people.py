"""People with open logins, many at once."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.utils import timezone
from rest_framework_simplejwt.tokens import AccessToken

from apps.accounts.models import LoginSession, Membership, Tenant, User

from .publishing import TENANT

CHUNK = 1_000


def people(count: int) -> tuple[list[User], list[str]]:
    """So many people of the benchmarks' tenant, and a token of each."""
    tenant, _ = Tenant.objects.get_or_create(pk=TENANT, defaults={"name": "Bench", "slug": "bench"})
    users = [_person(number) for number in range(count)]
    User.objects.bulk_create(users, batch_size=CHUNK)
    memberships = Membership.objects.bulk_create(
        [Membership(tenant=tenant, user=user, role="viewer") for user in users], batch_size=CHUNK
    )
    logins = [_login(user, at) for user, at in zip(users, memberships, strict=True)]
    LoginSession.objects.bulk_create(logins, batch_size=CHUNK)
    return users, [_token(login) for login in logins]


def _person(number: int) -> User:
    return User(email=f"p{number}-{uuid4().hex}@bench.example", name=f"P{number}", password="!")


def _login(user: User, membership: Membership) -> LoginSession:
    now = timezone.now()
    return LoginSession(
        user=user, membership=membership, kind=LoginSession.Kind.TOKEN,
        password_stamp=user.get_session_auth_hash(),
        created_at=now, last_seen_at=now, expires_at=now + timedelta(days=1),
    )  # fmt: skip


def _token(login: LoginSession) -> str:
    token: Any = AccessToken()
    token.set_exp(lifetime=timedelta(hours=3))
    token["user_id"], token["sid"] = str(login.user_id), str(login.pk)
    return str(token)
