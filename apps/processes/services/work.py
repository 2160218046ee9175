"""What people and machines do with work items: one state machine, every step under the row's lock."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.accounts import selectors as accounts
from apps.events.outbox import publish, publish_many
from apps.processes import facts
from apps.processes.errors import (
    FourEyes,
    NeedsApproval,
    NotDelegable,
    NotYours,
    WrongState,
)
from apps.processes.events import WorkitemApproved, WorkitemCompleted, WorkitemSubmitted
from apps.processes.models import AgentFeedback, ProcessInstance, WorkItem
from apps.processes.services import items
from apps.processes.services.items import Kind, Status, about, trace
from apps.processes.services.learn import record_feedback
from axiom.roles import OPERATORS, Role, Roles
from axiom.tenancy import ForeignTenant, current_tenant_id

# Machines log in as one of these to hand in what they did.
WHO_SPEAKS_FOR_MACHINES: Roles = frozenset({Role.ENGINEER, Role.ADMIN})
WHO_APPROVES: Roles = frozenset({Role.MANAGER, Role.ADMIN})
EXTRACTION = "document.extraction"
"""The service of tasks that wait for a document of their case to be read."""


class Deed(StrEnum):
    """What one can do with a work item."""

    START = "start"
    COMPLETE = "complete"
    SUBMIT = "submit"
    APPROVE = "approve"
    REJECT = "reject"
    DELEGATE = "delegate"


class Doer(NamedTuple):
    """Who acts, and as what. Nobody at all when a machine of ours does."""

    user: Any
    role: str | None


def possible(item: WorkItem, by: Doer) -> set[Deed]:
    """What this person can do with it as it is: what the services below would not refuse."""
    deeds = set()
    if item.status in {Status.TODO, Status.IN_PROGRESS} and _may_do(item, by):
        deeds |= {Deed.SUBMIT}
        deeds |= set() if _needs_approval(item, None) else {Deed.COMPLETE}
        deeds |= {Deed.START} if item.status == Status.TODO else set()
    if item.status == Status.SUBMITTED and _may_judge(item, by) and not _handed_in(item, by):
        deeds |= {Deed.APPROVE, Deed.REJECT}
    if item.is_open and _may_delegate(item, by):
        deeds |= {Deed.DELEGATE}
    return deeds


@transaction.atomic
def start_work(*, item: WorkItem, by: Doer, now: datetime | None = None) -> WorkItem:
    """Take a work item into one's own hands."""
    item, now = _locked(item), now or timezone.now()
    _must_be(item, Status.TODO)
    _must_do(item, by)
    item.status, item.started_at = Status.IN_PROGRESS, now
    if not item.is_a_machines:
        item.assignee = by.user
    item.save()
    trace([item], Kind.STARTED, now=now)
    return item


@transaction.atomic
def submit_work(
    *,
    item: WorkItem,
    by: Doer,
    result: dict[str, Any],
    confidence: float | None = None,
    now: datetime | None = None,
) -> WorkItem:
    """Hand in a result; unless it needs approval, the work is done."""
    item, now = _locked(item), now or timezone.now()
    _must_be(item, Status.TODO, Status.IN_PROGRESS)
    _must_do(item, by)
    return _hand_in(item, by, result, confidence, now)


@transaction.atomic
def complete_work(
    *,
    item: WorkItem,
    by: Doer,
    result: dict[str, Any],
    confidence: float | None = None,
    now: datetime | None = None,
) -> WorkItem:
    """Finish a work item whose result nobody has to approve."""
    item, now = _locked(item), now or timezone.now()
    _must_be(item, Status.TODO, Status.IN_PROGRESS)
    _must_do(item, by)
    if _needs_approval(item, confidence):
        raise NeedsApproval
    _keep_result(item, by, result, confidence, now)
    return _finish(item, now)


@transaction.atomic
def approve_work(
    *,
    item: WorkItem,
    by: Doer,
    result: dict[str, Any] | None = None,
    comment: str = "",
    lesson: str = "",
    now: datetime | None = None,
) -> WorkItem:
    """Let a result count, as it is or corrected."""
    item, now = _locked(item), now or timezone.now()
    _must_be(item, Status.SUBMITTED)
    _must_judge(item, by)
    corrected = result is not None and result != item.result
    if result is not None:
        item.result = facts.checked(result)
    trace([item], Kind.APPROVED, note=comment, now=now)
    publish(
        WorkitemApproved(
            **about(item, item.instance),
            approved_by=by.user.email,
            corrected=corrected,
            comment=comment,
        )
    )
    verdict = AgentFeedback.Verdict.CORRECTED if corrected else AgentFeedback.Verdict.APPROVED
    _learn(item, by, verdict, comment, lesson)
    return _finish(item, now)


@transaction.atomic
def reject_work(
    *,
    item: WorkItem,
    by: Doer,
    reason: str,
    lesson: str = "",
    do_it_myself: bool = False,
    now: datetime | None = None,
) -> WorkItem:
    """Refuse a result. The work is to be done again, by the same or by who refused it."""
    item, now = _locked(item), now or timezone.now()
    _must_be(item, Status.SUBMITTED)
    _must_judge(item, by)
    item.status, item.ended_at = Status.REJECTED, now
    item.save()
    trace([item], Kind.REJECTED, note=reason, now=now)
    _learn(item, by, AgentFeedback.Verdict.REJECTED, reason, lesson)
    once_more = items.again(item, now=now, **(_by_hand(by) if do_it_myself else {}))
    publish_many(items.create(item.instance, [once_more], now=now))
    return item


@transaction.atomic
def delegate_work(
    *, item: WorkItem, by: Doer, to: UUID, note: str = "", now: datetime | None = None
) -> WorkItem:
    """Give work, or the approval of a machine's, to somebody else."""
    item, now = _locked(item), now or timezone.now()
    _must_be(item, *WorkItem.OPEN)
    if not _may_delegate(item, by):
        raise NotYours
    item.assignee = _able(to)
    item.save(update_fields=["assignee"])
    trace([item], Kind.DELEGATED, note=f"{item.assignee.email} {note}".strip(), now=now)
    return item


@transaction.atomic
def hand_in_document(
    *,
    case_id: UUID,
    workitem_id: UUID | None,
    fields: Mapping[str, Any],
    confidence: float,
    now: datetime | None = None,
) -> WorkItem | None:
    """A document was read: that is the result of the work that waits for it, if any does."""
    item = _waits_for_document(case_id, workitem_id)
    if item is None or item.status not in {Status.TODO, Status.IN_PROGRESS}:
        return None
    nobody = Doer(None, None)
    return _hand_in(item, nobody, dict(fields), confidence, now or timezone.now())


def _waits_for_document(case_id: UUID, workitem_id: UUID | None) -> WorkItem | None:
    waiting = WorkItem.objects.filter(
        service=EXTRACTION,
        status__in=(Status.TODO, Status.IN_PROGRESS),
        instance__case_id=case_id,
        instance__status=ProcessInstance.Status.RUNNING,
    )
    if workitem_id:
        waiting = waiting.filter(pk=workitem_id)
    rows = waiting.select_related("instance").select_for_update(of=("self",), no_key=True)
    found: WorkItem | None = rows.order_by("created_at", "id").first()
    return found


def _locked(item: WorkItem) -> WorkItem:
    """The row as it is now. Rows that point to it may still be written (no_key)."""
    rows = WorkItem.objects.select_related("instance", "assignee")
    fresh: WorkItem | None = (
        rows.select_for_update(of=("self",), no_key=True).filter(pk=item.pk).first()
    )
    if fresh is None:
        raise ForeignTenant
    return fresh


def _must_be(item: WorkItem, *statuses: str) -> None:
    if item.status not in statuses:
        raise WrongState(state=item.status)


def _must_do(item: WorkItem, by: Doer) -> None:
    if not _may_do(item, by):
        raise NotYours


def _may_do(item: WorkItem, by: Doer) -> bool:
    if item.is_a_machines:
        return by.role in WHO_SPEAKS_FOR_MACHINES
    if item.assignee_id:
        return bool(item.assignee_id == by.user.pk)
    return item.role in {"", by.role}


def _must_judge(item: WorkItem, by: Doer) -> None:
    if not _may_judge(item, by):
        raise NotYours
    if _handed_in(item, by):
        raise FourEyes


def _handed_in(item: WorkItem, by: Doer) -> bool:
    return bool(item.handed_in_by_id == by.user.pk)


def _may_judge(item: WorkItem, by: Doer) -> bool:
    if item.is_a_machines and item.assignee_id:
        return bool(item.assignee_id == by.user.pk)
    if item.approver_role:
        return by.role == item.approver_role
    return by.role in WHO_APPROVES


def _may_delegate(item: WorkItem, by: Doer) -> bool:
    if by.role in WHO_APPROVES:
        return True
    return _may_judge(item, by) if item.status == Status.SUBMITTED else _may_do(item, by)


def _needs_approval(item: WorkItem, confidence: float | None) -> bool:
    if item.always_approved:
        return True
    return item.is_a_machines and (confidence or 0) < (item.threshold or 0)


def _hand_in(
    item: WorkItem, by: Doer, result: dict[str, Any], confidence: float | None, now: datetime
) -> WorkItem:
    waits = _needs_approval(item, confidence)
    _keep_result(item, by, result, confidence, now)
    item.status = Status.SUBMITTED
    item.save()
    trace([item], Kind.SUBMITTED, now=now)
    publish(
        WorkitemSubmitted(
            **about(item, item.instance),
            result=item.result,
            submitted_by=item.submitted_by,
            confidence=item.confidence,
            needs_approval=waits,
        )
    )
    return item if waits else _finish(item, now)


def _keep_result(
    item: WorkItem, by: Doer, result: dict[str, Any], confidence: float | None, now: datetime
) -> None:
    item.result, item.confidence = facts.checked(result), confidence
    item.submitted_at, item.submitted_by, item.handed_in_by = now, _name(item, by), by.user
    if not item.is_a_machines:
        item.assignee = by.user


def _name(item: WorkItem, by: Doer) -> str:
    if item.is_a_machines:
        return f"{item.performer}:{item.agent or item.service or item.activity_id}"
    return str(by.user.email)


def _finish(item: WorkItem, now: datetime) -> WorkItem:
    """The work is done. The process moves on when the engine hears of it."""
    item.status, item.ended_at = Status.DONE, now
    item.save()
    trace([item], Kind.COMPLETED, now=now)
    publish(
        WorkitemCompleted(
            **about(item, item.instance),
            result=item.result,
            completed_by=item.submitted_by,
            confidence=item.confidence,
        )
    )
    return item


def _learn(item: WorkItem, by: Doer, verdict: str, text: str, lesson: str) -> None:
    if item.performer == WorkItem.Performer.AGENT:
        record_feedback(item, by=by.user, verdict=verdict, text=text, lesson=lesson)


def _by_hand(by: Doer) -> dict[str, Any]:
    return {"performer": WorkItem.Performer.PERSON, "assignee": by.user, "agent": "", "service": ""}


def who_can_take_over() -> Any:
    """The members to whom work can be given."""
    return accounts.members_of(current_tenant_id()).filter(user__is_active=True, role__in=OPERATORS)


def _able(user_id: UUID) -> Any:
    found = who_can_take_over().filter(user_id=user_id).first()
    if found is None:
        raise NotDelegable
    return found.user
