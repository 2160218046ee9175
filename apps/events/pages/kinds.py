"""Dead letters by kind: what one cause did, to whom, since when, and one of them to look at."""

from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.events import selectors, services
from apps.events.models import DeadLetter
from apps.events.selectors.letters import HOURS, NEWEST, LetterKind
from apps.events.whose import tenant_shown
from axiom.console.charts import Course, course
from axiom.console.groups import Group
from axiom.console.navigation import Page, View
from axiom.permissions import may
from axiom.roles import OPERATORS

from .shown import indented, page

MOST_KINDS = 30
SHORT = 2_000


def kinds(request: HttpRequest) -> HttpResponse:
    """The open letters by error, the most frequent kind first, and what people did lately."""
    tenant_id = tenant_shown(request)
    letters, more = selectors.newest_open(selectors.letters_of(tenant_id))
    found = selectors.kinds_of_letters(letters, limit=MOST_KINDS)
    context = {
        "title": _("Dead letters by kind"),
        "kinds": [_told(kind) for kind in found],
        "newest": NEWEST if more else 0,
        "is_cut": len(found) == MOST_KINDS,
        "across_tenants": tenant_id is None,
        "may_act": may(request, OPERATORS),
        "acts": selectors.acts_lately(tenant_id),
    }
    return page(request, "events/kinds.html", context)


def _told(kind: LetterKind) -> dict[str, Any]:
    letters = reverse("admin:events_deadletter_changelist")
    return {
        "kind": kind,
        "sample": kind.sample,
        "payload": _payload(kind.sample),
        "course": _course(kind),
        "letters": f"{letters}?fingerprint={kind.fingerprint}",
        "redrive": f"{letters}redrive-matching/?fingerprint={kind.fingerprint}&group={kind.group}",
    }


def _payload(letter: DeadLetter) -> str:
    written = str(letter.fields.get("payload", "")) or services.raw_text(letter)
    return indented(written)[:SHORT]


def _course(kind: LetterKind) -> Course:
    """The last 24 hours, as a picture and in words."""
    first = timezone.now() - timedelta(hours=HOURS - 1)
    points = [
        (date_format(timezone.localtime(first + timedelta(hours=number)), "H:00"), float(count),
         number_format(count))
        for number, count in enumerate(kind.hours)
    ]  # fmt: skip
    total = sum(kind.hours)
    told = ngettext("%(count)d in 24 hours", "%(count)d in 24 hours", total) % {"count": total}
    return course(told, points)


KINDS = Page(
    group=Group.EVENTS,
    title=gettext_lazy("Dead letters by kind"),
    url="admin:letter-kinds",
    icon="stacks",
    position=5,
    views=(View("dead-letters/", kinds, "letter-kinds"),),
)
