"""One alert's page: why it fired, what was done, what comes, and what one can do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.accounts import selectors as accounts
from apps.cases import selectors as cases
from apps.events.context import acting
from apps.watch import selectors, services, texts
from apps.watch.models import Alert, AlertEvent, AlertHistory, Channel, Escalation, Subscription
from apps.watch.models.escalations import Audience
from apps.watch.rules import is_windowed, parse
from apps.watch.rules.explaining import Told
from apps.watch.rules.wording import sentence
from apps.watch.selectors.alerts import PLANNED
from axiom.console.row_panels import panels_of
from axiom.errors import AxiomError

MOST_EVENTS, MOST_RULES = 20, 10


@dataclass(frozen=True)
class Why:
    """A rule that made the alert, and what it saw."""

    subscription: Subscription
    muted: bool
    words: str = ""
    tree: Told | None = None
    fires: bool = False
    missing: str = ""
    """Why there is no tree."""
    is_newer: bool = False
    """The rule was changed after it matched: this tells of the rule as it is now."""
    later: str = ""
    """Where the tree is to be had: a rule over many events takes its time."""


def told(request: HttpRequest, alert: Alert, *, may_act: bool) -> dict[str, Any]:
    """Everything the page shows. Who looks at all tenants at once sees it as its tenant does."""
    panels = panels_of(request, alert)
    with acting(tenant_id=alert.tenant_id):
        return {
            "alert": alert,
            "facts": list(_facts(alert)),
            "why": list(_why(alert)),
            "events": [_event(row) for row in selectors.events_of(alert)[:MOST_EVENTS]],
            "more_events": max(0, alert.count - MOST_EVENTS),
            "history": [_line(row) for row in selectors.history_of(alert)],
            "stages": _stages(alert),
            "panels": panels,
            "may_act": may_act,
        }


def _facts(alert: Alert) -> Iterator[tuple[str, Any, str]]:
    """What it is called, what it is, and where that leads."""
    case = cases.find_case(alert.case_id) if alert.case_id else None
    yield _("case"), case or alert.case_id, _link("cases_case_change", case.pk) if case else ""
    yield _("event type"), texts.label(alert.event_type), ""
    yield _("thing"), f"{alert.aggregate_type} {alert.aggregate_id}", journey(alert.aggregate_id)
    yield _("detected"), alert.detected_at, ""
    yield _("last seen"), alert.last_seen_at, ""
    yield _("times seen"), alert.count, ""
    yield _("acknowledged by"), alert.acknowledged_by, ""
    yield _("team of"), alert.team_lead, ""
    yield _("team notified"), alert.team_notified_at, ""
    yield _("root cause"), alert.root_cause, ""
    yield _("settled by"), alert.settled_by, ""
    yield _("times it recurred"), alert.reopened or None, ""
    yield _("flapping since"), alert.flapping_since, ""


def _link(name: str, *args: Any) -> str:
    return reverse(f"admin:{name}", args=args)


def journey(name: Any) -> str:
    return f"{reverse('admin:journey')}?id={name}"


def _why(alert: Alert) -> Iterator[Why]:
    for watcher in selectors.watching(alert.pk)[:MOST_RULES]:
        yield why(alert, watcher.subscription, muted=watcher.muted)


def why(alert: Alert, subscription: Subscription, *, muted: bool, now: bool = False) -> Why:
    """One rule: at once where it looks at one event, later or `now` where it looks at many."""
    cause = _cause(alert, subscription.pk)
    found: dict[str, Any] = {"subscription": subscription, "muted": muted}
    if cause is None or cause.event_id is None:
        return Why(**found, missing=_("The event is not known any more."))
    found["is_newer"] = subscription.rule_since > cause.occurred_at
    try:
        rule = parse(subscription.rule)
        found["words"] = sentence(rule)
        if is_windowed(rule) and not now:
            return Why(**found, later=_link("watch_alert_why", alert.pk, subscription.pk))
        told = services.explain_subscription(subscription=subscription, event_id=cause.event_id)
    except AxiomError as error:
        return Why(**found, missing=_(error.message))
    return Why(**found, tree=told.tree, fires=told.fires)


def _cause(alert: Alert, subscription_id: UUID) -> AlertEvent | None:
    """What made the alert for this rule: the event the alert tells of, or the first of the rule's."""
    mine = selectors.events_of(alert).filter(subscription_id=subscription_id)
    return mine.filter(event_id=alert.event_id).first() or mine.first()


def _event(row: AlertEvent) -> dict[str, Any]:
    return {
        "at": row.occurred_at,
        "event_id": row.event_id,
        "journey": journey(row.event_id) if row.event_id else "",
        "seen": list(_seen(row.facts)),
        "members": [(each, journey(each)) for each in row.facts.get("events", [])[:MOST_EVENTS]],
    }


def _seen(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The values that the rule saw, or whatever it remembered of them."""
    values = facts.get("values")
    shown = values if isinstance(values, dict) else facts
    for name, value in shown.items():
        if name not in ("events", "rule") and not isinstance(value, dict | list) and value != "":
            yield name, texts.shown(value)


def _line(row: AlertHistory) -> dict[str, Any]:
    return {
        "at": row.at, "kind": row.get_kind_display(), "actor": row.actor, "note": row.note,
        "details": ", ".join(f"{name}: {texts.shown(value)}" for name, value in row.facts.items()
                             if name != "root_cause" or value != row.note),
    }  # fmt: skip


def _stages(alert: Alert) -> list[dict[str, Any]]:
    stages = selectors.stages_of(alert)
    wanted = {person for stage in stages for person in stage.recipient_ids}
    names = {user.pk: str(user) for user in accounts.users_by_id(wanted)}
    states = {**dict(Escalation.State.choices), PLANNED: _("Planned")}
    return [
        {
            "level": stage.level, "state": stage.state, "label": states[stage.state],
            "at": stage.settled_at if stage.state == Escalation.State.SENT else stage.due_at,
            "audience": Audience(stage.audience).label,
            "people": ", ".join(names.get(each, str(each)) for each in stage.recipient_ids),
            "channels": channels(stage.channels),
        }
        for stage in stages
    ]  # fmt: skip


def channels(names: list[str]) -> str:
    return ", ".join(str(Channel(name).label) for name in names)
