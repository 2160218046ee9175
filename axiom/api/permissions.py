"""Who may do what: roles, said beside the view that asks for them."""

from typing import Any

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from axiom.roles import EVERYONE, OPERATORS, Roles
from axiom.tenancy import TenantMissing


class RolePermission(BasePermission):
    """Lets the roles in that the view names.

    `may_read` (default: everyone) for GET, `may_write` (default: all but viewers) for the rest,
    and `may` for single actions: `may = {"acknowledge": EVERYONE}`.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.user or not request.user.is_authenticated:
            return False
        role = getattr(request.auth, "role", None)
        if role is None:
            raise TenantMissing
        return role in roles_for(view, request.method or "")


def roles_for(view: Any, method: str) -> Roles:
    """The roles that may call this method of the view."""
    by_action: dict[str, Roles] = getattr(view, "may", {})
    action = getattr(view, "action", None)
    if action in by_action:
        return by_action[action]
    if method in SAFE_METHODS:
        return getattr(view, "may_read", EVERYONE)
    return getattr(view, "may_write", OPERATORS)
