"""Cases for programs: the whole of it over HTTP, within roles, tenants and conventions."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from apps.cases import services
from apps.cases.models import Case, Comment, Deadline, Payment
from apps.events.context import acting
from apps.events.models import OutboxEvent

URL = "/api/v1/cases/"

pytestmark = pytest.mark.django_db


def soon(days=5):
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


@pytest.fixture
def make_case(acme, alice):
    def make(title="Hanbit Textile", **facts):
        with acting(tenant_id=acme.pk, actor=alice.email):
            return services.open_case(title=title, opened_by=alice, **facts)

    return make


@pytest.fixture
def dana_api(dana, api_of):
    return api_of(dana)


def at(case, *more):
    return URL + "/".join([str(case.pk), *map(str, more), ""])


def test_a_case_is_opened(alice_api, alice, dana, said):
    body = {"title": "한빛섬유 회생", "kind": "rehabilitation", "manager_id": str(dana.pk),
            "member_ids": [str(alice.pk)]}  # fmt: skip
    response = alice_api.post(URL, body)
    assert response.status_code == 201
    shown = alice_api.get(response["Location"]).json()
    assert shown == response.json()
    assert (shown["status"], shown["manager"], shown["opened_by"]["name"]) == (
        "open", {"id": str(dana.pk), "name": "Dana"}, "Alice",
    )  # fmt: skip
    assert shown["members"] == [{"id": str(alice.pk), "name": "Alice"}]
    assert [event_type for event_type, _ in said()] == ["CASE_CREATED", "CASE_ASSIGNED"]
    assert {row.actor for row in OutboxEvent.objects.all()} == {alice.email}


def test_a_repeated_request_opens_one_case(alice_api, said):
    for _ in range(2):
        response = alice_api.post(URL, {"title": "x"}, headers={"Idempotency-Key": "once"})
        assert response.status_code == 201
    assert response["Idempotency-Replayed"] == "true"
    assert (Case.across_tenants.count(), len(said("CASE_CREATED"))) == (1, 1)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/title"),
        ({"title": ""}, "#/title"),
        ({"title": "x" * 201}, "#/title"),
        ({"title": "a\0b"}, "#/title"),
        ({"title": "x", "kind": "nonsense"}, "#/kind"),
        ({"title": "x", "issue_threshold": "NaN"}, "#/issue_threshold"),
        ({"title": "x", "issue_threshold": 1.5}, "#/issue_threshold"),
        ({"title": "x", "manager_id": "me"}, "#/manager_id"),
        ({"title": "x", "member_ids": ["me"]}, "#/member_ids/0"),
    ],
)
def test_bad_input_is_told_and_nothing_is_stored(alice_api, said, body, pointer):
    response = alice_api.post(URL, body)
    assert (response.status_code, response["Content-Type"]) == (400, "application/problem+json")
    assert pointer in [fault["pointer"] for fault in response.json()["errors"]]
    assert (Case.across_tenants.count(), said()) == (0, [])


def test_a_stranger_cannot_be_made_manager(alice_api, charlie, said):
    response = alice_api.post(URL, {"title": "x", "manager_id": str(charlie.pk)})
    assert (response.status_code, response.json()["code"]) == (400, "not_a_colleague")
    assert (Case.across_tenants.count(), said()) == (0, [])


def test_a_taken_reference_is_told(alice_api, make_case):
    make_case(reference="2026-1")
    response = alice_api.post(URL, {"title": "x", "reference": "2026-1"})
    assert (response.status_code, response.json()["code"]) == (400, "invalid")


def test_a_change_needs_the_state_it_was_made_for(alice_api, make_case):
    case = make_case()
    seen = alice_api.get(at(case))["ETag"]
    assert alice_api.patch(at(case), {"title": "x"}).status_code == 428
    changed = alice_api.patch(at(case), {"title": "New"}, headers={"If-Match": seen})
    assert (changed.status_code, changed.json()["title"]) == (200, "New")
    late = alice_api.patch(at(case), {"title": "Old"}, headers={"If-Match": seen})
    assert (late.status_code, Case.across_tenants.get().title) == (412, "New")


def test_a_comment_does_not_get_in_the_way_of_an_edit(alice_api, make_case):
    case = make_case()
    seen = alice_api.get(at(case))["ETag"]
    Case.across_tenants.update(comment_count=5)
    changed = alice_api.patch(at(case), {"title": "New"}, headers={"If-Match": seen})
    assert changed.status_code == 200


def test_a_case_moves_through_its_statuses(alice_api, make_case, said):
    case = make_case()
    assert alice_api.get(at(case)).json()["next_statuses"] == [
        "closed", "in_progress", "in_review", "on_hold",
    ]  # fmt: skip
    moved = alice_api.post(at(case, "status"), {"status": "in_review", "reason": "all filed"})
    assert moved.json()["status"] == "in_review"
    closed = alice_api.post(at(case, "close"), {"reason": "done"}).json()
    assert (closed["status"], closed["next_statuses"]) == ("closed", ["open"])
    assert closed["closed_at"]
    assert alice_api.post(at(case, "reopen")).json()["status"] == "open"
    assert [told["new_status"] for told in said("CASE_STATUS_CHANGED")] == [
        "in_review", "closed", "open",
    ]  # fmt: skip


def test_an_impossible_move_is_a_conflict_that_tells_what_is_possible(alice_api, make_case, said):
    case = make_case()
    alice_api.post(at(case, "close"))
    for action, body, code in (
        ("status", {"status": "in_review"}, "impossible_transition"),
        ("close", {}, "case_already_closed"),
        ("assign", {"member_ids": []}, "case_closed"),
        ("deadlines", {"title": "x", "due_at": soon()}, "case_closed"),
        ("datasets", {"name": "x", "records_count": 1}, "case_closed"),
        ("cash", {"balance": "1"}, "case_closed"),
    ):
        response = alice_api.post(at(case, action), body)
        assert (response.status_code, response.json()["code"]) == (409, code), action
    assert alice_api.post(at(case, "status"), {"status": "on_hold"}).json()["allowed"] == ["open"]
    assert len(said("CASE_STATUS_CHANGED")) == 1


def test_people_are_assigned(alice_api, make_case, alice, dana):
    case = make_case()
    alice_api.post(at(case, "assign"), {"manager_id": str(dana.pk), "member_ids": [str(alice.pk)]})
    shown = alice_api.post(at(case, "assign"), {"manager_id": None}).json()
    assert (shown["manager"], len(shown["members"])) == (None, 1)


PLANNED = [
    ("deadlines", {"title": "Plan"}, "due_at", "met"),
    (
        "payments",
        {"title": "Second", "amount": "12.50", "currency": "KRW", "payee": "Bank"},
        "due_at",
        "paid",
    ),
    ("reviews", {"title": "Meeting", "stakeholder": "Court"}, "scheduled_at", "held"),
]


@pytest.mark.parametrize(("kind", "facts", "when", "end"), PLANNED)
def test_what_falls_due_is_added_changed_and_settled(alice_api, make_case, kind, facts, when, end):
    case = make_case()
    made = alice_api.post(at(case, kind), facts | {when: soon()})
    assert made.status_code == 201
    url = made["Location"]
    changed = alice_api.patch(url, {"title": "New"}, headers={"If-Match": made["ETag"]})
    assert changed.json()["title"] == "New"
    assert alice_api.post(f"{url}settle/", {"status": end}).json()["status"] == end
    again = alice_api.post(f"{url}settle/", {"status": end})
    assert (again.status_code, again.json()["code"]) == (409, "impossible_transition")
    late = alice_api.patch(url, {"title": "x"}, headers={"If-Match": "*"})
    assert (late.status_code, late.json()["code"]) == (409, "already_settled")
    listed = alice_api.get(at(case, kind), {"status": end}).json()["results"]
    assert [row["title"] for row in listed] == ["New"]


@pytest.mark.parametrize(("kind", "facts", "when", "end"), PLANNED)
@pytest.mark.parametrize("wrong", ["2020-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00",
                                   "0001-01-01T00:00:00+12:00", "2400-01-01T00:00:00Z",
                                   "tomorrow", None])  # fmt: skip
def test_a_date_out_of_range_is_told(alice_api, make_case, kind, facts, when, end, wrong):
    case = make_case()
    response = alice_api.post(at(case, kind), facts | {when: wrong})
    assert response.status_code == 400
    assert response.json()["code"] in {"date_out_of_range", "invalid"}
    assert alice_api.get(at(case, kind)).json()["results"] == []


@pytest.mark.parametrize(
    "bad", [{"amount": "0"}, {"amount": "-1"}, {"amount": "NaN"}, {"amount": "1e20"},
            {"amount": "0.001"}, {"currency": "won"}, {"currency": "₩₩₩"}],
)  # fmt: skip
def test_a_payment_that_cannot_be_is_told(alice_api, make_case, bad):
    good = {"title": "x", "amount": "5", "currency": "KRW", "due_at": soon()}
    response = alice_api.post(at(make_case(), "payments"), good | bad)
    assert (response.status_code, Payment.across_tenants.count()) == (400, 0)


def test_an_approval_is_given_by_its_approver(alice_api, dana_api, dana, make_case):
    case = make_case()
    body = {"title": "Sale", "due_at": soon(), "approver_id": str(dana.pk)}
    url = alice_api.post(at(case, "approvals"), body)["Location"]
    refused = alice_api.post(f"{url}approve/")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_the_approver")
    given = dana_api.post(f"{url}approve/", {"note": "fine"}).json()
    assert (given["status"], given["settled_by"]["name"], given["note"]) == (
        "approved", "Dana", "fine",
    )  # fmt: skip
    assert dana_api.post(f"{url}reject/").status_code == 409


def test_an_approval_is_cancelled_by_whoever_may_act(alice_api, dana, make_case):
    body = {"title": "Sale", "due_at": soon(), "approver_id": str(dana.pk)}
    url = alice_api.post(at(make_case(), "approvals"), body)["Location"]
    assert alice_api.post(f"{url}cancel/").json()["status"] == "cancelled"


def test_cash_is_recorded_and_a_low_one_told(alice_api, make_case, said):
    case = make_case()
    assert alice_api.get(at(case, "cash")).status_code == 404
    body = {"balance": "100.00", "threshold": "50.00", "currency": "KRW"}
    assert alice_api.post(at(case, "cash"), body).json()["is_low"] is False
    assert alice_api.post(at(case, "cash"), {"balance": "20"}).json()["is_low"] is True
    assert alice_api.get(at(case, "cash")).json()["balance"] == "20.00"
    (told,) = said("CASH_LOW")
    assert (told["cash_balance"], told["threshold"]) == (20, 50)
    differs = alice_api.post(at(case, "cash"), {"balance": "1", "currency": "USD"})
    assert (differs.status_code, differs.json()["code"]) == (409, "currency_differs")


def test_data_is_registered_and_the_summary_knows_it(alice_api, make_case, said):
    case = make_case()
    body = {"name": "a.csv", "records_count": 10, "issues_count": 4}
    made = alice_api.post(at(case, "datasets"), body)
    assert len(said("ISSUE_RATIO_HIGH")) == 1
    alice_api.patch(made["Location"], {"issues_count": 1}, headers={"If-Match": made["ETag"]})
    alice_api.post(at(case, "deadlines"), {"title": "x", "due_at": soon(3)})
    alice_api.post(at(case, "deadlines"), {"title": "y", "due_at": soon(9)})
    summary = alice_api.get(at(case, "summary")).json()
    assert (summary["issue_ratio"], summary["records_count"], summary["cash"]) == (0.1, 10, None)
    assert summary["pending_deadlines"] == 2
    assert summary["next_deadline_at"][:10] == soon(3)[:10]


def test_more_issues_than_records_are_refused(alice_api, make_case, said):
    body = {"name": "a", "records_count": 1, "issues_count": 2}
    response = alice_api.post(at(make_case(), "datasets"), body)
    assert (response.status_code, said("DATA_REGISTERED")) == (400, [])


def test_comments_are_written_read_and_taken_back(alice_api, dana_api, make_case, said):
    case = make_case()
    made = dana_api.post(at(case, "comments"), {"body": "채권자 목록을 확인해 주세요."})
    assert made.status_code == 201
    (shown,) = alice_api.get(at(case, "comments")).json()["results"]
    assert (shown["body"], shown["author"]["name"]) == ("채권자 목록을 확인해 주세요.", "Dana")
    gone = alice_api.delete(made["Location"], headers={"If-Match": made["ETag"]})
    assert gone.status_code == 204
    assert alice_api.get(made["Location"]).status_code == 404
    assert alice_api.get(at(case, "comments")).json()["results"] == []
    assert Comment.across_tenants.get().body
    assert len(said("COMMENT_DELETED")) == 1


def test_somebody_elses_comment_stays(alice_api, acme, member_of, api_of, make_case):
    made = alice_api.post(at(make_case(), "comments"), {"body": "x"})
    erin_api = api_of(member_of(acme, "erin", "analyst"))
    refused = erin_api.delete(made["Location"], headers={"If-Match": "*"})
    assert (refused.status_code, refused.json()["code"]) == (403, "not_your_comment")
    assert Comment.across_tenants.get().deleted_at is None


def test_a_viewer_sees_and_changes_nothing(bob_api, make_case, said):
    case, before = make_case(), len(said())
    assert bob_api.get(URL).json()["results"][0]["id"] == str(case.pk)
    for path, body in (
        (URL, {"title": "x"}),
        (at(case, "close"), {}),
        (at(case, "comments"), {"body": "x"}),
        (at(case, "deadlines"), {"title": "x", "due_at": soon()}),
    ):
        assert bob_api.post(path, body).status_code == 403
    assert len(said()) == before


def test_things_are_found_below_their_own_case_only(alice_api, make_case):
    case, other = make_case(), make_case("Other")
    made = alice_api.post(at(case, "deadlines"), {"title": "x", "due_at": soon()}).json()
    assert alice_api.get(at(case, "deadlines", made["id"])).status_code == 200
    assert alice_api.get(at(other, "deadlines", made["id"])).status_code == 404
    assert alice_api.get(f"{URL}{uuid4()}/deadlines/").status_code == 404
    assert alice_api.post(f"{URL}{uuid4()}/comments/", {"body": "x"}).status_code == 404


def test_cases_are_found(alice_api, make_case, dana, alice):
    make_case("Alpha", kind="data", reference="A-1")
    make_case("Beta", manager_id=dana.pk)
    make_case("Gamma", member_ids=[dana.pk])
    found = lambda **query: [row["title"] for row in alice_api.get(URL, query).json()["results"]]
    assert found() == ["Gamma", "Beta", "Alpha"]
    assert found(ordering="title") == ["Alpha", "Beta", "Gamma"]
    assert found(q="a-1") == found(kind="data") == ["Alpha"]
    assert found(manager=dana.pk) == ["Beta"]
    assert found(member=dana.pk) == ["Gamma", "Beta"]
    assert found(status="closed") == []
    assert alice_api.get(URL, {"status": "nonsense"}).status_code == 400


LISTS = ["", "deadlines", "payments", "reviews", "approvals", "datasets", "comments"]


@pytest.mark.parametrize("kind", LISTS)
def test_a_longer_page_needs_no_more_queries(
    alice_api, make_case, alice, dana, acme, kind, django_assert_num_queries
):
    case, counts = make_case(), []
    for size in (2, 20):
        with acting(tenant_id=acme.pk, actor=alice.email):
            for number in range(size):
                _add_one(kind, case, number, alice, dana)
        url = URL if not kind else at(case, kind)
        with django_assert_num_queries(100, exact=False) as queries:
            results = alice_api.get(url, {"page_size": size}).json()["results"]
        assert len(results) == size
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 4


def _add_one(kind, case, number, alice, dana):
    due = datetime.now(UTC) + timedelta(days=5)
    title = f"number {number}"
    person = [alice.pk, dana.pk][number % 2]
    {
        "": lambda: services.open_case(title=title, opened_by=alice, manager_id=person,
                                       member_ids=[alice.pk]),
        "deadlines": lambda: services.add_deadline(case=case, title=title, due_at=due),
        "payments": lambda: services.add_payment(case=case, title=title, due_at=due, amount=1,
                                                 currency="KRW"),
        "reviews": lambda: services.schedule_review(case=case, title=title, scheduled_at=due,
                                                    stakeholder="Court"),
        "approvals": lambda: services.request_approval(case=case, title=title, due_at=due,
                                                       approver_id=person),
        "datasets": lambda: services.register_data(case=case, name=title, records_count=1),
        "comments": lambda: services.add_comment(case=case, author=alice, body=title),
    }[kind]()  # fmt: skip


def test_nothing_is_half_stored_when_the_event_is_refused(alice_api, make_case, said):
    """A NUL cannot be stored and is told before anything is written."""
    case, before = make_case(), len(said())
    response = alice_api.post(at(case, "deadlines"), {"title": "a\0", "due_at": soon()})
    assert (response.status_code, Deadline.across_tenants.count(), len(said())) == (400, 0, before)
