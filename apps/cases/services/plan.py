"""What falls due in a case: deadlines, payments and reviews."""

from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone

from apps.cases import selectors
from apps.cases.errors import AlreadySettled, DateOutOfRange
from apps.cases.models import Approval, Case, Deadline, Payment, Review
from apps.cases.transitions import must_be_possible, reachable_from

Item = TypeVar("Item", Deadline, Payment, Review, Approval)

# Beyond it, somebody mistyped the year.
FURTHEST = timedelta(days=50 * 366)


def add_deadline(*, case: Case, now: datetime | None = None, **facts: Any) -> Deadline:
    """Say until when something must be done in a case."""
    return _add(Deadline(**facts), case, now)


def add_payment(*, case: Case, now: datetime | None = None, **facts: Any) -> Payment:
    """Say what has to be paid in a case, and when."""
    return _add(Payment(**facts), case, now)


def schedule_review(*, case: Case, now: datetime | None = None, **facts: Any) -> Review:
    """Say when a stakeholder looks at a case."""
    return _add(Review(**facts), case, now)


def request_approval(*, case: Case, now: datetime | None = None, **facts: Any) -> Approval:
    """Ask for a yes or no in time; of somebody, or of any manager."""
    selectors.must_be_able_to_act(facts.get("approver_id"))
    return _add(Approval(**facts), case, now)


@transaction.atomic
def revise(*, item: Item, now: datetime | None = None, **facts: Any) -> Item:
    """Change what is not settled yet. Another date, and its marks are said anew."""
    item = _locked_with_its_case(item)
    if not reachable_from(item):
        raise AlreadySettled
    selectors.must_be_able_to_act(facts.get("approver_id"))
    for name, value in facts.items():
        setattr(item, name, value)
    if {"due_at", "scheduled_at"} & set(facts):
        _must_lie_ahead(item, now)
    item.full_clean()
    item.save(update_fields=list(facts))
    return item


@transaction.atomic
def settle(*, item: Item, status: str, now: datetime | None = None, **facts: Any) -> Item:
    """Settle a deadline, a payment, a review or an approval for good."""
    item = _locked_with_its_case(item)
    must_be_possible(item, status)
    settled = {"status": status, "settled_at": now or timezone.now(), **facts}
    for name, value in settled.items():
        setattr(item, name, value)
    item.full_clean()
    item.save(update_fields=list(settled))
    return item


@transaction.atomic
def _add(item: Item, case: Case, now: datetime | None) -> Item:
    item.case = selectors.locked_open(case)
    item.tenant_id = item.case.tenant_id
    _must_lie_ahead(item, now)
    item.full_clean()
    item.save(force_insert=True)
    return item


def _locked_with_its_case(item: Item) -> Item:
    """First the item, then its case: everyone in this order, so that nobody waits in a circle."""
    item = selectors.locked(item)
    item.case = selectors.locked_open(item.case)
    return item


def _must_lie_ahead(item: Item, now: datetime | None) -> None:
    now = now or timezone.now()
    due = item.scheduled_at if isinstance(item, Review) else item.due_at
    if not now < due < now + FURTHEST:
        raise DateOutOfRange
