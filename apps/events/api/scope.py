"""Whose events one may look at and act on."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request

from axiom.api.permissions import RolePermission
from axiom.tenancy import current_tenant_id


class PlatformOrRole(RolePermission):
    """Lets those in who run the platform, and others by their role in their tenant."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return _runs_the_platform(request) or super().has_permission(request, view)


def scope_of(request: Request) -> UUID | None:
    """The tenant whose events these are; None, for who runs the platform, means everybody's."""
    return None if _runs_the_platform(request) else current_tenant_id()


def name_of(request: Request) -> str:
    """Who is asking, as history shall remember them."""
    return str(getattr(request.user, "email", ""))


def _runs_the_platform(request: Request) -> bool:
    return bool(request.user and request.user.is_active and request.user.is_superuser)
