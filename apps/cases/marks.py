"""What the clockwork has said already: a row per thing and mark, in the publishing transaction."""

from datetime import datetime

from django.db import connection

from apps.cases.models import WatchMark
from apps.events.catalog import Event
from apps.events.outbox import publish
from axiom.tenancy import current_tenant_id

_SAY = """
INSERT INTO cases_watchmark (tenant_id, event_type, aggregate_id, mark, due_at, marked_at)
VALUES (%s, %s, %s, 'level', NULL, %s)
ON CONFLICT (aggregate_id, event_type, mark) DO NOTHING
"""


def follow_level(event: Event, *, was: bool, now_is: bool, at: datetime) -> None:
    """Publish when a level was crossed, once until it is crossed back.

    Call it while the row that has the level is locked.
    """
    if not (was and now_is):
        # Whatever was said belongs to an earlier crossing.
        WatchMark.objects.filter(
            event_type=type(event).type, aggregate_id=event.aggregate_id
        ).delete()
    if now_is and _is_new(event, at):
        publish(event, occurred_at=at)


def _is_new(event: Event, at: datetime) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_SAY, [current_tenant_id(), type(event).type, event.aggregate_id, at])
        return bool(cursor.rowcount)
