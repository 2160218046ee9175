"""Takes events from the bus to a group's handlers: once per group, effects and proof together."""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby

import structlog
from django.conf import settings
from django.db import Error as AnyDatabaseError
from django.db import connection, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from . import context, dead_letters, deadline, heartbeats, observe
from .bus import Bus, BusUnavailable, Entry, StreamsLost
from .failpoints import reach
from .groups import Group
from .handlers import GiveUp, Handler, handler_of
from .keys import DEAD_LETTER_LENGTH
from .message import Message, Unreadable, position
from .models import DeadLetter, FailedAttempt, Retry
from .relay import backoff

log = structlog.get_logger(__name__)

BLOCK_MS = 1_000
DELIVERIES_BEFORE_SUSPICION = 4
"""An entry that was handed out so often without an end takes its worker down with it."""

# Sorted, so that two workers with the same events wait for each other instead of deadlocking.
_NEW_TO_INBOX = """
INSERT INTO event_inbox (event_id, "group", worker)
SELECT id, %s, %s FROM unnest(%s::uuid[]) AS id ORDER BY id
ON CONFLICT DO NOTHING RETURNING event_id
"""

_BURY_IN_INBOX = """
INSERT INTO event_inbox (event_id, "group", worker, outcome) VALUES (%s, %s, %s, 'dead')
ON CONFLICT DO NOTHING
"""


class WorkerLost(Exception):
    """Handling this event ended the worker several times."""


class Consumer:
    """One worker of one group."""

    def __init__(self, group: Group, bus: Bus, name: str, batch: int = 100) -> None:
        self.group, self.bus, self.name, self.batch = group, bus, name, batch
        self._in_hand: list[Entry] = []
        self._lease: object | None = None
        self._next_chores = 0.0
        self._look_behind = True
        self._trouble = 0

    def run(self, stop: threading.Event) -> None:
        """Consume until told to stop; the batch in hand is finished first."""
        while not stop.is_set():
            try:
                if not self.step(block_ms=BLOCK_MS):
                    stop.wait(self._standby_seconds())
                self._trouble = 0
            except (BusUnavailable, StreamsLost, AnyDatabaseError) as error:
                self._wait_out(error, stop)
        self._give_up_lease()

    def step(self, block_ms: int = 0) -> bool:
        """Do what is due and handle one batch; False while another worker has the lead."""
        if not self._leads():
            return False
        if time.monotonic() >= self._next_chores:
            self._next_chores = time.monotonic() + settings.EVENTS_CHORE_SECONDS
            self.retry_due()
            self._look_behind = True
        if not self._in_hand:
            self._in_hand = self._abandoned() or self._read(block_ms)
        self._finish_batch()
        return True

    def _read(self, block_ms: int) -> list[Entry]:
        streams = [str(stream) for stream in self.group.streams]
        try:
            return self.bus.read(self.group.name, self.name, streams, self.batch, block_ms)
        except StreamsLost:
            # A missing group begins at the stream's start. A missing stream is the relay's to make.
            if not all(self.bus.ensure_group(s, self.group.name) for s in streams):
                raise
            return []

    def _finish_batch(self) -> None:
        """Handle what is in hand. An outage keeps it in hand for the next step."""
        entries = self._in_hand
        if entries:
            reach("consumer.read")
            self.handle(entries)
            reach("consumer.handled")
            self.bus.ack(self.group.name, entries)
            reach("consumer.acked")
        self._in_hand = []

    # Leading an ordered group

    def _leads(self) -> bool:
        """Whether this worker may handle: always, or while its connection holds the group's lock.

        The lock lives and dies with the connection that commits the effects, so a worker that
        lost it cannot commit anything either.
        """
        if not self.group.ordered:
            return True
        connection.ensure_connection()
        if self._lease is connection.connection:
            return True
        self._in_hand = []
        if not self._lock("pg_try_advisory_lock"):
            return False
        self._lease = connection.connection
        self._next_chores = 0.0
        return True

    def _lock(self, function: str) -> bool:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {function}(hashtext(%s))", [f"axiom.group.{self.group.name}"])
            row = cursor.fetchone()
        return bool(row and row[0])

    def _give_up_lease(self) -> None:
        if self._lease is not None and self._lease is connection.connection:
            with contextlib.suppress(AnyDatabaseError):
                self._lock("pg_advisory_unlock")
        self._lease = None

    def _standby_seconds(self) -> float:
        return float(settings.EVENTS_CHORE_SECONDS)

    # Handling

    def handle(self, entries: Sequence[Entry]) -> None:
        """Bring every entry to an end: handled, waiting for a retry, or a dead letter."""
        messages = [m for entry in entries if (m := self._readable(entry)) is not None]
        messages = [m for m in messages if handler_of(self.group.name, m.event_type)]
        if any(m.attempts >= DELIVERIES_BEFORE_SUSPICION for m in messages):
            self._handle_one_by_one(messages)
        elif messages:
            self._handle_together(messages)

    def _readable(self, entry: Entry) -> Message | None:
        try:
            return Message.parse(entry.stream, entry.entry_id, entry.raw, entry.deliveries)
        except Unreadable as error:
            self._bury(dead_letters.of_unreadable(entry, self.group.name, error))
            return None

    def _handle_together(self, messages: list[Message]) -> None:
        connected = _connected()
        try:
            with transaction.atomic():
                free = self._park_followers(messages)
                done = self._deliver(free)
        except Exception as error:  # noqa: BLE001  (a handler may raise anything)
            self._raise_if_outage(error, connected)
            # Somebody in the batch fails: find out who, and let the others through.
            self._handle_one_by_one(messages)
        else:
            observe.group_handled(self.group.name, done)

    def _handle_one_by_one(self, messages: list[Message]) -> None:
        for message in messages:
            if message.attempts > DELIVERIES_BEFORE_SUSPICION:
                self._give_up(message, WorkerLost(WorkerLost.__doc__), message.attempts)
            else:
                self._handle_alone(message)

    def _handle_alone(self, message: Message) -> None:
        connected = _connected()
        try:
            with transaction.atomic():
                done = self._deliver(self._park_followers([message]))
        except Exception as error:  # noqa: BLE001  (a handler may raise anything)
            self._raise_if_outage(error, connected)
            self._failed(message, error, attempts=1)
        else:
            observe.group_handled(self.group.name, done)

    def _deliver(self, messages: Sequence[Message]) -> list[Message]:
        """Call the handlers for what this group has not had yet, in the open transaction."""
        if not messages:
            return []
        new = self._enter_inbox(messages)
        fresh = [m for m in _once_each(messages) if m.event_id in new]
        for handler, run in groupby(fresh, lambda m: handler_of(self.group.name, m.event_type)):
            assert handler is not None
            self._call(handler, list(run))
        reach("consumer.before_commit")
        return fresh

    def _enter_inbox(self, messages: Sequence[Message]) -> set[object]:
        with connection.cursor() as cursor:
            cursor.execute(
                _NEW_TO_INBOX, [self.group.name, self.name, [m.event_id for m in messages]]
            )
            return {event_id for (event_id,) in cursor.fetchall()}

    def _call(self, handler: Handler, messages: list[Message]) -> None:
        if handler.batch:
            with (
                observe.duration.labels(self.group.name, messages[0].event_type).time(),
                deadline.limit(handler.timeout),
                context.fresh(source=self.group.name),
            ):
                handler.function(messages)
            return
        for message in messages:
            with (
                on_behalf_of(message, self.group.name),
                observe.duration.labels(self.group.name, message.event_type).time(),
                deadline.limit(handler.timeout),
            ):
                handler.function(message)

    def _raise_if_outage(self, error: Exception, connected: object) -> None:
        """PostgreSQL went away under us: nobody's fault, everything stays in hand."""
        lost = connection.connection is not connected or not connection.is_usable()
        if isinstance(error, AnyDatabaseError) and lost:
            connection.close()
            raise error
        if isinstance(error, BusUnavailable):
            raise error

    # When it does not work

    def _failed(self, message: Message, error: Exception, attempts: int) -> None:
        pauses = settings.EVENTS_RETRY_SECONDS
        if isinstance(error, GiveUp) or attempts > len(pauses):
            self._give_up(message, error, attempts)
            return
        due_at = timezone.now() + timedelta(seconds=pauses[attempts - 1])
        with transaction.atomic():
            self._note_attempt(message, error, attempts)
            Retry.objects.update_or_create(
                group=self.group.name, event_id=message.event_id,
                defaults={**_entry_of(message), "attempts": attempts, "due_at": due_at},
            )  # fmt: skip
        observe.group_failed(self.group.name, "retry")
        log.warning(
            "event failed", group=self.group.name, error=repr(error), attempt=attempts,
            **message.log_fields,
        )  # fmt: skip

    def _give_up(self, message: Message, error: Exception, attempts: int) -> None:
        with transaction.atomic():
            Retry.objects.filter(group=self.group.name, event_id=message.event_id).delete()
            if not self._bury_in_inbox(message):
                return  # The group is done with it, however: only the acknowledgement was lost.
            self._note_attempt(message, error, attempts)
            letter = dead_letters.of_message(message, self.group.name, error, attempts)
            letter.save()
        self._tell_of_dead_letter(letter)

    def _bury_in_inbox(self, message: Message) -> bool:
        with connection.cursor() as cursor:
            cursor.execute(_BURY_IN_INBOX, [message.event_id, self.group.name, self.name])
            return bool(cursor.rowcount)

    def _note_attempt(self, message: Message, error: Exception, attempts: int) -> None:
        FailedAttempt.objects.create(
            event_id=message.event_id, group=self.group.name, number=attempts,
            error=dead_letters.printable(f"{type(error).__name__}: {error}"), worker=self.name,
        )  # fmt: skip

    def _bury(self, letter: DeadLetter) -> None:
        already = DeadLetter.objects.filter(
            group=letter.group, stream=letter.stream, entry_id=letter.entry_id, event_id=None
        )
        if not already.exists():
            letter.save()
            self._tell_of_dead_letter(letter)

    def _tell_of_dead_letter(self, letter: DeadLetter) -> None:
        """The row is the truth; the stream is for those who follow it."""
        observe.group_failed(self.group.name, "dead")
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

    # Coming back to what waits

    def retry_due(self) -> int:
        """Handle deliveries whose time has come, one transaction each; returns how many."""
        count = 0
        while self._retry_one():
            count += 1
        return count

    def _retry_one(self) -> bool:
        message: Message | None = None
        attempts = 0
        connected = _connected()
        try:
            with transaction.atomic():
                row = self._next_retry()
                if row is None:
                    return False
                attempts = row.attempts
                message = Message.of_fields(row.stream, row.entry_id, row.fields)
                row.delete()
                done = self._deliver([message])
        except Exception as error:
            self._raise_if_outage(error, connected)
            if message is None:
                raise
            self._failed(message, error, attempts + 1)
        else:
            observe.group_handled(self.group.name, done)
        return True

    def _next_retry(self) -> Retry | None:
        due = Retry.objects.filter(group=self.group.name, due_at__lte=timezone.now())
        if self.group.ordered:
            earlier = Retry.objects.filter(
                group=OuterRef("group"), aggregate=OuterRef("aggregate"),
                position__lt=OuterRef("position"),
            )  # fmt: skip
            due = due.filter(~Exists(earlier))
        return due.order_by("id").select_for_update(skip_locked=True).first()

    def _park_followers(self, messages: Sequence[Message]) -> list[Message]:
        """In an ordered group, what follows a waiting event of its aggregate waits behind it."""
        if not self.group.ordered:
            return list(messages)
        blocked = set(
            Retry.objects.filter(
                group=self.group.name, aggregate__in={m.aggregate for m in messages}
            ).values_list("aggregate", flat=True)
        )
        followers = [m for m in messages if m.aggregate in blocked]
        Retry.objects.bulk_create(
            [Retry(group=self.group.name, event_id=m.event_id, due_at=timezone.now(),
                   **_entry_of(m)) for m in followers],
            ignore_conflicts=True,
        )  # fmt: skip
        return [m for m in messages if m.aggregate not in blocked]

    def _abandoned(self) -> list[Entry]:
        """A batch of what was handed out and that nobody will finish, as long as there is some."""
        streams = [str(stream) for stream in self.group.streams] if self._look_behind else []
        for stream in streams:
            for owner, min_idle_ms in self._left_by(stream):
                held = self.bus.take_over(
                    self.group.name, self.name, stream, min_idle_ms, owner, self.batch
                )
                if held:
                    return held
                if owner and owner != self.name:
                    self.bus.forget_consumer(self.group.name, owner, stream)
        self._look_behind = False
        return []

    def _left_by(self, stream: str) -> Iterator[tuple[str, int]]:
        """Whose entries may be taken, and after how long; "" stands for anybody's."""
        if self.group.ordered:
            # Only the leader handles: what another worker still holds, it will never finish.
            yield "", 0
            return
        # Our hands are empty: what the bus believes we hold never reached us.
        yield self.name, 0
        yield "", settings.EVENTS_RECLAIM_IDLE_SECONDS * 1000
        for owner in self._dead_owners(stream):
            yield owner, 0

    def _dead_owners(self, stream: str) -> list[str]:
        state = self.bus.state(stream)
        groups = state.groups if state else ()
        owners = [c for g in groups if g.group == self.group.name for c in g.consumers]
        return heartbeats.silent(owner for owner in owners if owner != self.name)

    def _wait_out(self, error: Exception, stop: threading.Event) -> None:
        pause = min(backoff(self._trouble), 10.0)
        self._trouble += 1
        log.warning("consumer waits", group=self.group.name, error=str(error), seconds=pause)
        stop.wait(pause)


@contextlib.contextmanager
def on_behalf_of(message: Message, source: str) -> Iterator[None]:
    """Act for the tenant, the person and the trace of this event."""
    with (
        context.fresh(
            tenant_id=message.tenant_id, actor=message.actor, trace_id=message.trace_id,
            source=source, causation_id=message.event_id,
        ),
        structlog.contextvars.bound_contextvars(**message.log_fields),
    ):  # fmt: skip
        yield


def _connected() -> object:
    """The connection we have now; after an error, another one in its place tells of an outage."""
    connection.ensure_connection()
    return connection.connection


def _entry_of(message: Message) -> dict[str, object]:
    return {
        "aggregate": message.aggregate,
        "stream": message.stream,
        "entry_id": message.entry_id,
        "position": position(message.entry_id),
        "fields": dict(message.fields),
    }


def _once_each(messages: Sequence[Message]) -> list[Message]:
    """Without repetitions: the stream may hold an event twice, even in one batch."""
    return list({message.event_id: message for message in reversed(messages)}.values())[::-1]
