"""Redis is never the only copy: what it lost is sent again before anything newer."""

import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from .bus import Bus
from .claims import CLAIM_LOCK
from .models import BusState

log = structlog.get_logger(__name__)

_HEAL_LOCK = "hashtext('axiom.bus.heal')"
_LIVE_CLAIMS = (
    "SELECT EXISTS (SELECT FROM event_outbox WHERE status = 'PROCESSING' AND locked_until > now()"
    " AND last_attempt_at > now() - make_interval(secs => %s))"
)
# Entries older than the stream's last one are still in it, or every group is done with them.
_RESEND = """
UPDATE event_outbox o
SET status = 'PENDING', next_retry_at = NULL, updated_at = now(), attempt_count = 0
FROM unnest(%s::text[], %s::bigint[]) AS kept(stream, last_ms)
WHERE o.stream = kept.stream AND o.status = 'PUBLISHED' AND o.created_at >= %s
  AND split_part(o.entry_id, '-', 1)::bigint >= kept.last_ms
  AND EXISTS (
    SELECT FROM unnest(%s::text[], %s::text[], %s::text[]) AS reader(name, stream, event_type)
    WHERE reader.stream = o.stream AND reader.event_type IN (o.event_type, '*')
      AND NOT EXISTS (SELECT FROM event_inbox i
                      WHERE i.event_id = o.event_id AND i."group" = reader.name))
"""

Reader = tuple[str, str, str]
"""Group, stream, event type ("*" for every type)."""


def known_epoch(bus: Bus) -> str:
    """The epoch of the bus's data, or "" when something may have been lost since we looked."""
    state = BusState.objects.filter(id=1).first()
    intact = state and not state.healing and state.epoch and bus.identity() == (
        state.run_id, state.epoch,
    )  # fmt: skip
    return state.epoch if state and intact else ""


def heal(bus: Bus, readers: Sequence[Reader], *, resend: bool = True) -> str:
    """Bring a bus that lost data back to the true state; returns the new epoch.

    Claims pause first and those in flight end, so that nothing newer slips in before what was
    lost. Whoever dies in here leaves the pause on, and the next relay begins anew.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_lock({_HEAL_LOCK})")
        try:
            return known_epoch(bus) or _heal(bus, readers, resend=resend)
        finally:
            cursor.execute(f"SELECT pg_advisory_unlock({_HEAL_LOCK})")


def _heal(bus: Bus, readers: Sequence[Reader], *, resend: bool) -> str:
    _pause_claims()
    _wait_for_claims_in_flight()
    streams = _groups_by_stream(readers)
    sent_again = _resend_what_was_lost(bus, readers, streams) if resend else 0
    epoch = uuid4().hex
    bus.begin_epoch(epoch, streams)
    run_id, _ = bus.identity()
    BusState.objects.filter(id=1).update(
        run_id=run_id, epoch=epoch, healing=False, checked_at=timezone.now()
    )
    log.warning("bus healed", sent_again=sent_again, epoch=epoch)
    return epoch


@transaction.atomic
def _pause_claims() -> None:
    with connection.cursor() as cursor:
        cursor.execute(CLAIM_LOCK)
    BusState.objects.update_or_create(id=1, defaults={"healing": True})


def _wait_for_claims_in_flight() -> None:
    while _claims_in_flight():
        time.sleep(0.05)


def _claims_in_flight() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_LIVE_CLAIMS, [settings.EVENTS_LEASE_SECONDS])
        row = cursor.fetchone()
    return bool(row and row[0])


def _groups_by_stream(readers: Sequence[Reader]) -> dict[str, list[str]]:
    from .keys import Stream

    groups: dict[str, set[str]] = {str(stream): set() for stream in Stream}
    for group, stream, _ in readers:
        groups[stream].add(group)
    return {stream: sorted(names) for stream, names in groups.items()}


@transaction.atomic
def _resend_what_was_lost(bus: Bus, readers: Sequence[Reader], streams: Mapping[str, Any]) -> int:
    last_ms = [_last_ms(bus, stream) for stream in streams]
    since = timezone.now() - timedelta(days=settings.EVENTS_OUTBOX_DAYS)
    columns = [list(column) for column in zip(*readers, strict=True)] or [[], [], []]
    with connection.cursor() as cursor:
        cursor.execute(CLAIM_LOCK)
        cursor.execute(_RESEND, [list(streams), last_ms, since, *columns])
        return int(cursor.rowcount)


def _last_ms(bus: Bus, stream: str) -> int:
    state = bus.state(stream)
    return int(state.last_id.split("-")[0]) if state else 0
