"""How people want to be told: written down for one person in one tenant."""

from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.notifications.models import Preference
from apps.watch.selectors import Channel


@transaction.atomic
def save_preference(*, user_id: UUID, **changes: Any) -> Preference:
    """Change what is named; the rest stays as it is."""
    row = Preference.objects.select_for_update().filter(user_id=user_id).first()
    preference: Preference = row or Preference(user_id=user_id)
    for name, value in changes.items():
        setattr(preference, name, value)
    _refuse_unknown(preference)
    preference.full_clean()
    preference.save()
    return preference


def _refuse_unknown(preference: Preference) -> None:
    for name in ("low", "medium", "high", "critical"):
        if set(getattr(preference, name) or ()) - set(Channel.values):
            raise ValidationError({name: _("No channel is called that.")}, code="unknown")
