"""Calling a handler for a dead letter in a transaction that is always rolled back."""

import contextlib
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from .. import deadline
from ..context import acting
from ..dead_letters import printable
from ..delivery import on_behalf_of
from ..errors import LetterUnreadable, NobodyHandles, NothingToTry
from ..handlers import GiveUp, Handler, handler_of
from ..message import Message
from ..models import DeadLetter, DeadLetterAct
from .edit import message_of, plan_edit
from .settle import remember

_LAST_NUMBER = "SELECT last_value FROM event_outbox_seq_seq"
_PUBLISHED_HERE = """
SELECT event_type, aggregate_type, aggregate_id, payload::text FROM event_outbox
WHERE seq >= %s AND xid = pg_current_xact_id() ORDER BY seq LIMIT 100
"""


@dataclass(frozen=True)
class Published:
    """An event that the handler would publish."""

    event_type: str
    aggregate_type: str
    aggregate_id: str
    payload: str


@dataclass
class Rehearsal:
    """What would happen; nothing of it did."""

    outcome: str = "ok"
    error_type: str = ""
    error: str = ""
    stack: str = ""
    queries: int = 0
    seconds: float = 0.0
    published: list[Published] = field(default_factory=list)
    diff: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def dry_run(letter: DeadLetter, *, by: str, payload: Mapping[str, Any] | None = None) -> Rehearsal:
    """Try the letter, or an edit of it, with the handler of its group, and undo everything.

    What a handler does outside of the database, and not in `on_commit`, cannot be undone.
    """
    handler, message, diff = _rehearsed(letter, payload)
    rehearsal = _rehearse(handler, message)
    rehearsal.diff = diff
    remember(
        [letter], DeadLetterAct.Kind.TRIED, by=by, diff=diff, outcome=rehearsal.outcome,
        error=rehearsal.error,
    )  # fmt: skip
    return rehearsal


def _rehearsed(
    letter: DeadLetter, payload: Mapping[str, Any] | None
) -> tuple[Handler, Message, str]:
    if letter.of_relay:
        raise NothingToTry
    if not letter.is_readable:
        raise LetterUnreadable
    handler = handler_of(letter.group, letter.event_type)
    if handler is None:
        raise NobodyHandles
    message = message_of(letter)
    if payload is None:
        return handler, message, ""
    edit = plan_edit(letter, payload)
    fields = {
        **letter.fields,
        "payload": edit.event.payload_json(),
        "schema_version": str(edit.event.version),
    }
    return handler, replace(message, fields=fields, aggregate_id=edit.event.aggregate_id), edit.diff


def _rehearse(handler: Handler, message: Message) -> Rehearsal:
    rehearsal = Rehearsal()
    with _rolled_back():
        before = _last_number()
        began = time.perf_counter()
        try:
            with transaction.atomic():
                with connection.execute_wrapper(_counting(rehearsal)):
                    _call(handler, message)
                # Some constraints are checked at commit only, which a dry run never reaches.
                connection.check_constraints()
        except Exception as error:  # noqa: BLE001  (a handler may raise anything)
            _describe(rehearsal, error)
        rehearsal.seconds = round(time.perf_counter() - began, 6)
        rehearsal.published = _published_since(before)
    return rehearsal


@contextlib.contextmanager
def _rolled_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def _call(handler: Handler, message: Message) -> None:
    seconds = min(handler.timeout, settings.EVENTS_DRY_RUN_SECONDS)
    with (
        on_behalf_of(message, f"{handler.group} (dry run)"),
        acting(rehearsing=True),
        deadline.limit(seconds, to_the_death=False),
    ):
        handler.function([message] if handler.batch else message)


def _counting(rehearsal: Rehearsal) -> Callable[..., Any]:
    def count(execute: Callable[..., Any], *args: Any) -> Any:
        rehearsal.queries += 1
        return execute(*args)

    return count


def _describe(rehearsal: Rehearsal, error: Exception) -> None:
    rehearsal.outcome = _OUTCOMES.get(type(error), "failed")
    rehearsal.error_type, rehearsal.error = type(error).__name__, printable(str(error))
    rehearsal.stack = printable("".join(traceback.format_exception(error)), at_most=50_000)


_OUTCOMES: dict[type[Exception], str] = {
    GiveUp: "gave_up",
    deadline.HandlerTimeout: "timed_out",
}


def _last_number() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_LAST_NUMBER)
        (number,) = cursor.fetchone() or (0,)
    return int(number)


def _published_since(number: int) -> list[Published]:
    with connection.cursor() as cursor:
        cursor.execute(_PUBLISHED_HERE, [number])
        return [Published(*row) for row in cursor.fetchall()]
