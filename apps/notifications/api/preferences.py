"""How you want to be told."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.notifications import services
from apps.notifications.models import Preference
from apps.watch.selectors import Channel
from axiom.api.views import Single
from axiom.roles import EVERYONE


def _channels(severity: str) -> Any:
    return serializers.ListField(
        child=serializers.ChoiceField(choices=Channel.choices), allow_null=True, required=False,
        help_text=f"How you are told of what is {severity}; null: as each subscription says.",
    )  # fmt: skip


# JSON Schema's "time" wants a zone; this is what a clock on the wall shows, wherever its owner is.
@extend_schema_field({"type": "string", "pattern": r"^\d\d:\d\d(:\d\d(\.\d{1,6})?)?$"})
class ClockField(serializers.TimeField):
    """A time of day in the zone of whoever set it."""


class PreferenceSerializer(serializers.ModelSerializer[Preference]):
    low = _channels("LOW")
    medium = _channels("MEDIUM")
    high = _channels("HIGH")
    critical = _channels("CRITICAL")
    quiet_from = ClockField(allow_null=True, required=False)
    quiet_until = ClockField(allow_null=True, required=False)
    digest_time = ClockField(required=False)

    class Meta:
        model = Preference
        fields = (
            "low", "medium", "high", "critical", "quiet_from", "quiet_until", "digest",
            "digest_time", "phone",
        )  # fmt: skip


class PreferencesResource(Single):
    """How you want to be told, in this tenant: channels by severity, quiet hours, a digest."""

    may_write = EVERYONE
    serializer_class = PreferenceSerializer

    def get_queryset(self) -> QuerySet[Preference]:
        mine: QuerySet[Preference] = Preference.objects.filter(user_id=self.request.user.pk)
        return mine

    def get_object(self) -> Preference:
        """Who never chose has what everybody begins with."""
        rows = self.get_queryset()
        found = (rows.select_for_update() if self._lock_rows else rows).first()
        me: Any = self.request.user.pk
        return found or Preference(user_id=me)

    def change(self, row: Preference, data: dict[str, Any]) -> Preference:
        return services.save_preference(user_id=row.user_id, **data)
