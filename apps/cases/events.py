"""What cases say: what people do with them, and what the clockwork finds in them."""

from typing import Literal
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop
from pydantic import Field

from apps.events.catalog import Event
from apps.events.facts import Amount, Count, Currency, Moment, Share
from apps.events.keys import Stream

_CASE = "018f2d1c-0000-7000-8000-00000000ca5e"
_ALICE = "018f2d1c-0000-7000-8000-0000000000a1"
_BOB = "018f2d1c-0000-7000-8000-0000000000b0"


class AboutCase(Event):
    case_id: UUID


class CaseCreated(
    AboutCase,
    type="CASE_CREATED",
    aggregate="case",
    key="case_id",
    label=_("Case opened"),
    aliases=("case.created",),
):
    """A case was opened."""

    title: str
    kind: str = ""
    status: str = ""
    manager_id: UUID | None = None

    example = {
        "case_id": _CASE,
        "title": "한빛섬유 회생",
        "kind": "rehabilitation",
        "status": "open",
        "manager_id": _ALICE,
    }


class CaseStatusChanged(
    AboutCase,
    type="CASE_STATUS_CHANGED",
    aggregate="case",
    key="case_id",
    label=_("Case status changed"),
    aliases=("case.status_changed",),
):
    """A case moved from one status to another; closing and reopening are such moves."""

    old_status: str
    new_status: str
    reason: str = ""

    example = {
        "case_id": _CASE,
        "old_status": "open",
        "new_status": "in_review",
        "reason": "All claims are filed.",
    }


class CaseAssigned(
    AboutCase,
    type="CASE_ASSIGNED",
    aggregate="case",
    key="case_id",
    label=_("Case assigned"),
    aliases=("case.assigned",),
):
    """A case got another manager, or its members changed."""

    manager_id: UUID | None
    old_manager_id: UUID | None = None
    members_added: tuple[UUID, ...] = ()
    members_removed: tuple[UUID, ...] = ()

    example = {
        "case_id": _CASE,
        "manager_id": _ALICE,
        "old_manager_id": None,
        "members_added": [_BOB],
        "members_removed": [],
    }


class CommentAdded(
    AboutCase,
    type="COMMENT_ADDED",
    aggregate="case",
    key="case_id",
    label=_("Comment added"),
    aliases=("comment.added",),
):
    """Somebody commented on a case."""

    comment_id: UUID
    author_id: UUID
    excerpt: str = Field(max_length=200, description=noop("The beginning of the comment."))

    example = {
        "case_id": _CASE,
        "comment_id": "018f2d1c-0000-7000-8000-00000000c001",
        "author_id": _BOB,
        "excerpt": "채권자 목록을 확인해 주세요.",
    }


class CommentDeleted(
    AboutCase,
    type="COMMENT_DELETED",
    aggregate="case",
    key="case_id",
    label=_("Comment deleted"),
    aliases=("comment.deleted",),
):
    """A comment on a case was taken back."""

    comment_id: UUID
    author_id: UUID

    example = {
        "case_id": _CASE,
        "comment_id": "018f2d1c-0000-7000-8000-00000000c001",
        "author_id": _BOB,
    }


class DataRegistered(
    AboutCase,
    type="DATA_REGISTERED",
    stream=Stream.WATCHES,
    aggregate="dataset",
    key="dataset_id",
    label=_("Data registered"),
    aliases=("watch.data_registered",),
):
    """New data was registered in a case."""

    dataset_id: UUID
    name: str
    records_count: Count
    issues_count: Count = Field(0, description=noop("How many of the records have an issue."))

    example = {
        "case_id": _CASE,
        "dataset_id": "018f2d1c-0000-7000-8000-00000000da7a",
        "name": "creditors.csv",
        "records_count": 1520,
        "issues_count": 38,
    }


# What follows is found by periodic scans. The aggregate is the deadline, the payment or the
# approval itself, not its case: two deadlines of one case are two alerts.


class DeadlineApproaching(
    AboutCase,
    type="DEADLINE_APPROACHING",
    stream=Stream.WATCHES,
    aggregate="deadline",
    key="deadline_id",
    label=_("Deadline approaching"),
    aliases=("watch.deadline_approaching",),
):
    """A deadline is seven days, three days or one day away."""

    deadline_id: UUID
    title: str
    deadline: Moment = Field(description=noop("When it is too late."))
    days_before: Literal[7, 3, 1] = Field(description=noop("Which of the marks was reached."))

    example = {
        "case_id": _CASE,
        "deadline_id": "018f2d1c-0000-7000-8000-00000000dead",
        "title": "회생계획안 제출",
        "deadline": "2026-02-27T09:00:00Z",
        "days_before": 7,
    }


class PaymentDue(
    AboutCase,
    type="PAYMENT_DUE",
    stream=Stream.WATCHES,
    aggregate="payment",
    key="payment_id",
    label=_("Payment due"),
    aliases=("watch.payment_due",),
):
    """A payment has to be made now."""

    payment_id: UUID
    title: str
    payee: str = ""
    amount: Amount
    currency: Currency
    deadline: Moment = Field(description=noop("When it is too late."))

    example = {
        "case_id": _CASE,
        "payment_id": "018f2d1c-0000-7000-8000-0000000009a7",
        "title": "2차 변제금",
        "payee": "우리은행",
        "amount": 12500000,
        "currency": "KRW",
        "deadline": "2026-02-25T09:00:00Z",
    }


class ReviewScheduled(
    AboutCase,
    type="REVIEW_SCHEDULED",
    stream=Stream.WATCHES,
    aggregate="review",
    key="review_id",
    label=_("Stakeholder review scheduled"),
    aliases=("watch.review_scheduled",),
):
    """A review by a stakeholder is coming up."""

    review_id: UUID
    title: str
    stakeholder: str
    scheduled_at: Moment

    example = {
        "case_id": _CASE,
        "review_id": "018f2d1c-0000-7000-8000-000000004e10",
        "title": "관계인집회",
        "stakeholder": "서울회생법원",
        "scheduled_at": "2026-03-03T01:00:00Z",
    }


class ApprovalDeadlineMissed(
    AboutCase,
    type="APPROVAL_DEADLINE_MISSED",
    stream=Stream.WATCHES,
    aggregate="approval",
    key="approval_id",
    label=_("Approval deadline missed"),
    aliases=("watch.approval_deadline_missed",),
):
    """An approval was not given in time."""

    approval_id: UUID
    title: str
    deadline: Moment = Field(description=noop("When it was too late."))
    approver_id: UUID | None = None

    example = {
        "case_id": _CASE,
        "approval_id": "018f2d1c-0000-7000-8000-00000000a990",
        "title": "자산 매각 승인",
        "deadline": "2026-02-20T09:00:00Z",
        "approver_id": _ALICE,
    }


class CashLow(
    AboutCase,
    type="CASH_LOW",
    stream=Stream.WATCHES,
    aggregate="case",
    key="case_id",
    label=_("Cash running low"),
    aliases=("watch.cash_low",),
):
    """The cash of a case fell below its threshold."""

    cash_balance: Amount
    threshold: Amount
    currency: Currency

    example = {
        "case_id": _CASE,
        "cash_balance": 8200000,
        "threshold": 10000000,
        "currency": "KRW",
    }


class IssueRatioHigh(
    AboutCase,
    type="ISSUE_RATIO_HIGH",
    stream=Stream.WATCHES,
    aggregate="case",
    key="case_id",
    label=_("Too much data with issues"),
    aliases=("watch.issue_ratio_high",),
):
    """The share of a case's registered data that has issues rose above its threshold."""

    issue_ratio: Share
    threshold: Share
    issues_count: Count
    records_count: Count

    example = {
        "case_id": _CASE,
        "issue_ratio": 0.25,
        "threshold": 0.2,
        "issues_count": 380,
        "records_count": 1520,
    }
