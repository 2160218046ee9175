"""The cash of a case, and the moment when it becomes too little."""

from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from apps.cases import selectors
from apps.cases.errors import CurrencyDiffers
from apps.cases.events import CashLow
from apps.cases.marks import follow_level
from apps.cases.models import Case, CashPosition


@transaction.atomic
def record_cash(
    *,
    case: Case,
    balance: Decimal,
    threshold: Decimal | None = None,
    currency: str | None = None,
    now: datetime | None = None,
) -> CashPosition:
    """Record how much cash a case has. When it falls below its threshold, say so."""
    case, now = selectors.locked_open(case), now or timezone.now()
    position = CashPosition.objects.filter(case=case).first() or CashPosition(
        case=case, currency=currency or "KRW", balance=0
    )
    was_low = position.is_low and not position._state.adding
    if currency and currency != position.currency:
        raise CurrencyDiffers
    position.balance, position.updated_at = balance, now
    position.threshold = position.threshold if threshold is None else threshold
    position.full_clean()
    position.save()
    follow_level(cash_low(position), was=was_low, now_is=position.is_low, at=now)
    return position


def cash_low(position: CashPosition) -> CashLow:
    return CashLow(
        case_id=position.case_id,
        cash_balance=position.balance,
        threshold=position.threshold,
        currency=position.currency,
    )
