"""Recording what failed, so that it can be understood and repeated."""

import hashlib
import json
import re
import traceback
from collections.abc import Sequence

from .bus import Entry
from .claims import Failure
from .message import ENVELOPE, Message, position
from .models import DeadLetter, FailedAttempt, OutboxEvent

ORIGIN = ("request_id", "source", "causation_id", "replaces_id")

_VARYING = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}|\d+|'[^']*'|\"[^\"]*\"")


def fingerprint(group: str, error_type: str, error: str, stack: str = "") -> str:
    """The same for failures of one kind: ids, numbers and quoted values do not count."""
    place = [line for line in stack.splitlines() if line.lstrip().startswith("File ")][-1:]
    place = [_VARYING.sub("_", line.rsplit(", in ", 1)[-1]) for line in place]
    essence = "|".join([group, error_type, _VARYING.sub("_", error), *place])
    return hashlib.sha256(essence.encode()).hexdigest()[:16]


def printable(text: str, at_most: int = 10_000) -> str:
    """The text as PostgreSQL can keep it: an error may quote any bytes, and go on for ever."""
    text = text[:at_most].encode("utf-8", "backslashreplace").decode()
    return text.replace("\x00", "\\x00")


def record_relay_failures(failures: Sequence[Failure], *, worker: str) -> None:
    """Note attempts that the bus refused; those given up become dead letters."""
    FailedAttempt.objects.bulk_create(
        FailedAttempt(
            event_id=f.row.event_id, group=DeadLetter.RELAY, number=f.row.attempt_count,
            error=f"{f.code}: {f.message}", worker=worker,
        )
        for f in failures
    )  # fmt: skip
    given_up = [f for f in failures if f.retry_at is None]
    origins = _origins([f.row.event_id for f in given_up])
    DeadLetter.objects.bulk_create(_of_relay(f, origins[f.row.event_id]) for f in given_up)


def _origins(event_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """What the outbox knows beside the entry: its slice may be gone before the letter is read."""
    rows = OutboxEvent.objects.filter(event_id__in=event_ids).values("event_id", *ORIGIN)
    return {
        str(row["event_id"]): {name: str(row[name]) for name in ORIGIN if row[name]}
        for row in rows
    }  # fmt: skip


def _of_relay(failure: Failure, origin: dict[str, str]) -> DeadLetter:
    row = failure.row
    fields = {name: str(getattr(row, name)) for name in ENVELOPE}
    fields |= json.loads(row.envelope or "{}")
    return DeadLetter(
        group=DeadLetter.RELAY, stream=row.stream, event_id=row.event_id,
        event_type=row.event_type, aggregate_type=row.aggregate_type,
        aggregate_id=row.aggregate_id, tenant_id=row.tenant_id, trace_id=row.trace_id,
        fields=fields, origin=origin, error_type=failure.code, error=failure.message,
        attempts=row.attempt_count,
        fingerprint=fingerprint(DeadLetter.RELAY, failure.code, failure.message),
    )  # fmt: skip


def of_message(message: Message, group: str, error: BaseException, attempts: int) -> DeadLetter:
    """A dead letter for an event that this group gave up on."""
    stack = printable("".join(traceback.format_exception(error)), at_most=50_000)
    kind, reason = type(error).__name__, printable(str(error))
    return DeadLetter(
        group=group, stream=message.stream, entry_id=message.entry_id,
        position=position(message.entry_id), event_id=message.event_id,
        event_type=message.event_type, aggregate_type=message.aggregate_type,
        aggregate_id=message.aggregate_id, tenant_id=message.tenant_id, trace_id=message.trace_id,
        fields=dict(message.fields), error_type=kind, error=reason, stack=stack,
        attempts=attempts, fingerprint=fingerprint(group, kind, reason, stack),
    )  # fmt: skip


def of_unreadable(entry: Entry, group: str, error: Exception) -> DeadLetter:
    """A dead letter for an entry that nobody can read, with the bytes it had."""
    raw = b"\n".join(name + b"=" + value for name, value in entry.raw.items())
    kind = type(error).__name__
    return DeadLetter(
        group=group, stream=entry.stream, entry_id=entry.entry_id,
        position=position(entry.entry_id), raw=raw, error_type=kind, error=str(error), attempts=1,
        fingerprint=fingerprint(group, kind, str(error)),
    )  # fmt: skip
