"""Dead letters as people look for them."""

from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime

from ..models import DeadLetter

MOST_SELECTED = 1_000


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """Which dead letters are meant; what is empty does not narrow."""

    ids: tuple[UUID, ...] = ()
    group: str = ""
    stream: str = ""
    fingerprint: str = ""
    event_type: str = ""
    tenant_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None

    def matches(self) -> Q:
        """The condition on a letter."""
        same = {name: getattr(self, name) for name in _SAME if getattr(self, name)}
        condition = Q(**same)
        if self.ids:
            condition &= Q(pk__in=self.ids)
        if self.since:
            condition &= Q(created_at__gte=self.since)
        if self.until:
            condition &= Q(created_at__lt=self.until)
        return condition

    def as_json(self) -> dict[str, Any]:
        """What was asked for, to be kept and shown."""
        told = {name: _plain(value) for name, value in asdict(self).items()}
        return {name: value for name, value in told.items() if value}

    @classmethod
    def of_json(cls, told: dict[str, Any]) -> Self:
        known = {field.name for field in fields(cls)}
        return cls(**{name: _parsed(name, value) for name, value in told.items() if name in known})


_SAME = ("group", "stream", "fingerprint", "event_type", "tenant_id")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if value else ""


def _parsed(name: str, value: Any) -> Any:
    if name == "ids":
        return tuple(UUID(item) for item in value)
    if name == "tenant_id":
        return UUID(value)
    return parse_datetime(value) if name in ("since", "until") else value


def letters_of(tenant_id: UUID | None) -> QuerySet[DeadLetter]:
    """A tenant's dead letters; without a tenant, everybody's and those that nobody can read."""
    letters = DeadLetter.objects.order_by("-created_at", "-id")
    return letters if tenant_id is None else letters.filter(tenant_id=tenant_id)
