"""Sending many dead letters again, at a bounded rate, in steps that a crash cannot tear apart."""

from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

import structlog
from django.db import Error as AnyDatabaseError
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from ..errors import RedriveNotRunning
from ..models import DeadLetter, Redrive
from ..selectors.letters import LetterFilter, letters_of
from .redrive import obstacle_to, send_again

log = structlog.get_logger(__name__)

LONGEST_PAUSE = timedelta(seconds=2)
"""What was not sent while nobody stepped is not caught up for longer than this: no bursts."""


def start_redrive(
    which: LetterFilter, *, tenant_id: UUID | None, rate: int, by: str, reason: str = ""
) -> Redrive:
    """Send all open letters that match again, `rate` per second; the housekeeper does the work.

    What fails again is not taken up a second time: letters younger than the redrive are not meant.
    """
    now = _database_time()
    redrive = Redrive(
        tenant_id=tenant_id, filters=which.as_json(), rate=rate, actor=by, reason=reason,
        created_at=now, stepped_at=now,
    )  # fmt: skip
    redrive.total = _meant(redrive).count()
    redrive.save()
    return redrive


def _database_time() -> datetime:
    """By the clock that dates letters, or the youngest might seem younger than they are."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone() or (timezone.now(),)
    return cast(datetime, now)


@transaction.atomic
def stop_redrive(redrive: Redrive, *, by: str) -> Redrive:
    """Leave the letters that were not reached yet as they are."""
    redrive = Redrive.objects.select_for_update().get(pk=redrive.pk)
    if not redrive.is_running:
        raise RedriveNotRunning
    redrive.stopped_by = by
    _finish(redrive, Redrive.Status.STOPPED, timezone.now())
    redrive.save()
    return redrive


def advance_redrives(now: datetime | None = None) -> int:
    """One step of every running redrive that no other process steps; returns letters sent."""
    running = Redrive.objects.filter(status=Redrive.Status.RUNNING).order_by("created_at")
    return sum(_advance(pk, now or timezone.now()) for pk in running.values_list("pk", flat=True))


def _advance(pk: UUID, now: datetime) -> int:
    try:
        with transaction.atomic():
            return _step(pk, now)
    except AnyDatabaseError:
        raise
    except Exception as error:
        log.exception("redrive stopped by an error", redrive=str(pk))
        Redrive.objects.filter(pk=pk, status=Redrive.Status.RUNNING).update(
            status=Redrive.Status.STOPPED, error=repr(error), finished_at=now
        )
        return 0


def _step(pk: UUID, now: datetime) -> int:
    redrive = (
        Redrive.objects.select_for_update(skip_locked=True)
        .filter(pk=pk, status=Redrive.Status.RUNNING)
        .first()
    )
    allowed = _allowance(redrive, now) if redrive else 0
    if redrive is None or not allowed:
        return 0
    letters = list(_next(redrive, allowed))
    sendable = [letter for letter in letters if obstacle_to(letter) is None]
    send_again(sendable, by=redrive.actor, reason=redrive.reason, redrive=redrive)
    _note_progress(redrive, letters, len(sendable))
    if len(letters) < allowed:
        _finish(redrive, Redrive.Status.DONE, now)
    redrive.save()
    return len(sendable)


def _allowance(redrive: Redrive, now: datetime) -> int:
    """How many letters may go now, by the time that passed; what is left over counts next time."""
    since = max(redrive.stepped_at, now - LONGEST_PAUSE)
    allowed = int((now - since).total_seconds() * redrive.rate)
    redrive.stepped_at = since + timedelta(seconds=allowed / redrive.rate)
    return allowed


def _meant(redrive: Redrive) -> QuerySet[DeadLetter]:
    which = LetterFilter.of_json(redrive.filters)
    return letters_of(redrive.tenant_id).filter(
        which.matches(), status=DeadLetter.Status.OPEN, created_at__lte=redrive.created_at
    )


def _next(redrive: Redrive, count: int) -> QuerySet[DeadLetter]:
    """The next ones in the order of their streams, without those somebody else acts on now."""
    beyond = Q(position__gt=redrive.after_position)
    if redrive.after_letter:
        beyond |= Q(pk__gt=redrive.after_letter)
    letters = _meant(redrive).filter(beyond, position__gte=redrive.after_position)
    return letters.order_by("position", "pk").select_for_update(skip_locked=True)[:count]


def _note_progress(redrive: Redrive, letters: list[DeadLetter], sent: int) -> None:
    redrive.sent += sent
    redrive.skipped += len(letters) - sent
    if letters:
        redrive.after_position, redrive.after_letter = letters[-1].position, letters[-1].pk


def _finish(redrive: Redrive, status: Redrive.Status, now: datetime) -> None:
    redrive.status, redrive.finished_at = status, now
