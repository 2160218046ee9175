"""People, as cases show them."""

from typing import Any

from rest_framework import serializers

from axiom.api.columns import OfColumns


class DisplayName(OfColumns, serializers.CharField):
    """What a person is called: as in `str(user)`."""

    columns = ("name", "email")

    def told_of(self, name: str, email: str) -> str:
        return name or email


class ColleagueSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = DisplayName()
