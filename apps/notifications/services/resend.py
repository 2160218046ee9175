"""What failed is sent again when somebody asks for it; what was forgotten, anyhow."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.events.context import current
from apps.notifications.models import Delivery, DeliveryAttempt
from axiom.errors import AxiomError
from axiom.tenancy import ForeignTenant

from .nudge import nudge

State = Delivery.State


class DeliveryNotFailed(AxiomError):
    """Only what failed or was not sent can be sent again."""

    code, status = "delivery_not_failed", 409


@transaction.atomic
def resend(*, delivery: Delivery) -> Delivery:
    """Send it as if it were new; who asked for it is among its attempts."""
    row: Delivery | None
    row = Delivery.objects.select_for_update(of=("self",)).filter(pk=delivery.pk).first()
    if row is None:
        raise ForeignTenant
    if not may_be_resent(row):
        raise DeliveryNotFailed
    row.state, row.reason, row.settled_at, row.due_at = State.WAITING, "", None, timezone.now()
    row.attempts = row.lost = 0
    row.save()
    DeliveryAttempt.objects.create(
        delivery=row, outcome=DeliveryAttempt.Outcome.ASKED, said=current().actor,
        began_at=row.due_at,
    )  # fmt: skip
    nudge([row.channel])
    return row


def may_be_resent(row: Delivery) -> bool:
    """What arrived is not sent again, and an inbox has what it has."""
    return row.state in (State.FAILED, State.SKIPPED) and row.channel != "in_app"


def sweep(*, now: datetime) -> list[str]:
    """Wake the channels that have something due: tasks get lost, rows do not."""
    _unbundle_late()
    rows = Delivery.across_tenants.filter(state__in=[State.WAITING, State.SENDING], due_at__lte=now)
    channels = list(rows.order_by().values_list("channel", flat=True).distinct())
    nudge(channels)
    return channels


def _unbundle_late() -> None:
    """What came to a digest just after it was sent goes out by itself."""
    late = Delivery.across_tenants.filter(state=State.BUNDLED, bundle__state=State.SENT)
    late.update(state=State.WAITING, due_at=timezone.now(), bundle=None)


def purge_deliveries(*, now: datetime | None = None) -> int:
    """Forget what ended long ago, with its attempts."""
    before = (now or timezone.now()) - timedelta(days=settings.DELIVERY_DAYS)
    old = Delivery.across_tenants.filter(created_at__lt=before, settled_at__isnull=False)
    return old.delete()[0]
