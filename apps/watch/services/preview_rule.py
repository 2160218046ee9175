"""Says what a rule asks for, or what is wrong with it, before it is saved."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from apps.watch.errors import NothingToWatch, NotWatchable
from apps.watch.rules import RuleRefused, event_types_of, parse
from apps.watch.rules.errors import Fault
from apps.watch.rules.wording import sentence
from apps.watch.texts import label

from .subscribe import watchable

EVENT_TYPES = "#/event_types"
"""Where a fault is that is not the rule's."""


@dataclass(frozen=True)
class Preview:
    """A rule in words, or its faults, each with the place and the reason."""

    sentences: dict[str, str] = field(default_factory=dict)
    """By language."""
    events: dict[str, str] = field(default_factory=dict)
    """The types it looks at, in the reader's language."""
    errors: list[Fault] = field(default_factory=list)


def preview_rule(*, rule: Any, event_types: Iterable[str] = ()) -> Preview:
    """The rule in every language of the console, and everything that would refuse it."""
    try:
        parsed = parse(rule)
    except RuleRefused as refused:
        return Preview(errors=[dict(fault) for fault in refused.facts["errors"]])
    sentences = {code: _said(parsed, code) for code, _name in settings.LANGUAGES}
    try:
        types = _watched(event_types_of(parsed) or event_types)
    except (NotWatchable, NothingToWatch) as error:
        fault = {"pointer": EVENT_TYPES, "code": error.code, "detail": _(error.message)}
        return Preview(sentences, errors=[fault])
    return Preview(sentences, {name: label(name) for name in types})


def _said(rule: Any, language: str) -> str:
    with translation.override(language):
        return sentence(rule)


def _watched(event_types: Iterable[str]) -> list[str]:
    types = watchable(event_types)
    if not types:
        raise NothingToWatch
    return types
