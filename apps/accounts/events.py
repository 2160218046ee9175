"""What accounts say."""

from uuid import UUID

from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop
from pydantic import Field

from apps.events.catalog import Event


class UserCreated(
    Event,
    type="USER_CREATED",
    aggregate="user",
    key="user_id",
    label=_("User created"),
    aliases=("user.created",),
):
    """A person was given an account in a tenant."""

    user_id: UUID
    email: str
    name: str = ""
    role: str = Field(description=noop("What they may do in this tenant."))
    language: str = "en"

    example = {
        "user_id": "018f2d1c-0000-7000-8000-0000000000a1",
        "email": "minji.kim@hanbit.example",
        "name": "김민지",
        "role": "attorney",
        "language": "ko",
    }
