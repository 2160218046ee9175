"""What the demo shows of notifications: wishes, and deliveries of the last days, some failed.

The open alerts of the demo go the way of all alerts as soon as the workers run: into the inboxes
of admins and engineers, and as mails into the folder `mail` of the installation.
"""

import random
from datetime import datetime, time, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from apps.accounts import selectors as accounts
from apps.events.context import acting
from apps.watch import selectors as watch

from . import services
from .models import Delivery, DeliveryAttempt, Preference

TOLD = 30
State, Outcome = Delivery.State, DeliveryAttempt.Outcome


def load() -> None:
    """Once per company; what is there already stays as it is."""
    for tenant in accounts.active_tenants().filter(slug__in=["hanbit", "harbor"]):
        with acting(tenant_id=tenant.pk, actor="demo"):
            if not Preference.objects.exists():
                _fill(tenant, random.Random(tenant.slug))


def _fill(tenant: Any, chance: random.Random) -> None:
    people = [each.user for each in accounts.members_of(tenant.pk).order_by("pk")]
    for person in people[:3]:
        services.save_preference(
            user_id=person.pk, quiet_from=time(22), quiet_until=time(7), digest="daily"
        )
    services.add_endpoint(
        name="Case system", kind="webhook", url=f"https://hooks.{tenant.slug}.example/alerts",
        is_active=False,
    )  # fmt: skip
    past = watch.alerts().exclude(status="unread")[:TOLD]
    rows = [_delivery(alert, chance.choice(people), chance) for alert in past]
    Delivery.objects.bulk_create(rows)
    DeliveryAttempt.objects.bulk_create([each for row in rows for each in _tries(row, chance)])


def _delivery(alert: Any, person: Any, chance: random.Random) -> Delivery:
    failed = chance.random() < 0.1
    return Delivery(
        recipient=person, channel="email", alert=alert, severity=alert.severity, turn=alert.rank,
        state=State.FAILED if failed else State.SENT,
        reason=Delivery.Reason.ATTEMPTS if failed else "",
        attempts=6 if failed else 1, due_at=alert.detected_at, created_at=alert.detected_at,
        settled_at=min(timezone.now(), alert.detected_at + timedelta(seconds=chance.randint(1, 9))),
    )  # fmt: skip


def _tries(row: Delivery, chance: random.Random) -> list[DeliveryAttempt]:
    if row.state == State.SENT:
        return [_try(row, row.created_at, Outcome.SENT, "", chance)]
    said = "451 the mailbox is busy"
    times = [row.created_at + timedelta(seconds=30 * (2**n - 1)) for n in range(row.attempts)]
    return [_try(row, at, Outcome.AGAIN, said, chance) for at in times]


def _try(
    row: Delivery, at: datetime, outcome: str, said: str, chance: random.Random
) -> DeliveryAttempt:
    return DeliveryAttempt(
        delivery=row, began_at=at, outcome=outcome, said=said, seconds=chance.uniform(0.05, 0.6)
    )


# As somebody's migration might: from now on no inbox takes word of a new case. NOT VALID leaves
# alone what stands there already.
_BREAK = """
ALTER TABLE notifications_notification DROP CONSTRAINT IF EXISTS broken_by_the_demo;
ALTER TABLE notifications_notification ADD CONSTRAINT broken_by_the_demo
    CHECK (facts ->> 'event_type' IS DISTINCT FROM 'CASE_CREATED') NOT VALID;
"""
_MEND = "ALTER TABLE notifications_notification DROP CONSTRAINT IF EXISTS broken_by_the_demo"


def break_something() -> None:
    """Let a consumer fail, for the tour: the events that it cannot handle become dead letters."""
    _run(_BREAK)


def mend() -> None:
    """Take back what `break_something` did."""
    _run(_MEND)


def _run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
