"""What is wrong with Axiom itself, decided from what the backbone measures."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from apps.events.selectors import Health

from .severity import Severity

MOST_LAG = 100
PENDING_FOR = timedelta(minutes=5)
MOST_FAILURES = 10
SLOWEST_HANDLER_SECONDS = 30.0
LONGEST_DELAY_SECONDS = 10.0

LAG, PENDING = "SYSTEM_LAG", "SYSTEM_PENDING"
FAILURES, SLOW_HANDLER = "SYSTEM_FAILURES", "SYSTEM_SLOW_HANDLER"
DELAY, DEAD_LETTER = "SYSTEM_DELAY", "SYSTEM_DEAD_LETTER"
SILENT_WORKER, UNREACHABLE = "SYSTEM_SILENT_WORKER", "SYSTEM_UNREACHABLE"

MEASURED = {LAG, PENDING, FAILURES, SLOW_HANDLER, DELAY, SILENT_WORKER}
"""While Redis is away, nobody knows whether these are gone."""


@dataclass(frozen=True, slots=True)
class Sign:
    """Something that somebody has to look after."""

    kind: str
    place: str
    """Where: a group, a stream of a group, a worker."""
    severity: Severity
    message: str
    facts: dict[str, Any] = field(default_factory=dict)
    at: datetime | None = None
    """When it happened, where that is known; otherwise it is so now."""


def signs(health: Health) -> Iterator[Sign]:
    """Everything that is wrong by these measures."""
    yield from _behind(health)
    yield from _stuck(health)
    yield from _failing(health)
    yield from _slow(health)
    yield from _late(health)
    yield from _silent(health)


def _behind(health: Health) -> Iterator[Sign]:
    for level in health.groups:
        if level.lag > MOST_LAG:
            message = _("%(group)s has %(lag)d events of %(stream)s to read.") % {
                "group": level.group, "lag": level.lag, "stream": level.stream,
            }  # fmt: skip
            facts = {"group": level.group, "stream": level.stream, "lag": level.lag}
            yield Sign(LAG, f"{level.stream}|{level.group}", Severity.MEDIUM, message, facts)


def _stuck(health: Health) -> Iterator[Sign]:
    for level in health.groups:
        since = level.many_pending_since
        if since is not None and health.at - since >= PENDING_FOR:
            message = _("%(group)s does not finish %(pending)d events of %(stream)s.") % {
                "group": level.group, "pending": level.pending, "stream": level.stream,
            }  # fmt: skip
            facts = {"group": level.group, "stream": level.stream, "pending": level.pending}
            yield Sign(PENDING, f"{level.stream}|{level.group}", Severity.HIGH, message, facts)


def _failing(health: Health) -> Iterator[Sign]:
    for group, count in health.failures.items():
        if count > MOST_FAILURES:
            message = _("%(group)s failed %(count)d times in five minutes.") % {
                "group": group, "count": count,
            }  # fmt: skip
            yield Sign(FAILURES, group, Severity.HIGH, message, {"group": group, "count": count})


def _slow(health: Health) -> Iterator[Sign]:
    for group, seconds in health.handler_p99_seconds.items():
        if seconds > SLOWEST_HANDLER_SECONDS:
            message = _("Handlers of %(group)s take up to %(seconds)d s.") % {
                "group": group, "seconds": seconds,
            }  # fmt: skip
            facts = {"group": group, "seconds": round(seconds, 1)}
            yield Sign(SLOW_HANDLER, group, Severity.MEDIUM, message, facts)


def _late(health: Health) -> Iterator[Sign]:
    seconds = health.worst_delay_seconds
    if seconds > LONGEST_DELAY_SECONDS:
        message = _("Events take %(seconds)d s to be handled.") % {"seconds": seconds}
        yield Sign(DELAY, "axiom", Severity.HIGH, message, {"seconds": round(seconds, 1)})


def _silent(health: Health) -> Iterator[Sign]:
    for worker in health.silent_workers:
        message = _("No %(worker)s worker runs, and there is work for one.") % {"worker": worker}
        yield Sign(SILENT_WORKER, worker, Severity.HIGH, message, {"worker": worker})


def dead_letters(group: str, stream: str, count: int, newest: datetime) -> Sign:
    """Somebody has to decide what becomes of events that were given up."""
    message = _("%(group)s gave up on %(count)d events of %(stream)s.") % {
        "group": group, "count": count, "stream": stream,
    }  # fmt: skip
    facts = {"group": group, "stream": stream, "count": count}
    return Sign(DEAD_LETTER, f"{stream}|{group}", Severity.CRITICAL, message, facts, at=newest)


def unreachable(reason: str) -> Sign:
    """The backbone could not be asked, which is bad news by itself."""
    message = _("Redis cannot be reached: events are kept, and nobody is told of them.")
    return Sign(UNREACHABLE, "redis", Severity.CRITICAL, message, {"reason": reason})
