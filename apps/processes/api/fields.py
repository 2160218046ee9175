"""What several resources of processes show or take in the same way."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from apps.processes.services import Doer
from axiom.roles import Role, Roles

WHO_DEFINES: Roles = frozenset({Role.ADMIN, Role.MANAGER, Role.ENGINEER})
WHO_LEADS: Roles = frozenset({Role.ADMIN, Role.MANAGER})


class AssigneeSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    email = serializers.EmailField()
    name = serializers.CharField()


def doer_of(request: Request) -> Doer:
    """Who asks, as what they are here."""
    return Doer(request.user, getattr(request.auth, "role", None))


def validated(kind: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    serializer = kind(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
