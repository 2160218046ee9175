"""The scan that tells others when nobody acknowledged in time."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import structlog
from django.db import DatabaseError, transaction

from apps.accounts import selectors as accounts
from apps.cases import selectors as cases
from apps.events.failpoints import reach
from apps.events.outbox import Saying, publish_each
from axiom.roles import Role

from .. import observe
from ..events import AlertEscalated
from ..models import Alert, AlertHistory, Audience, Escalation
from ..policy import Policy
from .arm import put_on_clock
from .remember import entry, remember_all

log = structlog.get_logger(__name__)

AT_ONCE = 50


def escalate_due(*, now: datetime) -> int:
    """Tell everybody whose turn has come; returns how many escalations were sent."""
    scan = _Scan(now)
    while scan.goes_on():
        reach("escalation.committed")
    return scan.sent


@dataclass
class _Scan:
    """Several levels in one transaction; after a failure one by one, so that it stops no other."""

    now: datetime
    at_once: int = AT_ONCE
    sent: int = 0
    stuck: set[int] = field(default_factory=set)
    held: list[Escalation] = field(default_factory=list)

    def goes_on(self) -> bool:
        """Send some; False when nothing is due any more."""
        try:
            self._send_some()
        except DatabaseError:
            raise
        except Exception:  # noqa: BLE001  (whatever it is, the others go on)
            self._set_apart()
        else:
            self.sent += len(self.held)
        return bool(self.held)

    @transaction.atomic
    def _send_some(self) -> None:
        self.held = []
        self.held = _claim(self.now, self.at_once, self.stuck)
        reach("escalation.claimed")
        _send(self.held, self.now)

    def _set_apart(self) -> None:
        """It stays due, and is tried again by the next scan."""
        if self.at_once == 1:
            (failed,) = self.held
            log.exception("escalation failed", escalation=failed.pk, alert=str(failed.alert_id))
            self.stuck.add(failed.pk)
        self.at_once = 1


def _claim(now: datetime, at_once: int, stuck: Collection[int]) -> list[Escalation]:
    """Due levels of alerts that are unread at this very moment, alert and level both held.

    Whoever acknowledges holds the alert first. What they hold is skipped and not waited for;
    what we hold, they wait for, and find it sent.
    """
    rows = (
        Escalation.across_tenants.filter(
            state=Escalation.State.WAITING, due_at__lte=now, alert__status=Alert.Status.UNREAD
        )
        .exclude(pk__in=stuck)
        .select_related("alert")
        .order_by("due_at", "id")
        .select_for_update(of=("self", "alert"), skip_locked=True, no_key=True)
    )
    return list(rows[:at_once])


def _send(due: Sequence[Escalation], now: datetime) -> None:
    """Sent, remembered, said and the next level put on the clock."""
    for escalation in due:
        _mark_sent(escalation, now)
    reach("escalation.marked")
    _tell(due, now)
    reach("escalation.told")
    _go_on(due, now)
    reach("escalation.before_commit")


def _mark_sent(escalation: Escalation, now: datetime) -> None:
    escalation.state, escalation.settled_at = Escalation.State.SENT, now
    escalation.recipient_ids = recipients(escalation.alert, Audience(escalation.audience))
    escalation.save(update_fields=["state", "settled_at", "recipient_ids"])


def recipients(alert: Alert, audience: Audience) -> list[UUID]:
    """Whom to tell now. Nobody in that place: the next who could do something about it."""
    manager = _manager(alert) if audience is Audience.CASE_MANAGER else None
    if manager:
        return [manager]
    for role in (audience.role or Role.MANAGER, Role.ADMIN):
        if people := _in_role(alert, role):
            return people
    return []


def _manager(alert: Alert) -> UUID | None:
    """The case's manager, unless they left."""
    if alert.case_id is None or alert.tenant_id is None:
        return None
    manager = cases.managers_of([alert.case_id]).get((alert.tenant_id, alert.case_id))
    if manager is None:
        return None
    here = accounts.members_of(alert.tenant_id).filter(user_id=manager, user__is_active=True)
    return manager if here.exists() else None


def _in_role(alert: Alert, role: Role) -> list[UUID]:
    assert alert.tenant_id
    members = accounts.members_of(alert.tenant_id).filter(role=role, user__is_active=True)
    return list(members.order_by("user_id").values_list("user_id", flat=True))


def _tell(due: Iterable[Escalation], now: datetime) -> None:
    publish_each(_saying(escalation) for escalation in due)
    remember_all(
        entry(
            each.alert, AlertHistory.Kind.ESCALATED, at=now, level=each.level,
            recipient_ids=[str(one) for one in each.recipient_ids], channels=each.channels,
        )
        for each in due
    )  # fmt: skip
    for each in due:
        transaction.on_commit(observe.escalated_total.labels(str(each.level)).inc)


def _saying(escalation: Escalation) -> Saying:
    alert = escalation.alert
    event = AlertEscalated(
        alert_id=alert.pk,
        severity=alert.severity,
        case_id=alert.case_id,
        level=escalation.level,
        event_type=alert.event_type,
        message=alert.message,
        recipient_ids=tuple(escalation.recipient_ids),
        channels=tuple(escalation.channels),
    )
    assert alert.tenant_id
    return Saying(event, alert.tenant_id, causation_id=alert.event_id)


def _go_on(due: Iterable[Escalation], now: datetime) -> None:
    """Put the level after each on the clock, counted from now."""
    alerts = [(each.alert, each.level) for each in due]
    policy = Policy({alert.tenant_id for alert, _ in alerts})
    put_on_clock(
        [
            (alert.tenant_id, alert.pk, step, now + step.after)
            for alert, level in alerts
            if (step := policy.next_step(alert.tenant_id, alert.severity, after_level=level))
        ]
    )
