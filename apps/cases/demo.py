"""Cases of the demo's two companies, in their languages, with something due on most days."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.utils import timezone

from apps.accounts import selectors as accounts
from apps.cases import services
from apps.cases.models import Case
from apps.events.context import acting
from axiom.roles import Role


class Story(NamedTuple):
    """A case, and what happens in it; the numbers are days from now."""

    title: str
    kind: str
    status: str = Case.Status.OPEN
    manager: Role = Role.MANAGER
    deadlines: Sequence[tuple[str, int]] = ()
    payments: Sequence[tuple[str, str, int, int]] = ()
    reviews: Sequence[tuple[str, str, int]] = ()
    approvals: Sequence[tuple[str, int]] = ()
    cash: tuple[int, int] | None = None
    data: Sequence[tuple[str, int, int]] = ()
    comments: Sequence[tuple[Role, str]] = ()


KOREAN = [
    Story(
        "한빛섬유 회생",
        Case.Kind.REHABILITATION,
        Case.Status.IN_PROGRESS,
        deadlines=[("회생계획안 제출", 6), ("채권자 목록 제출", 2), ("조사보고서 제출", 30)],
        payments=[
            ("2차 변제금", "우리은행", 12_500_000, 1),
            ("3차 변제금", "우리은행", 12_500_000, 31),
        ],
        reviews=[("관계인집회", "서울회생법원", 2)],
        approvals=[("자산 매각 승인", 4), ("용역 계약 승인", -1)],
        cash=(8_200_000, 10_000_000),
        data=[("채권자.csv", 1520, 38), ("거래내역.csv", 18_400, 5_120)],
        comments=[
            (Role.ATTORNEY, "채권자 목록을 확인해 주세요."),
            (Role.ANALYST, "거래내역에 중복된 행이 많습니다. 정리 중입니다."),
            (Role.MANAGER, "계획안 초안은 금요일까지 부탁드립니다."),
        ],
    ),
    Story(
        "대성물산 파산",
        Case.Kind.BANKRUPTCY,
        Case.Status.IN_REVIEW,
        deadlines=[("배당표 제출", 1), ("채권 조사 기일", 12)],
        payments=[("파산관재인 보수", "김앤박 법률사무소", 3_300_000, 5)],
        reviews=[("채권자집회", "수원회생법원", 9)],
        cash=(42_000_000, 20_000_000),
        data=[("자산목록.xlsx", 214, 3)],
        comments=[(Role.ATTORNEY, "배당표 초안을 올렸습니다.")],
    ),
    Story(
        "미래캐피탈 대출채권 실사",
        Case.Kind.FINANCE,
        manager=Role.ANALYST,
        deadlines=[("실사보고서 초안", 7)],
        approvals=[("표본 추출 기준 승인", 2)],
        data=[("대출원장.parquet", 98_000, 1_470)],
    ),
    Story(
        "세움건설 하자 소송",
        Case.Kind.LITIGATION,
        Case.Status.ON_HOLD,
        manager=Role.ATTORNEY,
        deadlines=[("준비서면 제출", 21)],
        comments=[(Role.ATTORNEY, "감정인 선정을 기다리는 중입니다.")],
    ),
    Story("고객 주소 정제", Case.Kind.DATA, Case.Status.CLOSED, manager=Role.ENGINEER),
]
ENGLISH = [
    Story(
        "Northwind Shipping administration",
        Case.Kind.REHABILITATION,
        Case.Status.IN_PROGRESS,
        deadlines=[("Statement of proposals", 7), ("Notice to creditors", 3)],
        payments=[
            ("Port dues", "Port of Felixstowe", 18_400, 2),
            ("Crew wages", "Crew", 96_000, 9),
        ],
        reviews=[("Creditors' meeting", "Creditors' committee", 3)],
        approvals=[("Sale of MV Aurora", 5), ("Retain surveyors", -2)],
        cash=(61_000, 75_000),
        data=[("creditors.csv", 842, 12), ("manifests.csv", 12_900, 4_100)],
        comments=[
            (Role.ATTORNEY, "The mortgagee wants to see the valuation first."),
            (Role.MANAGER, "Sent. They answer by Thursday."),
        ],
    ),
    Story(
        "Kestrel Retail liquidation",
        Case.Kind.BANKRUPTCY,
        Case.Status.IN_REVIEW,
        deadlines=[("Final account", 1), ("VAT return", 14)],
        payments=[("Second dividend", "Preferential creditors", 240_000, 6)],
        cash=(310_000, 50_000),
        data=[("stock.csv", 5_400, 81)],
        comments=[(Role.ANALYST, "Stock count reconciles to the ledger within 1.5 %.")],
    ),
    Story(
        "Harbour Bridge Fund restructuring",
        Case.Kind.FINANCE,
        manager=Role.ANALYST,
        deadlines=[("Term sheet", 10)],
        reviews=[("Lender review", "Meridian Bank", 4)],
        approvals=[("Standstill extension", 1)],
    ),
    Story(
        "Alder v. Quayside Developments",
        Case.Kind.LITIGATION,
        Case.Status.ON_HOLD,
        manager=Role.ATTORNEY,
        deadlines=[("Witness statements", 28)],
    ),
    Story("Customer ledger clean-up", Case.Kind.DATA, Case.Status.CLOSED, manager=Role.ENGINEER),
]
COMPANIES = {"hanbit": (KOREAN, "KRW"), "harbor": (ENGLISH, "GBP")}


def load() -> None:
    """A company that has cases already keeps what it has."""
    for tenant in accounts.active_tenants().filter(slug__in=COMPANIES):
        stories, currency = COMPANIES[tenant.slug]
        with acting(tenant_id=tenant.pk, actor="demo"):
            if not Case.objects.exists():
                _Company(tenant, currency).tell(stories)


class _Company:
    """Tells the stories with the people of a company."""

    def __init__(self, tenant: Any, currency: str) -> None:
        members = accounts.members_of(tenant.pk)
        self.people = {Role(member.role): member.user for member in members}
        self.currency, self.now = currency, timezone.now()

    def tell(self, stories: Sequence[Story]) -> None:
        for number, story in enumerate(stories, 1):
            case = services.open_case(
                title=story.title,
                kind=story.kind,
                reference=f"{self.now.year}-{number:03}",
                opened_by=self.people[Role.ADMIN],
                manager_id=self.people[story.manager].pk,
                member_ids=[self.people[role].pk for role in (Role.ATTORNEY, Role.ANALYST)],
            )
            self._fill(case, story)
            if story.status != Case.Status.OPEN:
                services.change_status(case=case, status=story.status)

    def _fill(self, case: Case, story: Story) -> None:
        self._plan(case, story)
        for name, records, issues in story.data:
            services.register_data(case=case, name=name, records_count=records, issues_count=issues)
        if story.cash:
            balance, threshold = map(Decimal, story.cash)
            services.record_cash(
                case=case, balance=balance, threshold=threshold, currency=self.currency
            )
        for role, body in story.comments:
            services.add_comment(case=case, author=self.people[role], body=body)

    def _plan(self, case: Case, story: Story) -> None:
        """Planned a week ago, so that some of it may have been missed by now."""
        then: dict[str, Any] = {"case": case, "now": self.now - timedelta(days=7)}
        for title, days in story.deadlines:
            services.add_deadline(title=title, due_at=self._in(days), **then)
        for title, payee, amount, days in story.payments:
            services.add_payment(
                title=title,
                payee=payee,
                amount=Decimal(amount),
                currency=self.currency,
                due_at=self._in(days),
                **then,
            )
        for title, stakeholder, days in story.reviews:
            services.schedule_review(
                title=title, stakeholder=stakeholder, scheduled_at=self._in(days), **then
            )
        for title, days in story.approvals:
            approver = self.people[Role.MANAGER].pk
            services.request_approval(
                title=title, due_at=self._in(days), approver_id=approver, **then
            )

    def _in(self, days: int) -> Any:
        return self.now + timedelta(days=days)
