"""How the backbone stands, on the console's first page."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import redis
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _

from axiom.console.charts import Course
from axiom.console.charts import course as drawn
from axiom.console.lists import MOST_COUNTED
from axiom.console.panels import Panel

from . import heartbeats, timings
from .bus import BusUnavailable
from .context import current
from .groups import WORKERS
from .models import DeadLetter
from .selectors import Health, health, letters_of


def contents(request: HttpRequest) -> dict[str, Any]:
    try:
        return _standing(health(), current().tenant_id)
    except (redis.RedisError, BusUnavailable):
        return {"away": True}


def _standing(now: Health, tenant_id: UUID | None) -> dict[str, Any]:
    return {
        "courses": [*_courses(timings.MINUTE, "H:i"), *_courses(timings.HOUR, "D H:i")],
        "waiting": sum(level.pending + level.processing for level in now.outbox),
        "oldest": _span(max((each.oldest_pending_seconds for each in now.outbox), default=0)),
        "outbox_link": reverse("admin:events_outboxevent_changelist"),
        "letters": sum(now.open_letters.values()) if tenant_id is None else _letters(tenant_id),
        "letters_link": reverse("admin:events_deadletter_changelist"),
        "streams_link": reverse("admin:streams"),
        "groups": sorted(now.groups, key=lambda each: (each.group, each.stream)),
        "workers": _workers(now),
    }


def _letters(tenant_id: UUID) -> int:
    """A tenant is told of its own: the list that the figure leads to holds no others."""
    letters = letters_of(tenant_id).order_by().filter(status=DeadLetter.Status.OPEN)
    return letters[:MOST_COUNTED].count()


def _courses(span: timings.Span, form: str) -> list[Course]:
    """Events and delay of the last hour, or of three days."""
    passed = timings.course(span)
    lately = span is timings.MINUTE
    events = _("Events sent, last hour") if lately else _("Events sent, 72 hours")
    delay = _("Delay to handled (p99), last hour") if lately else _("Delay to handled (p99), 72 h")
    return [
        drawn(
            events,
            _points(passed, form, lambda each: each.events, number_format),
            link=reverse("admin:events_outboxevent_changelist"),
        ),
        drawn(
            delay,
            _points(passed, form, lambda each: each.delay_seconds, _span),
            link=reverse("admin:streams"),
        ),
    ]


def _points(
    passed: Sequence[timings.Passed],
    form: str,
    value: Callable[[timings.Passed], float],
    told: Callable[[float], str],
) -> list[tuple[str, float, str]]:
    return [
        (date_format(timezone.localtime(each.at), form), float(value(each)), told(value(each)))
        for each in passed
    ]


def _span(seconds: float) -> str:
    if seconds >= 1:
        return _("%(seconds)s s") % {"seconds": number_format(round(seconds, 1))}
    return _("%(milliseconds)d ms") % {"milliseconds": round(seconds * 1000)}


def _workers(now: Health) -> list[dict[str, Any]]:
    """Every worker, how many processes run it, and whether one is missed."""
    alive = heartbeats.alive()
    return [
        {
            "name": name,
            "processes": sum(name in each.workers for each in alive),
            "is_missed": name in now.silent_workers,
        }
        for name in WORKERS
    ]


BACKBONE = Panel(position=50, template="events/now.html", contents=contents)
