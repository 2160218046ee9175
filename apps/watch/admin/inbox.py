"""Which alerts the inbox shows: what is open, what is mine, what is about to escalate."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.watch.models import Alert, AlertWatcher, Escalation
from axiom.console.saved_views import BuiltIn
from axiom.permissions import role_of

OPEN = (Alert.Status.UNREAD, Alert.Status.ACKNOWLEDGED)
SETTLED = (Alert.Status.DISMISSED, Alert.Status.RESOLVED)

VIEWS = (
    BuiltIn(_("Open"), ""),
    BuiltIn(_("Mine"), "show=mine"),
    BuiltIn(_("Critical unread"), "severity__exact=CRITICAL&status__exact=unread"),
    BuiltIn(_("Escalating"), "show=escalating"),
    BuiltIn(_("Settled"), "show=settled"),
    BuiltIn(_("All"), "show=all"),
)


class Shown(admin.SimpleListFilter):
    """Open ones, unless somebody asks for others, for a status, or by name."""

    title, parameter_name = _("view"), "show"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("open", _("Open")),
            ("mine", _("Mine")),
            ("escalating", _("Escalating")),
            ("flapping", _("Flapping")),
            ("settled", _("Settled")),
            ("all", _("All")),
        ]

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        names_others = any(request.GET.get(name) for name in ("status__exact", "q"))
        self.unless_asked = "all" if names_others else "open"
        super().__init__(request, *args)

    def value(self) -> str:
        return super().value() or self.unless_asked

    def choices(self, changelist: Any) -> Iterator[Any]:
        # Without Django's own "All": nothing chosen means what is open.
        chosen = super().choices(changelist)
        next(chosen)
        yield from chosen

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        narrowed: dict[str, Callable[[QuerySet[Any]], QuerySet[Any]]] = {
            "open": lambda rows: rows.filter(status__in=OPEN),
            "mine": lambda rows: rows.filter(_mine(request), status__in=OPEN),
            "escalating": lambda rows: rows.filter(Exists(_waiting()), status=Alert.Status.UNREAD),
            "flapping": lambda rows: rows.filter(status__in=OPEN, flapping_since__isnull=False),
            "settled": lambda rows: rows.filter(status__in=SETTLED),
        }
        narrow = narrowed.get(self.value())
        return narrow(queryset) if narrow else queryset


def _mine(request: HttpRequest) -> Q:
    """Taken on by me, of a case I lead, or told to me or my role."""
    me, role = request.user.pk, role_of(request)
    told = AlertWatcher.across_tenants.filter(
        Q(subscription__user_id=me) | Q(subscription__role=role or "-"), alert=OuterRef("pk")
    )
    return Q(acknowledged_by_id=me) | Q(team_lead_id=me) | Q(Exists(told))


def _waiting() -> QuerySet[Escalation]:
    rows: QuerySet[Escalation] = Escalation.across_tenants.filter(
        alert=OuterRef("pk"), state=Escalation.State.WAITING
    )
    return rows


class Since(admin.SimpleListFilter):
    """Detected lately, counted from now: a saved view stays right tomorrow."""

    title, parameter_name = _("detected"), "since"
    spans = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7),
             "month": timedelta(days=30)}  # fmt: skip

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("hour", _("In the last hour")),
            ("day", _("In the last 24 hours")),
            ("week", _("In the last 7 days")),
            ("month", _("In the last 30 days")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        span = self.spans.get(self.value() or "")
        return queryset.filter(detected_at__gte=timezone.now() - span) if span else queryset
