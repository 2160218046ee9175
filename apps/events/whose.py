"""Whose events the console shows to whoever asks."""

from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from apps.events.context import current
from axiom.permissions import runs_the_platform


def tenant_shown(request: HttpRequest) -> UUID | None:
    """The tenant one acts for; None, for who runs the platform and chose none: everybody's."""
    tenant_id = current().tenant_id
    if tenant_id is None and not runs_the_platform(request):
        raise PermissionDenied
    return tenant_id


def who(request: HttpRequest) -> str:
    """Who is asking, as history shall remember them."""
    return str(getattr(request.user, "email", ""))
