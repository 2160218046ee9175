"""Hands a group's events to its handlers: once per group, effects and proof together."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from django.db import Error as AnyDatabaseError
from django.db import connection, transaction

from . import context, deadline, observe, retries
from .bus import Bus, BusUnavailable, Entry
from .failpoints import reach
from .failures import Failures
from .groups import Group
from .handlers import Handler, handler_of
from .message import Message, Unreadable
from .models import InboxEntry, Retry
from .statements import preparing_cursor

DELIVERIES_BEFORE_SUSPICION = 4
"""An entry that was handed out so often without an end takes its worker down with it."""

# Sorted, so that two workers with the same events wait for each other instead of deadlocking.
_NEW_TO_INBOX = """
INSERT INTO event_inbox (event_id, "group", worker)
SELECT id, %s, %s FROM unnest(%s::uuid[]) AS id ORDER BY id
ON CONFLICT DO NOTHING RETURNING event_id
"""

Failed = Callable[[Exception], None]
Tried = tuple[Message, int]
"""A retry, and which attempt it is."""


class WorkerLost(Exception):
    """Handling this event ended the worker several times."""


class Delivery:
    """The deliveries of one worker of one group."""

    def __init__(self, group: Group, bus: Bus, worker: str) -> None:
        self.group, self.worker = group, worker
        self.failures = Failures(group.name, bus, worker)

    def handle(self, entries: Sequence[Entry]) -> None:
        """Bring every entry to an end: handled, waiting for a retry, or a dead letter."""
        messages = [m for entry in entries if (m := self._readable(entry)) is not None]
        messages = [m for m in messages if self._handler_of(m)]
        if any(m.attempts >= DELIVERIES_BEFORE_SUSPICION for m in messages):
            self._handle_one_by_one(messages)
        elif messages:
            self._handle_together(messages)

    def retry_due(self, at_most: int = 1_000) -> int:
        """Handle deliveries whose time has come, one transaction each; returns how many."""
        count = 0
        while count < at_most and self._retry_one():
            count += 1
        return count

    def _readable(self, entry: Entry) -> Message | None:
        try:
            return Message.parse(entry.stream, entry.entry_id, entry.raw, entry.deliveries)
        except Unreadable as error:
            self.failures.unreadable(entry, error)
            return None

    def _handler_of(self, message: Message) -> Handler | None:
        return handler_of(self.group.name, message.event_type)

    def _handle_together(self, messages: list[Message]) -> None:
        # Somebody in the batch fails: find out who, and let the others through.
        with self._or_else(lambda error: self._handle_one_by_one(messages)):
            self._handle_in_transaction(messages)

    def _handle_one_by_one(self, messages: list[Message]) -> None:
        culprit = self._where_the_last_worker_died(messages)
        for message in messages:
            if message is culprit:
                self.failures.give_up(message, WorkerLost(WorkerLost.__doc__), message.attempts)
            else:
                self._handle_alone(message)

    def _where_the_last_worker_died(self, messages: list[Message]) -> Message | None:
        """The first that has no end and does not wait; those behind it were not tried yet."""
        suspects = [m for m in messages if m.attempts > DELIVERIES_BEFORE_SUSPICION]
        of_suspects = {"group": self.group.name, "event_id__in": [m.event_id for m in suspects]}
        cleared = {
            event_id
            for kind in (InboxEntry, Retry) if suspects
            for event_id in kind.objects.filter(**of_suspects).values_list("event_id", flat=True)
        }  # fmt: skip
        return next((m for m in suspects if m.event_id not in cleared), None)

    def _handle_alone(self, message: Message) -> None:
        with self._or_else(lambda error: self.failures.failed(message, error, attempts=1)):
            self._handle_in_transaction([message])

    def _handle_in_transaction(self, messages: list[Message]) -> None:
        with transaction.atomic():
            done = self._deliver(retries.park_followers(self.group, messages))
        observe.group_handled(self.group.name, done)

    def _retry_one(self) -> bool:
        tried: list[Tried] = []
        with self._or_else(lambda error: self._failed_again(tried, error)):
            self._retry_in_transaction(tried)
        return bool(tried)

    def _retry_in_transaction(self, tried: list[Tried]) -> None:
        with transaction.atomic():
            row = retries.next_due(self.group)
            if row is None:
                return
            message = Message.of_fields(row.stream, row.entry_id, row.fields)
            tried.append((message, row.attempts + 1))
            row.delete()
            done = self._deliver([message])
        observe.group_handled(self.group.name, done)

    def _failed_again(self, tried: list[Tried], error: Exception) -> None:
        if not tried:
            raise error
        ((message, attempts),) = tried
        self.failures.failed(message, error, attempts)

    def _deliver(self, messages: Sequence[Message]) -> list[Message]:
        """Call the handlers for what this group has not had yet, in the open transaction."""
        if not messages:
            return []
        new = self._enter_inbox(messages)
        fresh = [m for m in _once_each(messages) if m.event_id in new]
        for handler, run in groupby(fresh, self._handler_of):
            assert handler is not None
            self._call(handler, list(run))
        reach("consumer.before_commit")
        return fresh

    def _enter_inbox(self, messages: Sequence[Message]) -> set[object]:
        with preparing_cursor() as cursor:
            cursor.execute(
                _NEW_TO_INBOX, [self.group.name, self.worker, [m.event_id for m in messages]]
            )
            return {event_id for (event_id,) in cursor.fetchall()}

    def _call(self, handler: Handler, messages: list[Message]) -> None:
        if handler.batch:
            # Of one event at least its lines in the log say which; many have many tenants.
            told = messages[0].log_fields if len(messages) == 1 else {}
            with context.fresh(told, source=self.group.name), self._timed(handler, messages[0]):
                handler.function(messages)
            return
        for message in messages:
            with on_behalf_of(message, self.group.name), self._timed(handler, message):
                handler.function(message)

    @contextlib.contextmanager
    def _timed(self, handler: Handler, message: Message) -> Iterator[None]:
        with (
            observe.handler_seconds(self.group.name, message.event_type).time(),
            deadline.limit(handler.timeout),
        ):
            yield

    @contextlib.contextmanager
    def _or_else(self, failed: Failed) -> Iterator[None]:
        """Turn to `failed` when the block fails; an outage is nobody's failure and goes on up."""
        connected = _connected()
        try:
            yield
        except Exception as error:  # noqa: BLE001  (a handler may raise anything)
            _raise_if_outage(error, connected)
            failed(error)


@contextlib.contextmanager
def on_behalf_of(message: Message, source: str) -> Iterator[None]:
    """Act for the tenant, the person and the trace of this event."""
    with context.fresh(
        message.log_fields,
        tenant_id=message.tenant_id, actor=message.actor, trace_id=message.trace_id,
        source=source, causation_id=message.event_id,
    ):  # fmt: skip
        yield


def _connected() -> object:
    """The connection we have now; after an error, another one in its place tells of an outage."""
    connection.ensure_connection()
    return connection.connection


def _raise_if_outage(error: Exception, connected: object) -> None:
    """PostgreSQL went away under us: nobody's fault, everything stays in hand."""
    lost = connection.connection is not connected or not connection.is_usable()
    if isinstance(error, AnyDatabaseError) and lost:
        connection.close()
        raise error
    if isinstance(error, BusUnavailable):
        raise error


def _once_each(messages: Sequence[Message]) -> list[Message]:
    """Without repetitions: the stream may hold an event twice, even in one batch."""
    return list({message.event_id: message for message in reversed(messages)}.values())[::-1]
