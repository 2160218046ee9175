"""Deadlines, payments, reviews, approvals, cash and data: kept within their rules."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError

from apps.cases import services
from apps.cases.errors import (
    AlreadySettled,
    CaseIsClosed,
    CurrencyDiffers,
    DateOutOfRange,
    ImpossibleTransition,
    NotAColleague,
    NotTheApprover,
)
from apps.cases.models import Approval, CashPosition, Dataset, Deadline, Payment, Review

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
SOON = NOW + timedelta(days=10)

ADDING = [
    (services.add_deadline, Deadline, {"title": "Plan", "due_at": SOON}),
    (
        services.add_payment,
        Payment,
        {"title": "Second", "amount": Decimal(5), "currency": "KRW", "due_at": SOON},
    ),
    (
        services.schedule_review,
        Review,
        {"title": "Meeting", "stakeholder": "Court", "scheduled_at": SOON},
    ),
    (services.request_approval, Approval, {"title": "Sale", "due_at": SOON}),
]


def date_of(facts):
    return "scheduled_at" if "scheduled_at" in facts else "due_at"


@pytest.mark.parametrize(("add", "model", "facts"), ADDING)
def test_what_falls_due_is_kept_with_its_case(case, add, model, facts):
    row = add(case=case, now=NOW, **facts)
    assert (row.case, row.tenant_id) == (case, case.tenant_id)
    assert list(model.objects.all()) == [row]


@pytest.mark.parametrize(("add", "model", "facts"), ADDING)
@pytest.mark.parametrize("wrong", [NOW, NOW - timedelta(days=1), NOW + timedelta(days=60 * 366)])
def test_a_date_behind_or_beyond_is_refused(case, add, model, facts, wrong):
    with pytest.raises(DateOutOfRange):
        add(case=case, now=NOW, **facts | {date_of(facts): wrong})
    assert not model.objects.exists()


@pytest.mark.parametrize(("add", "model", "facts"), ADDING)
def test_a_closed_case_takes_nothing_more(case, add, model, facts):
    row = add(case=case, now=NOW, **facts)
    services.close_case(case=case)
    with pytest.raises(CaseIsClosed):
        add(case=case, now=NOW, **facts)
    with pytest.raises(CaseIsClosed):
        services.revise(item=row, title="other")
    with pytest.raises(CaseIsClosed):
        services.settle(item=row, status="cancelled")


@pytest.mark.parametrize(("add", "model", "facts"), ADDING)
def test_what_is_settled_stays_settled(case, add, model, facts):
    row = add(case=case, now=NOW, **facts)
    services.settle(item=row, status="cancelled", now=NOW)
    with pytest.raises(ImpossibleTransition):
        services.settle(item=row, status="cancelled")
    with pytest.raises(AlreadySettled):
        services.revise(item=row, title="other")
    row.refresh_from_db()
    assert (row.status, row.settled_at, row.title) == ("cancelled", NOW, facts["title"])


@pytest.mark.parametrize(
    "bad", [{"amount": Decimal(0)}, {"amount": Decimal(-5)}, {"currency": "won"}, {"title": ""}]
)
def test_a_payment_of_nothing_is_refused(case, bad):
    good = {"title": "x", "amount": Decimal(5), "currency": "KRW", "due_at": SOON}
    with pytest.raises(ValidationError):
        services.add_payment(case=case, now=NOW, **good | bad)
    assert not Payment.objects.exists()


class TestApprovals:
    def test_the_named_approver_decides_and_nobody_else(self, case, alice, dana):
        approval = services.request_approval(
            case=case, now=NOW, title="Sale", due_at=SOON, approver_id=dana.pk
        )
        with pytest.raises(NotTheApprover):
            services.approve(approval=approval, by=alice)
        decided = services.approve(approval=approval, by=dana, note="fine")
        assert (decided.status, decided.settled_by, decided.note) == ("approved", dana, "fine")
        with pytest.raises(ImpossibleTransition):
            services.reject(approval=approval, by=dana)

    def test_without_one_a_manager_or_an_admin_decides(self, case, acme, alice, dana, member_of):
        analyst = member_of(acme, "erin", "analyst")
        approval = services.request_approval(case=case, now=NOW, title="Sale", due_at=SOON)
        with pytest.raises(NotTheApprover):
            services.reject(approval=approval, by=analyst)
        assert services.reject(approval=approval, by=dana).status == "rejected"

    def test_a_stranger_is_not_asked(self, case, charlie):
        with pytest.raises(NotAColleague):
            services.request_approval(
                case=case, now=NOW, title="Sale", due_at=SOON, approver_id=charlie.pk
            )


class TestCash:
    def record(self, case, balance, **more):
        return services.record_cash(case=case, balance=Decimal(balance), now=NOW, **more)

    def test_running_low_is_told_on_crossing_and_again_after_recovery(self, case, said):
        self.record(case, 100, threshold=Decimal(50), currency="KRW")
        for balance in (49, 30, 50, 49):
            self.record(case, balance)
        assert [told["cash_balance"] for told in said("CASH_LOW")] == [49, 49]

    def test_a_case_that_begins_low_says_so(self, case, said):
        self.record(case, 10, threshold=Decimal(50))
        assert len(said("CASH_LOW")) == 1

    def test_a_raised_threshold_is_a_crossing_too(self, case, said):
        self.record(case, 100, threshold=Decimal(50))
        self.record(case, 100, threshold=Decimal(200))
        assert len(said("CASH_LOW")) == 1

    def test_another_currency_is_refused(self, case):
        self.record(case, 100, currency="KRW")
        with pytest.raises(CurrencyDiffers):
            self.record(case, 5, currency="USD")
        assert CashPosition.objects.get().balance == 100

    def test_too_many_digits_are_refused(self, case):
        with pytest.raises(ValidationError):
            self.record(case, 10**15)
        assert not CashPosition.objects.exists()


class TestData:
    def test_registered_data_is_told(self, case, said):
        dataset = services.register_data(case=case, name="a.csv", records_count=10, issues_count=1)
        assert said("DATA_REGISTERED") == [
            {
                "case_id": str(case.pk), "dataset_id": str(dataset.pk), "name": "a.csv",
                "records_count": 10, "issues_count": 1,
            }
        ]  # fmt: skip
        assert said("ISSUE_RATIO_HIGH") == []

    def test_too_many_issues_are_told_on_crossing(self, case, said):
        first = services.register_data(case=case, name="a", records_count=100, issues_count=20)
        services.register_data(case=case, name="b", records_count=100, issues_count=21)
        services.register_data(case=case, name="c", records_count=10, issues_count=10)
        (told,) = said("ISSUE_RATIO_HIGH")
        assert (told["issues_count"], told["records_count"]) == (41, 200)
        services.revise_data(dataset=first, issues_count=0)
        services.revise_data(dataset=first, issues_count=50)
        assert len(said("ISSUE_RATIO_HIGH")) == 2

    def test_a_case_that_tolerates_less_says_so(self, case, said):
        services.register_data(case=case, name="a", records_count=100, issues_count=10)
        services.revise_case(case=case, issue_threshold=0.05)
        assert len(said("ISSUE_RATIO_HIGH")) == 1

    def test_there_are_no_more_issues_than_records(self, case, said):
        with pytest.raises(ValidationError, match="more issues"):
            services.register_data(case=case, name="a", records_count=1, issues_count=2)
        assert not Dataset.objects.exists()
        assert said("DATA_REGISTERED") == []
