"""What a batch of metadata events touched, by tenant and data source.

Events say where to look, never what is there: readers ask the catalog for that.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from apps.events.message import Message
from axiom.references import Where

Name = tuple[str, ...]


@dataclass
class Touched:
    """Where one data source changed; `wholly` when it may be anywhere."""

    tenant_id: UUID
    datasource_name: str
    tables: set[Where] = field(default_factory=set)
    renames: dict[Name, str] = field(default_factory=dict)
    terms: set[str] = field(default_factory=set)
    wholly: bool = False

    @property
    def only(self) -> set[Where] | None:
        return None if self.wholly else self.tables

    def add(self, event_type: str, payload: dict[str, Any]) -> None:
        if event_type == "metadata.snapshot.restored":
            self.wholly = True
        elif event_type == "metadata.extracted":
            self._add_listed(payload["diff"])
        elif event_type == "metadata.glossary.updated":
            self.terms.add(payload["term"])
        elif "table_name" in payload:
            self._add_table(payload)

    def _add_listed(self, diff: dict[str, Any]) -> None:
        for name in ("tables_added", "tables_removed", "tables_changed"):
            for listed in diff.get(name, ()):
                schema, _, table = listed.partition(".")
                self.tables.add((schema, table))

    def _add_table(self, payload: dict[str, Any]) -> None:
        where = (payload["schema"], payload["table_name"])
        self.tables.add(where)
        if renamed_to := payload.get("renamed_to"):
            self.renames[where] = renamed_to
        # What has a name again is renamed no longer.
        elif "table_type" in payload:
            self.renames.pop(where, None)
        if previous := payload.get("previous_name"):
            self.renames[(*where, previous)] = payload["column_name"]


def touched(messages: Iterable[Message]) -> list[Touched]:
    """What these messages touched, source by source."""
    found: dict[tuple[UUID, str], Touched] = {}
    for message in messages:
        name = message.aggregate_id
        known = Touched(message.tenant_id, name)
        source = found.setdefault((message.tenant_id, name), known)
        source.add(message.event_type, message.payload)
    # Always in the same order: two that lock the same sources must not wait for each other.
    return [found[key] for key in sorted(found)]
