"""The form that builds a rule: what it may be made of, what it says, and what it would have done.

The page only puts JSON together. What a rule means and whether it is right is asked of the same
services that save it.
"""

import json
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldAdminTextareaWidget

from apps.events import catalog
from apps.events.groups import GROUPS
from apps.events.outline import outline
from apps.watch.services import try_rule
from apps.watch.services.preview_rule import Preview, preview_rule
from apps.watch.services.subscribe import GROUP
from apps.watch.services.try_rule import MOST_DAYS
from axiom.tenancy import current_tenant_id

from . import trials

DAYS = 7


class RuleWidget(UnfoldAdminTextareaWidget):  # type: ignore[misc]
    """The JSON of a rule, with a form beside it that says the same."""

    def __init__(self) -> None:
        super().__init__({"rows": 12, "spellcheck": "false"})

    def _render(self, template_name: str, context: Any, renderer: Any = None) -> SafeString:
        textarea = super()._render(template_name, context, renderer)
        around = {"textarea": textarea, "id": context["widget"]["attrs"].get("id", "id_rule")}
        return mark_safe(render_to_string("watch/rule_builder.html", around | builder()))


def builder() -> dict[str, Any]:
    """What the templates of the form need."""
    return {
        "preview_url": reverse("admin:watch_subscription_preview"),
        "try_url": reverse("admin:watch_subscription_try"),
        "languages": languages(),
        "known_types": watchable_types(),
        "most_days": MOST_DAYS,
        "days": DAYS,
    }


def languages() -> list[tuple[str, str]]:
    """The reader's own first."""
    known = [(code, str(name)) for code, name in settings.LANGUAGES]
    return sorted(known, key=lambda pair: pair[0] != get_language())


def watchable_types() -> list[dict[str, Any]]:
    """The event types that can be watched, with the fields that a rule may speak of."""
    streams = GROUPS[GROUP].streams
    kinds = [kind for kind in catalog.event_types() if kind.stream in streams]
    found = [
        {"type": kind.type, "label": str(kind.label), "fields": _fields_of(kind)} for kind in kinds
    ]
    return sorted(found, key=lambda each: each["label"])


def _fields_of(kind: type[catalog.Event]) -> list[str]:
    """As a rule names them: * for each element of a list."""
    rows = outline(kind.payload_schema())
    return [row.name.replace("[]", ".*") for row in rows if "object" not in row.kind]


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """The rule in words; always 200, because an unfinished rule is no failure of the page."""
    rule, event_types, _days = _asked(request)
    found = preview_rule(rule=rule, event_types=event_types)
    return JsonResponse(
        {"sentences": found.sentences, "events": found.events, "errors": found.errors}
    )


@require_POST
def trial(request: HttpRequest) -> HttpResponse:
    """A part of a page: when the rule would have fired."""
    rule, event_types, days = _asked(request)
    found = preview_rule(rule=rule, event_types=event_types)
    if found.errors:
        return render(request, "watch/trial.html", {"errors": found.errors})
    outcome = try_rule(
        tenant_id=current_tenant_id(), rule=rule, event_types=event_types, days=days,
        now=timezone.now(),
    )  # fmt: skip
    return render(request, "watch/trial.html", trials.told(outcome, days))


def _asked(request: HttpRequest) -> tuple[Any, list[str], int]:
    """What the page sent; nonsense is an empty rule, which says what is missing."""
    try:
        given = json.loads(request.body)
        rule, event_types = given.get("rule"), given.get("event_types") or []
        days = min(max(1, int(given.get("days", DAYS))), MOST_DAYS)
    except (ValueError, TypeError, AttributeError):
        return None, [], DAYS
    return rule, [str(name) for name in event_types], days


def shown(rule: Any, event_types: Iterable[str], *, may_try: bool) -> SafeString:
    """A stored rule for those who may not change it, and its trial for those who may act."""
    context = {
        **builder(),
        "sentences": _in_words(preview_rule(rule=rule, event_types=event_types)),
        "json": json.dumps(rule, ensure_ascii=False, indent=2),
        "asked": {"rule": rule, "event_types": list(event_types)},
        "may_try": may_try,
    }
    return render_to_string("watch/rule_shown.html", context)


def _in_words(found: Preview) -> list[dict[str, str]]:
    """In every language, the reader's own first."""
    faults = " ".join(fault["detail"] for fault in found.errors)
    return [
        {"language": code, "text": found.sentences.get(code, faults)} for code, _name in languages()
    ]
