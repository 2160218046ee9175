"""What watch says: alerts, from the first sign to the end of the matter."""

from uuid import UUID

from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop
from pydantic import Field

from apps.events.catalog import Event
from apps.events.facts import Severity

_ALERT = {
    "alert_id": "018f2d1c-0000-7000-8000-00000000a1e7",
    "severity": "CRITICAL",
    "case_id": "018f2d1c-0000-7000-8000-00000000ca5e",
}
_ALICE = "018f2d1c-0000-7000-8000-0000000000a1"
_CAUSE = {
    "event_type": "CASH_LOW",
    "message": "Cash of 한빛섬유 회생 is below 10,000,000 KRW.",
}


class AboutAlert(Event):
    alert_id: UUID
    severity: Severity
    case_id: UUID | None = None


class AlertTriggered(
    AboutAlert,
    type="ALERT_TRIGGERED",
    aggregate="alert",
    key="alert_id",
    label=_("Alert triggered"),
    aliases=("watch.alert_triggered", "alert.triggered"),
):
    """A rule matched and people have to know; repeats are folded into the open alert."""

    event_type: str = Field(description=noop("The type of the event that caused it."))
    event_id: UUID | None = Field(None, description=noop("The event that caused it."))
    subscription_id: UUID | None = Field(None, description=noop("Nothing for system alerts."))
    message: str

    example = {
        **_ALERT,
        **_CAUSE,
        "event_id": "018f2d1c-0000-7000-8000-0000000000e1",
        "subscription_id": "018f2d1c-0000-7000-8000-00000000505b",
    }


class AlertEscalated(
    AboutAlert,
    type="ALERT_ESCALATED",
    aggregate="alert",
    key="alert_id",
    label=_("Alert escalated"),
    aliases=("watch.alert_escalated", "alert.escalated"),
):
    """Nobody acknowledged an alert in time, so others are told."""

    level: int = Field(ge=1)
    event_type: str = Field(description=noop("The type of the event that caused the alert."))
    message: str
    recipient_ids: tuple[UUID, ...]
    channels: tuple[str, ...]

    example = {
        **_ALERT,
        **_CAUSE,
        "level": 1,
        "recipient_ids": [_ALICE],
        "channels": ["email", "in_app"],
    }


class AlertAcknowledged(
    AboutAlert,
    type="ALERT_ACKNOWLEDGED",
    aggregate="alert",
    key="alert_id",
    label=_("Alert acknowledged"),
    aliases=("watch.alert_acknowledged", "alert.acknowledged"),
):
    """Somebody took an alert on."""

    event_type: str = Field("", description=noop("The type of the event that caused the alert."))
    acknowledged_by_id: UUID | None
    seconds_to_acknowledge: float = Field(ge=0)

    example = {
        **_ALERT,
        "event_type": "CASH_LOW",
        "acknowledged_by_id": _ALICE,
        "seconds_to_acknowledge": 312.5,
    }


class AlertTeamNotified(
    AboutAlert,
    type="ALERT_TEAM_NOTIFIED",
    aggregate="alert",
    key="alert_id",
    label=_("Team told of an alert"),
    aliases=("watch.alert_team_notified", "alert.team_notified"),
):
    """Somebody who works on an alert tells the team what is known of it."""

    event_type: str = Field(description=noop("The type of the event that caused the alert."))
    message: str
    number: int = Field(ge=1, description=noop("Which time it is that the team is told."))
    told_by: str = Field(description=noop("Who tells them."))
    note: str = ""
    recipient_ids: tuple[UUID, ...]
    channels: tuple[str, ...]

    example = {
        **_ALERT,
        **_CAUSE,
        "number": 1,
        "told_by": "alice@acme.example",
        "note": "A large payment was booked twice. We are asking for it back.",
        "recipient_ids": [_ALICE],
        "channels": ["in_app", "email"],
    }


class AlertResolved(
    AboutAlert,
    type="ALERT_RESOLVED",
    aggregate="alert",
    key="alert_id",
    label=_("Alert resolved"),
    aliases=("watch.alert_resolved", "alert.resolved"),
):
    """The matter behind an alert is settled."""

    event_type: str = Field("", description=noop("The type of the event that caused the alert."))
    resolved_by_id: UUID | None
    root_cause: str = ""
    false_positive: bool = False
    dismissed: bool = Field(
        False, description=noop("It was set aside instead: there was nothing to settle.")
    )
    seconds_to_resolve: float = Field(ge=0)

    example = {
        **_ALERT,
        "event_type": "CASH_LOW",
        "resolved_by_id": _ALICE,
        "root_cause": "A large payment was booked twice.",
        "false_positive": False,
        "dismissed": False,
        "seconds_to_resolve": 9120.0,
    }
