"""What a match says, in one sentence, in any language: made of its facts, whenever it is read."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.events import catalog
from apps.events.errors import UnknownEventType

Facts = Mapping[str, Any]
SYSTEM = "system"


def message(event_type: str, facts: Facts, language: str = "") -> str:
    """The sentence in this language, or in the installation's."""
    language = language or settings.LANGUAGE_CODE
    if facts.get("rule") not in _SENTENCES:
        # Most matches are of one event. Changing the language for each takes longer than its text.
        return _of_event(_label(event_type, language), facts)
    with translation.override(language):
        return sentence(event_type, facts)


def sentence(event_type: str, facts: Facts) -> str:
    """The sentence in the reader's language."""
    tell = _SENTENCES.get(facts.get("rule", ""))
    return tell(event_type, facts) if tell else _of_event(label(event_type), facts)


def told(event_type: str, facts: Facts, written: str) -> str:
    """The sentence in the reader's language; as it was written, where the facts do not make one."""
    if facts.get("rule") in (None, SYSTEM):
        return written
    try:
        return sentence(event_type, facts)
    except (LookupError, TypeError, ValueError):
        return written  # Its facts are of another time, and had other names.


def label(event_type: str) -> str:
    return _label(event_type, translation.get_language() or "")


@lru_cache(maxsize=1_000)
def _label(event_type: str, language: str) -> str:
    try:
        with translation.override(language or None):
            return str(catalog.event_class_of(event_type).label)
    except UnknownEventType:
        return event_type


def _of_event(label: str, facts: Facts) -> str:
    title = facts.get("title")
    named = f"{label}: {title}" if title else label
    values = ", ".join(f"{name} {shown(value)}" for name, value in _told(facts).items())
    return f"{named} ({values})" if values else named


def _told(facts: Facts) -> dict[str, Any]:
    return {k: v for k, v in facts.get("values", {}).items() if not isinstance(v, dict | list)}


def _of_pattern(event_type: str, facts: Facts) -> str:
    return _("%(label)s: %(count)d times within %(hours)s%(group)s") % {
        "label": label(event_type),
        "count": facts.get("value", 0),
        "hours": hours(facts["window_hours"]),
        "group": _grouped(facts),
    }


def _of_aggregate(event_type: str, facts: Facts) -> str:
    return _("%(label)s: %(function)s of %(field)s is %(value)s within %(hours)s%(group)s") % {
        "label": label(event_type),
        "function": functions()[facts["function"]],
        "field": facts["field"],
        "value": shown(facts.get("value")),
        "hours": hours(facts["window_hours"]),
        "group": _grouped(facts),
    }


def functions() -> dict[str, str]:
    return {
        "sum": _("the sum"),
        "avg": _("the average"),
        "min": _("the least"),
        "max": _("the greatest"),
        "distinct": _("the number of different values"),
    }


def _of_sequence(event_type: str, facts: Facts) -> str:
    return _("%(first)s, and then %(then)s within %(hours)s%(group)s") % _steps(facts)


def _of_absence(event_type: str, facts: Facts) -> str:
    return _("%(first)s, and no %(then)s within %(hours)s%(group)s") % _steps(facts)


def _steps(facts: Facts) -> dict[str, str]:
    title = facts.get("title")
    return {
        "first": label(facts["first"]),
        "then": label(facts["then"]),
        "hours": hours(facts["within_hours"]),
        "group": f" ({title})" if title else "",
    }


def _grouped(facts: Facts) -> str:
    return f" ({facts['group']})" if facts.get("group") else ""


def hours(number: float) -> str:
    if number < 1:
        minutes = round(number * 60)
        return ngettext("%d minute", "%d minutes", minutes) % minutes
    if number % 24 == 0:
        days = int(number // 24)
        return ngettext("%d day", "%d days", days) % days
    return ngettext("%s hour", "%s hours", int(number)) % shown(number)


def shown(value: Any) -> str:
    """A value as people read it: numbers with their thousands, moments on the reader's clock."""
    if isinstance(value, str) and (moment := _moment(value)):
        return f"{timezone.localtime(moment):%Y-%m-%d %H:%M %Z}"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = f"{value:,}" if type(value) in (int, float) else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _moment(text: str) -> datetime | None:
    # Looked at before it is parsed: nearly every text is something else.
    if text[10:11] != "T" or not text[:4].isdecimal():
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


_SENTENCES = {
    "pattern": _of_pattern,
    "aggregate": _of_aggregate,
    "sequence": _of_sequence,
    "absence": _of_absence,
}
