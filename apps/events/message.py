"""An event as a consumer receives it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from . import catalog
from .catalog import Event

ENVELOPE = (
    "event_id", "event_type", "schema_version", "aggregate_type", "aggregate_id",
    "tenant_id", "actor", "trace_id", "occurred_at", "payload",
)  # fmt: skip


_NUMBER_BITS = 20
_LAST_NUMBER = (1 << _NUMBER_BITS) - 1


def position(entry_id: str) -> int:
    """Where an entry stands in the order of all: its millisecond, then its number in that one."""
    millisecond, _, number = entry_id.partition("-")
    return (int(millisecond or 0) << _NUMBER_BITS) | min(int(number or 0), _LAST_NUMBER)


def aggregate_key(tenant_id: UUID | str | None, aggregate_type: str, aggregate_id: str) -> str:
    """Whose events keep their order: two tenants may use the same id and never wait for each other."""
    return f"{tenant_id}:{aggregate_type}:{aggregate_id}"


class Unreadable(Exception):
    """A stream entry that is not an event of ours."""


@dataclass(frozen=True)
class Message:
    """One delivery: the envelope, and the typed event when somebody asks for it."""

    event_id: UUID
    event_type: str
    tenant_id: UUID
    aggregate_type: str
    aggregate_id: str
    trace_id: str
    stream: str
    entry_id: str
    fields: Mapping[str, str]
    attempts: int = 0

    @classmethod
    def parse(
        cls, stream: str, entry_id: str, raw: Mapping[bytes, bytes], attempts: int = 0
    ) -> "Message":
        """Read an entry; what cannot be read raises Unreadable with the reason."""
        try:
            fields = {k.decode(): v.decode() for k, v in raw.items()}
            if any("\x00" in value for value in fields.values()):
                raise ValueError("a zero byte, which PostgreSQL cannot keep")
            return cls.of_fields(stream, entry_id, fields, attempts)
        except (KeyError, ValueError) as error:
            raise Unreadable(f"{type(error).__name__}: {error}") from error

    @classmethod
    def of_fields(
        cls, stream: str, entry_id: str, fields: Mapping[str, str], attempts: int = 0
    ) -> "Message":
        return cls(
            event_id=UUID(fields["event_id"]),
            event_type=fields["event_type"],
            tenant_id=UUID(fields["tenant_id"]),
            aggregate_type=fields["aggregate_type"],
            aggregate_id=fields["aggregate_id"],
            trace_id=fields["trace_id"],
            stream=stream,
            entry_id=entry_id,
            fields=fields,
            attempts=attempts,
        )

    @property
    def actor(self) -> str:
        return self.fields["actor"]

    @property
    def aggregate(self) -> str:
        return aggregate_key(self.tenant_id, self.aggregate_type, self.aggregate_id)

    @cached_property
    def occurred_at(self) -> datetime:
        return datetime.fromisoformat(self.fields["occurred_at"])

    @cached_property
    def payload(self) -> dict[str, Any]:
        """The payload as it was published, whatever its version."""
        return dict(json.loads(self.fields["payload"]))

    @cached_property
    def event(self) -> Event:
        """The typed event, brought up to the current version."""
        beside = {k: v for k, v in self.fields.items() if k not in ENVELOPE}
        version = int(self.fields["schema_version"])
        return catalog.build(self.event_type, self.payload, version=version, **beside)

    @property
    def log_fields(self) -> dict[str, str]:
        return {
            "trace_id": self.trace_id,
            "event_id": str(self.event_id),
            "stream": self.stream,
            "event_type": self.event_type,
            "aggregate_type": self.aggregate_type,
            "aggregate_id": self.aggregate_id,
        }
