"""Redis is never the only copy: what it lost is sent again before anything newer."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from .bus import Bus, Identity
from .claims import CLAIM_LOCK
from .models import BusState

log = structlog.get_logger(__name__)

_HEAL_LOCK = "hashtext('axiom.bus.heal')"
# Entries up to the stream's last one are still in it, or every group is done with them.
_RESEND = """
UPDATE event_outbox o
SET status = 'PENDING', next_retry_at = NULL, updated_at = now(), attempt_count = 0
FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS kept(stream, last_ms, last_number)
WHERE o.stream = kept.stream AND o.status = 'PUBLISHED' AND o.created_at >= %s
  AND (split_part(o.entry_id, '-', 1)::bigint, split_part(o.entry_id, '-', 2)::bigint)
      > (kept.last_ms, kept.last_number)
  AND EXISTS (
    SELECT FROM unnest(%s::text[], %s::text[], %s::text[]) AS reader(name, stream, event_type)
    WHERE reader.stream = o.stream AND reader.event_type IN (o.event_type, '*')
      AND NOT EXISTS (SELECT FROM event_inbox i
                      WHERE i.event_id = o.event_id AND i."group" = reader.name))
"""

Reader = tuple[str, str, str]
"""Group, stream, event type ("*" for every type)."""


def known(bus: Bus) -> Identity | None:
    """Whose data the bus holds, or None when something may have been lost since we looked."""
    state = BusState.objects.filter(id=1, healing=False).exclude(epoch="").first()
    intact = state is not None and bus.identity() == (state.run_id, state.epoch)
    return (state.run_id, state.epoch) if state and intact else None


def heal(bus: Bus, readers: Sequence[Reader], *, resend: bool = True) -> Identity:
    """Bring a bus that lost data back to the true state; returns whose data it holds then.

    Claims and settlements pause first. The new epoch then shuts the bus to every relay that has
    claimed something before, so that nothing newer slips in before what was lost. Whoever dies in
    here leaves the pause on, and the next relay begins anew.
    """
    with connection.cursor() as cursor:
        # Were it forgotten in a crash after something was sent again, the next healing would find
        # entries newer than those that were lost, and take those for still there.
        cursor.execute("SET synchronous_commit = on")
        cursor.execute(f"SELECT pg_advisory_lock({_HEAL_LOCK})")
        try:
            return known(bus) or _heal(bus, readers, resend=resend)
        finally:
            cursor.execute(f"SELECT pg_advisory_unlock({_HEAL_LOCK})")


def _heal(bus: Bus, readers: Sequence[Reader], *, resend: bool) -> Identity:
    _pause()
    streams, epoch = _groups_by_stream(readers), uuid4().hex
    bus.begin_epoch(epoch, streams)
    # Asked before we look what the bus still has: if it loses that meanwhile, this is outdated.
    run_id, _ = bus.identity()
    sent_again = _resend_what_was_lost(bus, readers, streams) if resend else 0
    BusState.objects.filter(id=1).update(
        run_id=run_id, epoch=epoch, healing=False, checked_at=timezone.now()
    )
    log.warning("bus healed", sent_again=sent_again, epoch=epoch)
    return run_id, epoch


@transaction.atomic
def _pause() -> None:
    with connection.cursor() as cursor:
        cursor.execute(CLAIM_LOCK)
    BusState.objects.update_or_create(id=1, defaults={"healing": True})


def _groups_by_stream(readers: Sequence[Reader]) -> dict[str, list[str]]:
    from .keys import Stream

    groups: dict[str, set[str]] = {str(stream): set() for stream in Stream}
    for group, stream, _ in readers:
        groups[stream].add(group)
    return {stream: sorted(names) for stream, names in groups.items()}


@transaction.atomic
def _resend_what_was_lost(bus: Bus, readers: Sequence[Reader], streams: Mapping[str, Any]) -> int:
    last_ms, last_number = zip(*(_last_entry(bus, stream) for stream in streams), strict=True)
    since = timezone.now() - timedelta(days=settings.EVENTS_OUTBOX_DAYS)
    columns = [list(column) for column in zip(*readers, strict=True)] or [[], [], []]
    with connection.cursor() as cursor:
        cursor.execute(CLAIM_LOCK)
        cursor.execute(_RESEND, [list(streams), list(last_ms), list(last_number), since, *columns])
        return int(cursor.rowcount)


def _last_entry(bus: Bus, stream: str) -> tuple[int, int]:
    state = bus.state(stream)
    ms, number = state.last_id.split("-") if state else (0, 0)
    return int(ms), int(number)
