"""What the engine hands to the alerts: somebody's rule matched."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from .severity import Severity


@dataclass(frozen=True, slots=True)
class Match:
    """A rule that matched, and what it matched on."""

    tenant_id: UUID
    subscription_id: UUID | None
    """None: a system alert."""
    severity: Severity
    event_type: str
    """What the alert is about."""
    aggregate_type: str
    aggregate_id: str
    """For a window: its group value, or "subscription:<id>" when it has no group_by."""
    case_id: UUID | None
    event_id: UUID | None
    """The event that completed the match."""
    occurred_at: datetime
    """Event time of the match."""
    message: str
    """One sentence in the tenant's language."""
    facts: dict[str, Any] = field(default_factory=dict)
    """JSON-native: the kind of rule and the values seen; what `explain` and texts need."""
    trace_id: str = ""
    """Of that event: what follows from it belongs to the same trace."""
