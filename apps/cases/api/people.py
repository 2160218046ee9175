"""People, as cases show them."""

from typing import Any

from rest_framework import serializers


class ColleagueSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField(source="__str__")
