"""When something is due: ISO 8601 moments and durations, or an expression that gives one."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from SpiffWorkflow.bpmn.specs.event_definitions.timer import TimerEventDefinition

from apps.processes.bpmn import expressions
from apps.processes.errors import InvalidExpression

FARTHEST = timedelta(days=3653)
# Few digits each: a month is counted by a loop.
_DURATION = re.compile(
    r"P(?=.)(\d{1,2}Y)?(\d{1,3}M)?(\d{1,3}W)?(\d{1,4}D)?"
    r"(T(?=.)(\d{1,5}H)?(\d{1,6}M)?(\d{1,8}S)?)?",
    re.IGNORECASE,
)
# Meant as a time and not as the name of a variable.
_LOOKS_WRITTEN = re.compile(r"\s*[\"']?(\d|P[T\d])", re.IGNORECASE)


def check(text: str) -> None:
    """Refuse what can never be a moment or a duration."""
    if _written(text, datetime.now(UTC)) is not None:
        return
    if _LOOKS_WRITTEN.match(text):
        raise InvalidExpression(_no_moment(text))
    expressions.check(text)


def moment(text: str, variables: Mapping[str, Any], *, now: datetime) -> datetime:
    """The moment that a text means, counted from now."""
    found = _written(text, now)
    if found is None:
        found = _written(str(expressions.evaluate(text, variables)), now)
    if found is None or found - now > FARTHEST:
        raise InvalidExpression(_no_moment(text))
    return found


def _no_moment(text: str) -> str:
    return _("%(text)s is no moment within ten years, or has no time zone.") % {"text": text[:100]}


def _written(text: str, now: datetime) -> datetime | None:
    text = (text or "").strip().strip("\"'")
    try:
        return now + _duration(text, now) if _DURATION.fullmatch(text) else _moment(text)
    except (ValueError, OverflowError):
        return None


def _duration(text: str, now: datetime) -> timedelta:
    parsed = TimerEventDefinition.parse_iso_duration(text)
    return TimerEventDefinition.get_timedelta_from_start(parsed, now)


def _moment(text: str) -> datetime | None:
    found = parse_datetime(text)
    # Without a time zone it would be read differently on every machine.
    return found.astimezone(UTC) if found and found.tzinfo else None
