"""Putting the next level of escalation on the clock, and taking it off again."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Max

from apps.events.statements import preparing_cursor

from ..models import Escalation
from ..policy import Policy, Step
from .fold import Folded

# A level that was sent stays sent: nobody is told the same twice.
_ARM = """
INSERT INTO watch_escalation (tenant_id, alert_id, level, state, due_at, audience, channels,
                              recipient_ids)
SELECT t, a, l, 'waiting', d, u, string_to_array(c, ','), '{}'
FROM unnest(%s::uuid[], %s::uuid[], %s::int[], %s::timestamptz[], %s::text[], %s::text[])
     AS x(t, a, l, d, u, c) ORDER BY a
ON CONFLICT (alert_id, level) DO UPDATE SET
    state = 'waiting', due_at = excluded.due_at, audience = excluded.audience,
    channels = excluded.channels, settled_at = NULL
WHERE watch_escalation.state <> 'sent'
"""

Armed = tuple[UUID, UUID, Step, datetime]


def arm(alerts: Sequence[Folded], *, now: datetime) -> None:
    """Start the clock of alerts that are unread anew; the caller holds their rows."""
    fresh = [alert for alert in alerts if alert.is_unread_anew]
    if not fresh:
        return
    policy, sent = Policy({a.tenant_id for a in fresh}), _levels_sent(fresh)
    steps = ((a, _first(policy, a, sent.get(a.id, 0))) for a in fresh)
    put_on_clock([(a.tenant_id, a.id, step, now + step.after) for a, step in steps if step])


def _first(policy: Policy, alert: Folded, sent: int) -> Step | None:
    return policy.next_step(alert.tenant_id, alert.severity, after_level=sent)


def _levels_sent(alerts: Iterable[Folded]) -> dict[UUID, int]:
    """How far alerts that come back had been escalated already."""
    back = [alert.id for alert in alerts if not alert.is_new]
    if not back:
        return {}
    rows = Escalation.across_tenants.filter(alert_id__in=back, state=Escalation.State.SENT)
    return dict(rows.values_list("alert_id").annotate(Max("level")))


def put_on_clock(armed: Sequence[Armed]) -> None:
    if armed:
        columns = zip(
            *((t, a, s.level, due, s.audience, ",".join(s.channels)) for t, a, s, due in armed),
            strict=True,
        )
        with preparing_cursor() as cursor:
            cursor.execute(_ARM, [list(column) for column in columns])


def call_off(alert_ids: Sequence[UUID], *, now: datetime) -> None:
    """Somebody looked: nobody else is told. In the transaction that says that they looked."""
    waiting = Escalation.across_tenants.filter(
        alert_id__in=alert_ids, state=Escalation.State.WAITING
    )
    waiting.update(state=Escalation.State.CANCELLED, settled_at=now)
