"""The same act on many alerts: each that allows it, and the reason for each that does not."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from axiom.errors import AxiomError
from axiom.tenancy import ForeignTenant

from ..models import Alert

MOST = 200


@dataclass(frozen=True, slots=True)
class Outcome:
    done: list[Alert] = field(default_factory=list)
    refused: list[tuple[UUID, AxiomError]] = field(default_factory=list)


@transaction.atomic
def settle_many(act: Callable[..., Alert], alert_ids: Iterable[UUID], **given: Any) -> Outcome:
    """Call a service for each alert of the tenant, all in one transaction."""
    outcome, wanted = Outcome(), sorted(set(alert_ids))
    # All at once and in the order that everybody takes them in: nobody deadlocks with a storm.
    rows = Alert.objects.filter(pk__in=wanted).order_by("pk").select_for_update(no_key=True)
    found = {alert.pk: alert for alert in rows}
    for alert_id in wanted:
        try:
            outcome.done.append(_acted(act, found.get(alert_id), given))
        except AxiomError as error:
            outcome.refused.append((alert_id, error))
    return outcome


def _acted(act: Callable[..., Alert], alert: Alert | None, given: dict[str, Any]) -> Alert:
    if alert is None:
        raise ForeignTenant
    with transaction.atomic():
        return act(alert=alert, **given)
