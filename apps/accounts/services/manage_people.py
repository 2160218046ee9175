"""Tenants and the people in them."""

from typing import Any

from django.db import IntegrityError, transaction

from apps.accounts.errors import AlreadyAMember, EmailTaken, LastAdmin
from apps.accounts.events import UserCreated
from apps.accounts.models import LoginSession, Membership, Tenant, User
from apps.accounts.services.log_in import announce_ended, end_logins
from apps.events.outbox import publish
from axiom.roles import Role


@transaction.atomic
def create_tenant(*, name: str, slug: str, timezone: str = "UTC") -> Tenant:
    """Create a tenant; it has no people yet."""
    tenant = Tenant(name=name, slug=slug, timezone=timezone)
    tenant.full_clean()
    tenant.save()
    return tenant


@transaction.atomic
def revise_tenant(*, tenant: Tenant, **changes: str) -> Tenant:
    """Change its name, or the time zone in which its days are counted."""
    for name, value in changes.items():
        setattr(tenant, name, value)
    tenant.full_clean()
    tenant.save(update_fields=list(changes))
    return tenant


@transaction.atomic
def create_user(
    *,
    tenant: Tenant,
    email: str,
    role: str,
    name: str = "",
    password: str | None = None,
    **profile: Any,
) -> User:
    """Create a person who works in this tenant, and say so."""
    user = User(email=email, name=name, **profile)
    user.set_password(password)
    user.full_clean()
    _insert(user)
    add_member(tenant=tenant, user=user, role=role)
    return user


def _insert(user: User) -> None:
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError:
        raise EmailTaken from None


@transaction.atomic
def invite(*, tenant: Tenant, email: str, role: str, name: str = "") -> Membership:
    """Let a person in. Who is new gets a link by mail to set their password.

    Only the mail has the link: an admin who could read it could log in as this person, in
    every tenant they ever join.
    """
    user = User.objects.filter(email=email.strip().lower()).first()
    if user is None:
        user = create_user(tenant=tenant, email=email, role=role, name=name)
        _mail_invitation(user, tenant)
        return Membership.objects.select_related("user").get(tenant=tenant, user=user)
    return add_member(tenant=tenant, user=user, role=role)


@transaction.atomic
def add_member(*, tenant: Tenant, user: User, role: str) -> Membership:
    """Let a person work in this tenant, and say so."""
    membership, is_new = Membership.objects.get_or_create(
        tenant=tenant, user=user, defaults={"role": Role(role)}
    )
    if not is_new:
        raise AlreadyAMember
    joined = UserCreated(
        user_id=user.pk,
        email=user.email,
        name=user.name,
        role=membership.role,
        language=user.language,
    )
    publish(joined, tenant=tenant)
    return membership


@transaction.atomic
def change_role(*, membership: Membership, role: str) -> Membership:
    """Give a member another role. It holds from their next request on."""
    if Role(role) != Role.ADMIN:
        _keep_an_admin(membership)
    membership.role = Role(role)
    membership.save(update_fields=["role"])
    return membership


@transaction.atomic
def remove_member(*, membership: Membership) -> None:
    """Take a person out of the tenant; their logins to it end."""
    _keep_an_admin(membership)
    announce_ended(list(membership.logins.filter(revoked_at=None)))
    membership.delete()


@transaction.atomic
def deactivate_user(*, user: User) -> None:
    """Shut a person out of everything, at once."""
    user.is_active = False
    user.save(update_fields=["is_active"])
    end_logins(LoginSession.objects.filter(user=user))


@transaction.atomic
def update_profile(*, user: User, **changes: str) -> User:
    """Change one's own name, language or time zone."""
    for name, value in changes.items():
        setattr(user, name, value)
    user.full_clean()
    user.save(update_fields=list(changes))
    return user


def _keep_an_admin(leaving: Membership) -> None:
    """Two admins who leave at the same moment must not both believe the other stays."""
    Tenant.objects.select_for_update(no_key=True).get(pk=leaving.tenant_id)
    others = Membership.objects.filter(
        tenant=leaving.tenant_id, role=Role.ADMIN, user__is_active=True
    ).exclude(pk=leaving.pk)
    if leaving.role == Role.ADMIN and not others.exists():
        raise LastAdmin


def _mail_invitation(user: User, tenant: Tenant) -> None:
    from apps.accounts.tasks import send_invitation

    transaction.on_commit(lambda: send_invitation.delay(str(user.pk), tenant.name), robust=True)
