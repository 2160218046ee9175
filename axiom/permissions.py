"""What somebody may do here: their role in the tenant they act for.

The roles and their sets are in axiom/roles.py; the API asks through axiom/api/permissions.py,
the console through this module. There are no permissions per person.
"""

from typing import Any

from django.http import HttpRequest

from axiom.roles import Role, Roles


def role_of(request: HttpRequest) -> Role | None:
    """The role of whoever asks, in the tenant they act for.

    Who runs the platform (a superuser) is an admin in every tenant.
    """
    user: Any = request.user
    if user.is_active and user.is_superuser:
        return Role.ADMIN
    role = getattr(getattr(request, "login", None), "role", None)
    return Role(role) if role else None


def runs_the_platform(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.is_active and user.is_superuser)


def may(request: HttpRequest, roles: Roles) -> bool:
    """Whether one of these roles is asking, from inside the console."""
    user: Any = request.user
    return bool(user.is_active and user.is_staff and role_of(request) in roles)
