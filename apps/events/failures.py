"""What becomes of a delivery that did not work: another attempt later, or a dead letter."""

import contextlib
from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from . import dead_letters, observe, retries
from .bus import Bus, BusUnavailable, Entry
from .handlers import GiveUp
from .keys import DEAD_LETTER_LENGTH
from .message import Message, Unreadable
from .models import DeadLetter, FailedAttempt

log = structlog.get_logger(__name__)

_BURY_IN_INBOX = """
INSERT INTO event_inbox (event_id, "group", worker, outcome) VALUES (%s, %s, %s, 'dead')
ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True)
class Failures:
    """The failures of one worker of one group."""

    group: str
    bus: Bus
    worker: str

    def failed(self, message: Message, error: Exception, attempts: int) -> None:
        """Try again after 5, 15 and 45 s; after that, and after GiveUp, give up."""
        pauses = settings.EVENTS_RETRY_SECONDS
        if isinstance(error, GiveUp) or attempts > len(pauses):
            self.give_up(message, error, attempts)
        else:
            self._put_off(message, error, attempts, pauses[attempts - 1])

    def _put_off(self, message: Message, error: Exception, attempts: int, pause: float) -> None:
        due_at = timezone.now() + timedelta(seconds=pause)
        with transaction.atomic():
            self._note(message, error, attempts)
            retries.put_off(message, self.group, attempts, due_at)
        observe.group_failed(self.group, "retry")
        log.warning(
            "event failed", group=self.group, error=repr(error), attempt=attempts,
            **message.log_fields,
        )  # fmt: skip

    def give_up(self, message: Message, error: Exception, attempts: int) -> None:
        """Make a dead letter of it, unless the group is done with it already."""
        with transaction.atomic():
            retries.call_off(message, self.group)
            if not self._bury_in_inbox(message):
                return  # The group is done with it, however: only the acknowledgement was lost.
            self._note(message, error, attempts)
            letter = dead_letters.of_message(message, self.group, error, attempts)
            letter.save()
        self._tell_of(letter)

    def unreadable(self, entry: Entry, error: Unreadable) -> None:
        """Keep the raw bytes of an entry that is no event of ours, once."""
        letter = dead_letters.of_unreadable(entry, self.group, error)
        already = DeadLetter.objects.filter(
            group=letter.group, stream=letter.stream, entry_id=letter.entry_id, event_id=None
        )
        if not already.exists():
            letter.save()
            self._tell_of(letter)

    def _bury_in_inbox(self, message: Message) -> bool:
        with connection.cursor() as cursor:
            cursor.execute(_BURY_IN_INBOX, [message.event_id, self.group, self.worker])
            return bool(cursor.rowcount)

    def _note(self, message: Message, error: Exception, attempts: int) -> None:
        FailedAttempt.objects.create(
            event_id=message.event_id, group=self.group, number=attempts,
            error=dead_letters.printable(f"{type(error).__name__}: {error}"), worker=self.worker,
        )  # fmt: skip

    def _tell_of(self, letter: DeadLetter) -> None:
        """The row is the truth; the stream is for those who follow it."""
        observe.group_failed(self.group, "dead")
        log.error(
            "dead letter", group=letter.group, stream=letter.stream, entry_id=letter.entry_id,
            event_id=str(letter.event_id or ""), event_type=letter.event_type, error=letter.error,
            aggregate_type=letter.aggregate_type, aggregate_id=letter.aggregate_id,
            trace_id=letter.trace_id,
        )  # fmt: skip
        fields = letter.fields | {"group": letter.group, "error": letter.error}
        fields["dead_letter_id"] = str(letter.id)
        with contextlib.suppress(BusUnavailable):
            self.bus.dead_letter(letter.stream, fields, DEAD_LETTER_LENGTH)
