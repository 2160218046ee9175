"""From which status to which: every state machine of this app, in one table."""

from collections.abc import Mapping
from typing import Any

from apps.cases.errors import ImpossibleTransition
from apps.cases.models import Approval, Case, Deadline, Payment, Review

Table = Mapping[str, frozenset[str]]

_CASE = Case.Status
TRANSITIONS: dict[type, Table] = {
    Case: {
        _CASE.OPEN: frozenset({_CASE.IN_PROGRESS, _CASE.IN_REVIEW, _CASE.ON_HOLD, _CASE.CLOSED}),
        _CASE.IN_PROGRESS: frozenset({_CASE.IN_REVIEW, _CASE.ON_HOLD, _CASE.CLOSED}),
        _CASE.IN_REVIEW: frozenset({_CASE.IN_PROGRESS, _CASE.ON_HOLD, _CASE.CLOSED}),
        _CASE.ON_HOLD: frozenset({_CASE.IN_PROGRESS, _CASE.CLOSED}),
        _CASE.CLOSED: frozenset({_CASE.OPEN}),
    },
    Deadline: {
        Deadline.Status.PENDING: frozenset({Deadline.Status.MET, Deadline.Status.CANCELLED}),
    },
    Payment: {
        Payment.Status.PENDING: frozenset({Payment.Status.PAID, Payment.Status.CANCELLED}),
    },
    Review: {
        Review.Status.SCHEDULED: frozenset({Review.Status.HELD, Review.Status.CANCELLED}),
    },
    Approval: {
        Approval.Status.PENDING: frozenset(
            {Approval.Status.APPROVED, Approval.Status.REJECTED, Approval.Status.CANCELLED}
        ),
    },
}


def reachable_from(row: Any) -> frozenset[str]:
    """The statuses that this row may take next."""
    return TRANSITIONS[type(row)].get(row.status, frozenset())


def must_be_possible(row: Any, status: str) -> None:
    """Refuse what the table does not have, and say what it has."""
    allowed = reachable_from(row)
    if status not in allowed:
        raise ImpossibleTransition(status_now=row.status, allowed=sorted(allowed))
