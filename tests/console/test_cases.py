"""Cases in the console: the same services as in the API, and their refusals in words."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from apps.cases import services
from apps.cases.models import Approval, Case, CashPosition, Comment, Dataset, Deadline
from apps.events.context import acting
from apps.events.models import OutboxEvent

CASES = "/admin/cases/case/"
# What the page sends for the lists below the form, which are only to be seen.
NOTHING_BELOW = {
    f"{name}s-{count}_FORMS": 0
    for name in ("deadline", "payment", "review", "approval", "dataset")
    for count in ("TOTAL", "INITIAL")
}
pytestmark = pytest.mark.django_db


def said(answer):
    return [str(message) for message in answer.context["messages"]]


def published(event_type):
    return OutboxEvent.objects.filter(event_type=event_type).count()


@pytest.fixture
def opened(acme, alice):
    with acting(tenant_id=acme.pk, actor=alice.email):
        return services.open_case(title="Hanbit", opened_by=alice)


@pytest.fixture
def console(alice, console_of):
    return console_of(alice)


def facts(**changes):
    given = {"title": "New", "reference": "", "kind": "data", "description": "",
             "issue_threshold": "0.2", "manager": "", "people": []}  # fmt: skip
    return given | changes


def soon():
    day = timezone.now() + timedelta(days=5)
    return {"due_at_0": f"{day:%Y-%m-%d}", "due_at_1": "12:00:00"}


def test_a_case_is_opened_and_changed_by_the_services(console, alice, bob, charlie):
    answer = console.post(f"{CASES}add/", facts(manager=alice.pk, people=[bob.pk]), follow=True)
    assert answer.status_code == 200
    case = Case.across_tenants.get()
    assert (case.opened_by, case.manager) == (alice, alice)
    assert (published("CASE_CREATED"), published("CASE_ASSIGNED")) == (1, 1)
    changed = facts(title="Newer", manager=alice.pk) | NOTHING_BELOW
    console.post(f"{CASES}{case.pk}/change/", changed)
    case.refresh_from_db()
    assert (case.title, case.memberships.model.across_tenants.count()) == ("Newer", 0)
    assert published("CASE_ASSIGNED") == 2
    page = console.get(f"{CASES}add/").content.decode()
    assert str(alice.pk) in page
    assert str(charlie.pk) not in page, "people of another tenant are offered"


def test_a_page_of_a_case_shows_what_falls_due(console, opened, acme):
    with acting(tenant_id=acme.pk):
        services.add_deadline(
            case=opened, title="Plan of reorganisation", due_at=timezone.now() + timedelta(days=3)
        )
    page = console.get(f"{CASES}{opened.pk}/change/").content.decode()
    assert "Plan of reorganisation" in page


def test_cases_are_closed_by_an_action_and_a_refusal_is_told(console, opened, alice, acme):
    with acting(tenant_id=acme.pk):
        closed = services.open_case(title="Closed one", opened_by=alice)
        services.close_case(case=closed)
    chosen = {"action": "close", "_selected_action": [opened.pk, closed.pk]}
    answer = console.post(CASES, chosen, follow=True)
    assert set(said(answer)) == {"1 was changed.", "Closed one: This case is already closed."}
    opened.refresh_from_db()
    assert opened.is_closed
    assert LogEntry.objects.filter(object_id=str(opened.pk)).exists()


def test_a_deadline_is_made_and_met(console, opened):
    console.post("/admin/cases/deadline/add/", {"case": opened.pk, "title": "Plan", **soon()})
    deadline = Deadline.across_tenants.get()
    chosen = {"action": "settle", "_selected_action": [deadline.pk]}
    console.post("/admin/cases/deadline/", chosen, follow=True)
    deadline.refresh_from_db()
    assert deadline.status == "met"


def test_an_approval_is_given_by_its_approver_only(console, opened, alice, dana_of_acme, acme):
    with acting(tenant_id=acme.pk):
        approval = services.request_approval(
            case=opened,
            title="Sale",
            due_at=timezone.now() + timedelta(days=2),
            approver_id=dana_of_acme.pk,
        )
    chosen = {"action": "approve", "_selected_action": [approval.pk]}
    answer = console.post("/admin/cases/approval/", chosen, follow=True)
    assert any("Only the named approver" in each for each in said(answer))
    assert Approval.across_tenants.get().status == "pending"


@pytest.fixture
def dana_of_acme(acme, member_of):
    return member_of(acme, "dana", "manager")


def test_cash_and_data_go_through_the_services(console, opened):
    cash = {"case": opened.pk, "balance": "5", "threshold": "10", "currency": "KRW"}
    console.post("/admin/cases/cashposition/add/", cash)
    data = {"case": opened.pk, "name": "a.csv", "records_count": 10, "issues_count": 9}
    console.post("/admin/cases/dataset/add/", data)
    assert (CashPosition.across_tenants.count(), Dataset.across_tenants.count()) == (1, 1)
    assert (published("CASH_LOW"), published("DATA_REGISTERED")) == (1, 1)
    assert published("ISSUE_RATIO_HIGH") == 1


def test_comments_are_taken_back_by_an_action(console, opened, alice, acme):
    with acting(tenant_id=acme.pk):
        comment = services.add_comment(case=opened, author=alice, body="x")
    chosen = {"action": "take_back", "_selected_action": [comment.pk]}
    console.post("/admin/cases/comment/", chosen, follow=True)
    assert Comment.across_tenants.get().deleted_at
    assert published("COMMENT_DELETED") == 1


def test_a_viewer_looks_and_changes_nothing(bob, console_of, opened):
    console = console_of(bob)
    assert console.get(f"{CASES}{opened.pk}/change/").status_code == 200
    assert console.post(f"{CASES}add/", facts()).status_code == 403
    console.post(CASES, {"action": "close", "_selected_action": [opened.pk]}, follow=True)
    opened.refresh_from_db()
    assert not opened.is_closed
