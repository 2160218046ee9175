"""What people in each role usually want to know."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_noop as noop

from axiom.roles import Role

from .models import Channel
from .severity import Severity


@dataclass(frozen=True)
class Default:
    """A subscription that new people are given."""

    key: str
    name: str
    event_types: tuple[str, ...]
    severity: Severity = Severity.MEDIUM
    rule: Any = None
    channels: tuple[str, ...] = (Channel.IN_APP.value,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", self.rule or {"type": "always"})


IN_APP, EMAIL = Channel.IN_APP.value, Channel.EMAIL.value


def _within(days: int) -> dict[str, Any]:
    return {"type": "deadline", "days_before": days}


DEADLINES = (
    Default("deadlines", noop("Deadlines of the week"), ("DEADLINE_APPROACHING",), rule=_within(7)),
    Default(
        "last_day",
        noop("Deadlines of tomorrow and today"),
        ("DEADLINE_APPROACHING",),
        Severity.CRITICAL,
        _within(1),
        (IN_APP, EMAIL),
    ),
)
APPROVALS = Default(
    "approvals", noop("Approvals that are overdue"), ("APPROVAL_DEADLINE_MISSED",), Severity.HIGH
)
PAYMENTS = (
    Default("payments", noop("Payments that are due"), ("PAYMENT_DUE",), Severity.HIGH),
    Default("cash", noop("Cash runs low"), ("CASH_LOW",), Severity.CRITICAL, None, (IN_APP, EMAIL)),
)
ESCALATIONS = Default(
    "escalations", noop("Alerts nobody answered"), ("ALERT_ESCALATED",), Severity.HIGH
)
SYSTEM = Default(
    "system",
    noop("Signs of trouble"),
    ("ANOMALY_INDICATOR", "PROCESS_TERMINATED"),
    Severity.HIGH,
)
REVIEWS = Default("reviews", noop("Reviews that come up"), ("REVIEW_SCHEDULED",))
WORK = Default("work", noop("Work items"), ("WORKITEM_CREATED", "WORKITEM_SUBMITTED"), Severity.LOW)
DATA = (
    Default("data", noop("New data"), ("DATA_REGISTERED",), Severity.LOW),
    Default("issues", noop("Data with many issues"), ("ISSUE_RATIO_HIGH",), Severity.HIGH),
)
MINING = Default(
    "mining",
    noop("Results of process mining"),
    ("PROCESS_DISCOVERED", "CONFORMANCE_CHECKED", "BOTTLENECK_DETECTED"),
)
METADATA = Default(
    "metadata",
    noop("Tables and columns that changed"),
    ("metadata.table.removed", "metadata.column.modified", "metadata.snapshot.restored"),
    Severity.HIGH,
)

_BY_ROLE: dict[str, tuple[Default, ...]] = {
    Role.ADMIN: (SYSTEM, *DEADLINES),
    Role.MANAGER: (*DEADLINES, *PAYMENTS, APPROVALS, ESCALATIONS),
    Role.ATTORNEY: (REVIEWS, WORK),
    Role.ANALYST: (*DATA, MINING),
    Role.ENGINEER: (*DATA, METADATA, SYSTEM),
    Role.VIEWER: (),
}


def defaults_of(role: str) -> tuple[Default, ...]:
    return _BY_ROLE.get(role, ())
