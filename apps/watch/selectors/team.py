"""Who is told what is known of an alert, when somebody tells the team."""

from uuid import UUID

from apps.accounts import selectors as accounts
from apps.cases import selectors as cases

from ..models import Alert, AlertHistory, AlertWatcher
from .recipients import recipients_of_each


def team_of(alert: Alert) -> list[UUID]:
    """Who works on its case and who watches it; if no rule does, those who look after Axiom.

    Nobody who left, and nobody who does not want to be told just now, unless it is their case.
    """
    on_its_case = cases.people_of(alert.case_id) if alert.case_id else set()
    return sorted((on_its_case | _watching(alert)) & active_people(alert))


def _watching(alert: Alert) -> set[UUID]:
    rows = AlertWatcher.across_tenants.filter(alert=alert)
    watching: list[UUID | None] = list(rows.values_list("subscription_id", flat=True))
    found = recipients_of_each([(alert.pk, subscription) for subscription in watching or [None]])
    return {recipient.user_id for each in found.values() for recipient in each}


def active_people(alert: Alert) -> set[UUID]:
    """Everybody who works where the alert is."""
    assert alert.tenant_id
    return {user_id for _tenant, user_id, _role in accounts.active_roles([alert.tenant_id])}


def word_to_team(alert_id: UUID, number: int) -> AlertHistory | None:
    """What the team was told of an alert for the first, second, ... time, and by whom."""
    words = AlertHistory.objects.filter(
        alert_id=alert_id, kind=AlertHistory.Kind.TEAM_NOTIFIED, facts__number=number
    )
    return words.first()
