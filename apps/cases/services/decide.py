"""Approvals: yes or no, by who may say it."""

from typing import TYPE_CHECKING

from django.db import transaction

from apps.cases import selectors
from apps.cases.errors import NotTheApprover
from apps.cases.models import Approval
from apps.cases.services.plan import settle

if TYPE_CHECKING:
    from apps.accounts.models import User


def approve(*, approval: Approval, by: "User", note: str = "") -> Approval:
    """Say yes. After the deadline it still counts, but the delay was told."""
    return _decide(approval, Approval.Status.APPROVED, by, note)


def reject(*, approval: Approval, by: "User", note: str = "") -> Approval:
    """Say no."""
    return _decide(approval, Approval.Status.REJECTED, by, note)


def cancel_approval(*, approval: Approval, by: "User", note: str = "") -> Approval:
    """It is no longer needed; whoever may act says so."""
    return settle(item=approval, status=Approval.Status.CANCELLED, settled_by=by, note=note)


@transaction.atomic
def _decide(approval: Approval, status: str, by: "User", note: str) -> Approval:
    approval = selectors.locked(approval)
    if not _may_decide(approval, by):
        raise NotTheApprover
    return settle(item=approval, status=status, settled_by=by, note=note)


def _may_decide(approval: Approval, by: "User") -> bool:
    if approval.approver_id is not None:
        return bool(approval.approver_id == by.pk)
    return selectors.leads(by)
