"""A case from its opening to its end."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.cases import selectors
from apps.cases.errors import CaseAlreadyClosed, CaseNotClosed
from apps.cases.events import AboutCase, CaseAssigned, CaseCreated, CaseStatusChanged
from apps.cases.models import Case, CaseMember, CaseStep
from apps.cases.services.register_data import follow_issues
from apps.cases.transitions import must_be_possible
from apps.events.context import current
from apps.events.outbox import publish

if TYPE_CHECKING:
    from apps.accounts.models import User

Kind = CaseStep.Kind
UNCHANGED: Any = object()
# Of an event, what a step keeps of it.
KEPT = {
    "old_status", "new_status", "manager_id", "old_manager_id", "members_added", "members_removed",
}  # fmt: skip


@transaction.atomic
def open_case(
    *,
    title: str,
    opened_by: "User | None" = None,
    manager_id: UUID | None = None,
    member_ids: Iterable[UUID] = (),
    **facts: Any,
) -> Case:
    """Open a case in the current tenant and say so."""
    selectors.must_be_able_to_act(manager_id)
    case = Case(title=title, opened_by=opened_by, manager_id=manager_id, **facts)
    case.full_clean()
    case.save(force_insert=True)
    added = _set_members(case, member_ids)[0]
    _tell(
        case,
        Kind.OPENED,
        CaseCreated(
            case_id=case.pk,
            title=case.title,
            kind=case.kind,
            status=case.status,
            manager_id=case.manager_id,
        ),
    )
    if added:
        assigned = CaseAssigned(case_id=case.pk, manager_id=case.manager_id, members_added=added)
        _tell(case, Kind.ASSIGNED, assigned)
    return case


@transaction.atomic
def revise_case(*, case: Case, **facts: Any) -> Case:
    """Change what a case is called and what is known about it."""
    case = selectors.locked(case)
    before = selectors.issues_of(case)
    for name, value in facts.items():
        setattr(case, name, value)
    case.full_clean()
    case.save(update_fields=list(facts))
    if "issue_threshold" in facts:
        follow_issues(case, before)
    return case


@transaction.atomic
def assign(
    *,
    case: Case,
    manager_id: UUID | None = UNCHANGED,
    member_ids: Iterable[UUID] = UNCHANGED,
) -> Case:
    """Give a case another manager, other members, or both; say so if anything changed."""
    case = selectors.locked_open(case)
    before = case.manager_id
    if manager_id is not UNCHANGED:
        _set_manager(case, manager_id)
    added, removed = ((), ()) if member_ids is UNCHANGED else _set_members(case, member_ids)
    if case.manager_id != before or added or removed:
        _tell(
            case,
            Kind.ASSIGNED,
            CaseAssigned(
                case_id=case.pk,
                manager_id=case.manager_id,
                old_manager_id=before,
                members_added=added,
                members_removed=removed,
            ),
        )
    return case


@transaction.atomic
def change_status(*, case: Case, status: str, reason: str = "") -> Case:
    """Move a case to another status, if the table of transitions has it, and say so."""
    case = selectors.locked(case)
    must_be_possible(case, status)
    before, case.status = case.status, Case.Status(status)
    case.closed_at = timezone.now() if case.is_closed else None
    case.save(update_fields=["status", "closed_at"])
    changed = CaseStatusChanged(
        case_id=case.pk, old_status=before, new_status=status, reason=reason
    )
    _tell(case, Kind.MOVED, changed, note=reason)
    return case


@transaction.atomic
def close_case(*, case: Case, reason: str = "") -> Case:
    """Close a case; what still falls due in it is no longer watched."""
    if selectors.locked(case).is_closed:
        raise CaseAlreadyClosed
    return change_status(case=case, status=Case.Status.CLOSED, reason=reason)


@transaction.atomic
def reopen_case(*, case: Case, reason: str = "") -> Case:
    """Open a closed case again, with all that it had."""
    if not selectors.locked(case).is_closed:
        raise CaseNotClosed
    return change_status(case=case, status=Case.Status.OPEN, reason=reason)


def _tell(case: Case, kind: str, event: AboutCase, note: str = "") -> None:
    """Publish what became of the case, and keep it: an event is forgotten after some days."""
    facts = event.model_dump(mode="json", include=KEPT)
    step = CaseStep(case=case, tenant_id=case.tenant_id, kind=kind, facts=facts, note=note)
    step.actor = current().actor
    step.save(force_insert=True)
    publish(event)


def _set_manager(case: Case, manager_id: UUID | None) -> None:
    selectors.must_be_able_to_act(manager_id)
    case.manager_id = manager_id
    case.save(update_fields=["manager"])


def _set_members(
    case: Case, member_ids: Iterable[UUID]
) -> tuple[tuple[UUID, ...], tuple[UUID, ...]]:
    """Who was added and who was removed."""
    wanted = set(member_ids)
    there = set(CaseMember.objects.filter(case=case).values_list("user_id", flat=True))
    added, removed = sorted(wanted - there), sorted(there - wanted)
    selectors.must_be_colleagues(added)
    CaseMember.objects.bulk_create(CaseMember(case=case, user_id=user_id) for user_id in added)
    CaseMember.objects.filter(case=case, user_id__in=removed).delete()
    return tuple(added), tuple(removed)
