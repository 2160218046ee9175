"""What is known about cases. Everything here is of the current tenant."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import Count, Min, QuerySet, Sum

from apps.accounts import selectors as accounts
from apps.cases.errors import CaseIsClosed, ManagerOnlyWatches, NotAColleague
from apps.cases.models import (
    Approval,
    Case,
    CaseMember,
    CashPosition,
    Dataset,
    Deadline,
    Payment,
    Review,
)
from axiom.console.timeline import Timeline
from axiom.roles import OPERATORS, Role
from axiom.tenancy import ForeignTenant, current_tenant_id

if TYPE_CHECKING:
    from apps.accounts.models import User

timeline = Timeline()
"""What happened in a case. Apps above add what they know of it (axiom/console/timeline.py)."""


def cases() -> QuerySet[Case]:
    """The cases of the current tenant."""
    return Case.objects.all()


def cases_for_list() -> QuerySet[Case]:
    """The same with what a list shows, and nothing else."""
    shown = ("reference", "title", "kind", "status", "opened_at", "closed_at", "comment_count")
    return (
        cases()
        .select_related("manager")
        .only("tenant_id", *shown, "manager__name", "manager__email")
    )


def find_case(case_id: UUID | str) -> Case | None:
    """The tenant's case of this id, or None."""
    return cases().filter(pk=case_id).first()


def managers_of(case_ids: Collection[UUID]) -> dict[tuple[UUID, UUID], UUID]:
    """Who manages these cases, whosever they are: by tenant and case."""
    rows = Case.across_tenants.filter(pk__in=case_ids, manager__isnull=False)
    return {
        (tenant_id, case_id): manager_id
        for tenant_id, case_id, manager_id in rows.values_list("tenant_id", "pk", "manager_id")
    }


def people_of(case_id: UUID) -> set[UUID]:
    """Who works on the tenant's case: its manager and its members."""
    case = find_case(case_id)
    if case is None:
        return set()
    members = CaseMember.objects.filter(case=case).values_list("user_id", flat=True)
    return {*members, *([case.manager_id] if case.manager_id else [])}


def case_by_id(case_id: UUID | str) -> Case:
    """The tenant's case of this id; what is not there, or not the tenant's, is a 404."""
    case = find_case(case_id)
    if case is None:
        raise ForeignTenant
    return case


def open_case_by_id(case_id: UUID | str) -> Case:
    """The same, for work that a closed case refuses."""
    case = case_by_id(case_id)
    if case.is_closed:
        raise CaseIsClosed
    return case


def locked(row: Any) -> Any:
    """The row as it is now, which nobody else changes until this transaction ends.

    Others may still point to it: comments go on being written.
    """
    fresh = type(row).objects.select_for_update(no_key=True).filter(pk=row.pk).first()
    if fresh is None:
        raise ForeignTenant
    return fresh


def locked_open(case: Case) -> Case:
    """The same of a case that must not be closed, nor be closed meanwhile."""
    fresh: Case = locked(case)
    if fresh.is_closed:
        raise CaseIsClosed
    return fresh


def members_of(case: Case) -> list[str]:
    """Who works on it, by name."""
    people = CaseMember.objects.filter(case=case).select_related("user")
    return sorted(str(member.user) for member in people)


def must_be_colleagues(user_ids: Collection[UUID]) -> None:
    """Refuse people who are not active members of the tenant."""
    known = accounts.members_of(current_tenant_id()).filter(
        user_id__in=user_ids, user__is_active=True
    )
    if known.count() != len(set(user_ids)):
        raise NotAColleague


def must_be_able_to_act(user_id: UUID | None) -> None:
    """Refuse a manager or approver who is nobody here, or who only looks."""
    if user_id is None:
        return
    must_be_colleagues([user_id])
    able = accounts.members_of(current_tenant_id()).filter(user_id=user_id, role__in=OPERATORS)
    if not able.exists():
        raise ManagerOnlyWatches


def leads(user: "User") -> bool:
    """Whether somebody is a manager or an admin here."""
    leading = {Role.ADMIN, Role.MANAGER}
    members = accounts.members_of(current_tenant_id())
    return members.filter(user_id=user.pk, role__in=leading).exists()


@dataclass(frozen=True)
class Issues:
    """How much of a case's registered data has issues."""

    issues: int
    records: int
    threshold: float

    @property
    def ratio(self) -> float:
        return self.issues / self.records if self.records else 0.0

    @property
    def is_high(self) -> bool:
        return self.ratio > self.threshold


def issues_of(case: Case) -> Issues:
    sums = Dataset.objects.filter(case=case).aggregate(
        issues=Sum("issues_count"), records=Sum("records_count")
    )
    return Issues(sums["issues"] or 0, sums["records"] or 0, case.issue_threshold)


def summary_of(case: Case) -> dict[str, Any]:
    """How a case stands, in figures."""
    issues = issues_of(case)
    return {
        "comment_count": case.comment_count,
        **_waiting(Deadline, case, "deadline", "due_at"),
        **_waiting(Payment, case, "payment", "due_at"),
        **_waiting(Review, case, "review", "scheduled_at", status="scheduled"),
        **_waiting(Approval, case, "approval", "due_at"),
        "records_count": issues.records,
        "issues_count": issues.issues,
        "issue_ratio": issues.ratio,
        "cash": CashPosition.objects.filter(case=case).first(),
    }


def _waiting(
    model: Any, case: Case, name: str, date: str, status: str = "pending"
) -> dict[str, Any]:
    found = model.objects.filter(case=case, status=status).aggregate(
        count=Count("pk"), first=Min(date)
    )
    return {f"{status}_{name}s": found["count"], f"next_{name}_at": found["first"]}
