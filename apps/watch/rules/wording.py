"""Says a rule in one sentence, so that people see what they ask for before anything happens."""

from collections.abc import Callable
from functools import reduce
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.watch.texts import functions, hours, label, shown

from .language import (
    Absence,
    Aggregate,
    All,
    Always,
    Any_,
    AnyRule,
    Deadline,
    Field_,
    Not,
    Pattern,
    Sequence,
    Step,
    Threshold,
)
from .reading import has_each


def sentence(rule: AnyRule) -> str:
    """When the rule alerts, in the reader's language."""
    return _SENTENCES.get(type(rule), _of_one_event)(rule)


def _of_one_event(rule: Any) -> str:
    return _("Alert when %(condition)s.") % {"condition": condition(rule)}


def _always(rule: Always) -> str:
    return _("Alert at every event.")


def _pattern(rule: Pattern) -> str:
    return ngettext(
        "Alert when it happens %(count)s time within %(hours)s%(limits)s.",
        "Alert when it happens %(count)s times within %(hours)s%(limits)s.",
        rule.min_count,
    ) % {
        "count": shown(rule.min_count),
        "hours": hours(rule.window_hours),
        "limits": _limits(rule),
    }


def _aggregate(rule: Aggregate) -> str:
    return _(
        "Alert when %(function)s of %(field)s within %(hours)s is "
        "%(operator)s %(threshold)s%(limits)s."
    ) % {
        "function": functions()[rule.function],
        "field": rule.field,
        "hours": hours(rule.window_hours),
        "operator": rule.operator,
        "threshold": shown(rule.threshold),
        "limits": _limits(rule),
    }


def _limits(rule: Any) -> str:
    """Which events count, and with which others."""
    by = _(", for each %(field)s by itself") % {"field": rule.group_by} if rule.group_by else ""
    if rule.where is None:
        return by
    return by + _(", counting only events where %(condition)s") % {
        "condition": condition(rule.where)
    }


def _sequence(rule: Sequence) -> str:
    return _(
        "Alert when “%(first)s” is followed by “%(then)s” within %(hours)s, %(common)s."
    ) % _steps(rule)


def _absence(rule: Absence) -> str:
    return _(
        "Alert when “%(first)s” is not followed by “%(then)s” within %(hours)s, %(common)s."
    ) % _steps(rule)


def _steps(rule: Any) -> dict[str, str]:
    same = _("both with the same %(field)s") % {"field": rule.group_by}
    return {
        "first": _step(rule.first),
        "then": _step(rule.then),
        "hours": hours(rule.within_hours),
        "common": same if rule.group_by else _("both of the same thing"),
    }


def _step(step: Step) -> str:
    if step.where is None:
        return label(step.event_type)
    return _("%(event)s (where %(condition)s)") % {
        "event": label(step.event_type),
        "condition": condition(step.where),
    }


_SENTENCES: dict[type, Callable[[Any], str]] = {
    Always: _always,
    Pattern: _pattern,
    Aggregate: _aggregate,
    Sequence: _sequence,
    Absence: _absence,
}


def condition(part: Any) -> str:
    """A condition as a part of a sentence."""
    return _CONDITIONS[type(part)](part)


def _threshold(part: Threshold) -> str:
    comparison = f"{part.field} {part.operator} {_value(part.threshold)}"
    if has_each(part.field):
        return _("for one of them %(comparison)s") % {"comparison": comparison}
    return comparison


def _value(value: Any) -> str:
    if isinstance(value, Field_):
        return value.field
    if isinstance(value, str):
        return f"“{shown(value)}”"
    names = {True: _("true"), False: _("false"), None: _("nothing")}
    return names[value] if value is None or isinstance(value, bool) else shown(value)


def _deadline(part: Deadline) -> str:
    return ngettext(
        "at most %(days)s day is left until %(field)s, or it has passed",
        "at most %(days)s days are left until %(field)s, or it has passed",
        part.days_before,
    ) % {"days": part.days_before, "field": part.field}


def _all(part: All) -> str:
    return reduce(
        lambda one, other: _("%(one)s and %(other)s") % {"one": one, "other": other},
        map(_inner, part.conditions),
    )


def _any(part: Any_) -> str:
    return reduce(
        lambda one, other: _("%(one)s or %(other)s") % {"one": one, "other": other},
        map(_inner, part.conditions),
    )


def _inner(part: Any) -> str:
    """In brackets where the sentence could be read in two ways."""
    several = isinstance(part, All | Any_) and len(part.conditions) > 1
    return f"({condition(part)})" if several else condition(part)


def _not(part: Not) -> str:
    return _("not (%(condition)s)") % {"condition": condition(part.condition)}


_CONDITIONS: dict[type, Callable[[Any], str]] = {
    Always: lambda part: _("anything happens"),
    Threshold: _threshold,
    Deadline: _deadline,
    All: _all,
    Any_: _any,
    Not: _not,
}
