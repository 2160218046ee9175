"""Pages of the work: what is mine, what I can do with it, and where a process stands."""

import json
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.messages import get_messages
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.processes import services, values
from apps.processes.models import WorkItem
from apps.processes.services import Deed
from axiom.errors import AxiomError
from tests.processes import diagrams
from tests.processes.conftest import NOON, item_of, names_told

pytestmark = pytest.mark.django_db

MINE = "/admin/my-work/"


@pytest.fixture
def console(people, console_of):
    """The browser of a role: `console("attorney")`."""
    return lambda role: console_of(people[role].user)


@pytest.fixture
def item(start):
    return item_of(start(diagrams.one_task(role="attorney")), "check")


@pytest.fixture
def agents_item(start, people):
    item = item_of(start(diagrams.machine().replace('id="claim"', 'id="figures"')), "read")
    result = {"claims": 47, "complete": True}
    return services.submit_work(item=item, by=people["engineer"], result=result, confidence=0.5)


def page_of(item):
    return reverse("admin:my-work-item", args=[item.pk])


def names_on(page):
    return [item.activity_name for item in page.context["items"]]


def said(answer):
    return [str(message) for message in get_messages(answer.wsgi_request)]


class TestWhatIsMine:
    def test_is_what_my_role_can_do_or_approve_now(self, console, item, agents_item):
        assert names_on(console("attorney").get(MINE)) == ["Check"]
        assert names_on(console("manager").get(MINE)) == ["Read"]
        assert names_on(console("analyst").get(MINE)) == []

    def test_comes_by_its_due_date_and_without_one_last(self, start, console):
        start(diagrams.both())
        left, right = WorkItem.objects.order_by("activity_id")
        mine = console("attorney")
        WorkItem.objects.filter(pk=right.pk).update(due_at=NOON)
        assert names_on(mine.get(MINE)) == ["Right", "Left"]
        WorkItem.objects.filter(pk=left.pk).update(due_at=NOON - timedelta(days=1))
        assert names_on(mine.get(MINE)) == ["Left", "Right"]

    def test_can_be_narrowed_to_what_one_has_begun(self, start, console, people):
        start(diagrams.both())
        left, _right = WorkItem.objects.order_by("activity_id")
        services.start_work(item=left, by=people["attorney"])
        mine = console("attorney")
        assert names_on(mine.get(MINE, {"only": "IN_PROGRESS"})) == ["Left"]
        assert names_on(mine.get(MINE, {"only": "TODO"})) == ["Right"]
        empty = mine.get(MINE, {"only": "SUBMITTED"}).content.decode()
        assert "Nothing of this kind waits for you." in empty

    def test_says_what_is_overdue(self, console, item):
        WorkItem.objects.update(due_at=NOON)
        assert "overdue" in console("attorney").get(MINE).content.decode()

    def test_says_what_to_expect_when_there_is_nothing(self, console):
        assert "Nothing waits for you." in console("analyst").get(MINE).content.decode()

    def test_is_not_for_viewers_and_not_for_others(self, bob, charlie, console_of, item):
        assert console_of(bob).get(MINE).status_code == 403
        assert names_on(console_of(charlie).get(MINE)) == []

    def test_of_all_tenants_at_once_there_is_none(self, client, django_user_model, item):
        client.force_login(django_user_model.objects.create_superuser("root@x.example", "x"))
        page = client.get(MINE)
        assert (page.status_code, page.context["items"]) == (200, [])
        assert client.get(page_of(item)).status_code == 404

    def test_costs_the_same_however_much_there_is_and_comes_in_pages(self, start, console):
        instance = start(diagrams.one_task())
        mine = console("attorney")

        def asked():
            with CaptureQueriesContext(connection) as queries:
                mine.get(MINE)
            return len(queries)

        mine.get(MINE)
        few = asked()
        facts = {"activity_name": "Check", "performer": "person", "created_at": NOON}
        WorkItem.objects.bulk_create(
            WorkItem(instance=instance, task_id=uuid4(), **facts) for _ in range(60)
        )
        assert asked() == few
        assert len(names_on(mine.get(MINE))) == 50
        assert len(names_on(mine.get(MINE, {"page": 2}))) == 11
        assert names_on(mine.get(MINE, {"page": "x"})) == names_on(mine.get(MINE))


class TestDoingIt:
    def post(self, console, item, deed, **body):
        answer = console.post(page_of(item), {"deed": deed, **body})
        item.refresh_from_db()
        return answer

    def test_it_is_taken_and_completed_with_values(self, console, item, people):
        mine = console("attorney")
        self.post(mine, item, "start")
        assert (item.status, item.assignee) == ("IN_PROGRESS", people["attorney"].user)
        body = {"name": ["amount", "note", ""], "value": ["5000", "all there", ""]}
        answer = self.post(mine, item, "complete", **body)
        assert (item.status, item.result) == ("DONE", {"amount": 5000, "note": "all there"})
        assert said(answer)[-1] == "Done: the process moves on."
        assert "WORKITEM_COMPLETED" in names_told()

    def test_what_needs_approval_is_submitted_and_judged_by_another(self, start, console):
        item = item_of(start(diagrams.one_task(role="attorney", approval="always")), "check")
        mine = console("attorney")
        page = mine.get(page_of(item)).content.decode()
        assert ('value="submit"' in page, 'value="complete"' in page) == (True, False)
        answer = self.post(mine, item, "submit", name="ok", value="true")
        assert (item.status, item.result) == ("SUBMITTED", {"ok": True})
        assert said(answer) == ["Submitted: somebody has to approve it."]
        self.post(console("manager"), item, "approve", name="ok", value="true")
        assert item.status == "DONE"

    def test_a_result_is_corrected_while_it_is_approved(self, console, agents_item):
        body = {"name": ["claims", "complete"], "value": ["45", "true"],
                "approve-comment": "two were doubles", "approve-lesson": "Count once."}  # fmt: skip
        self.post(console("manager"), agents_item, "approve", **body)
        assert (agents_item.status, agents_item.result["claims"]) == ("DONE", 45)
        feedback = agents_item.feedback.get()
        assert (feedback.verdict, feedback.text) == ("corrected", "two were doubles")
        assert "AGENT_KNOWLEDGE_UPDATED" in names_told()

    def test_left_as_it_is_it_counts_as_approved(self, console, agents_item):
        manager = console("manager")
        rows = manager.get(page_of(agents_item)).context["rows"]
        names, texts = zip(*rows, strict=True)
        self.post(manager, agents_item, "approve", name=names, value=texts)
        assert agents_item.feedback.get().verdict == "approved"

    def test_a_rejected_one_is_to_be_done_again_by_hand(self, console, agents_item, people):
        body = {"reject-reason": "nonsense", "reject-do_it_myself": "on"}
        self.post(console("manager"), agents_item, "reject", **body)
        assert agents_item.status == "REJECTED"
        again = WorkItem.objects.get(status="TODO")
        assert (again.performer, again.assignee) == ("person", people["manager"].user)

    def test_a_rejection_without_a_reason_is_refused_in_words(self, console, agents_item):
        answer = self.post(console("manager"), agents_item, "reject")
        assert agents_item.status == "SUBMITTED"
        assert said(answer) == ["reason: This field is required."]

    def test_it_is_given_to_a_colleague(self, console, item, people, bob, charlie):
        attorney = console("attorney")
        offered = {
            pk
            for pk, _ in attorney.get(page_of(item)).context["delegation_form"]["to"].field.choices
        }
        assert str(people["analyst"].user.pk) in offered
        assert not {str(bob.pk), str(charlie.pk)} & offered
        self.post(attorney, item, "delegate", to=str(people["analyst"].user.pk), note="please")
        assert item.assignee == people["analyst"].user
        self.post(attorney, item, "delegate", to=str(bob.pk))
        assert item.assignee == people["analyst"].user

    @pytest.mark.parametrize("deed", [Deed.START, Deed.COMPLETE, Deed.SUBMIT])
    def test_somebody_elses_work_is_refused_and_nothing_changes(self, console, item, deed):
        before = len(names_told())
        answer = self.post(console("analyst"), item, deed)
        assert (item.status, len(names_told())) == ("TODO", before)
        assert said(answer) == ["This work item is for somebody else."]

    def test_done_twice_is_refused(self, console, item):
        mine = console("attorney")
        self.post(mine, item, "complete")
        answer = self.post(mine, item, "complete")
        assert said(answer)[-1] == "This work item is not in a state that allows this."
        assert names_told().count("WORKITEM_COMPLETED") == 1

    def test_two_values_of_one_name_are_refused(self, console, item):
        answer = self.post(console("attorney"), item, "complete", name=["a", "a"], value=["1", "2"])
        assert said(answer) == ["Every value needs a name of its own."]
        assert item.status == "TODO"

    def test_what_nobody_can_do_is_forbidden(self, console, item, bob, console_of, charlie):
        assert self.post(console("attorney"), item, "explode").status_code == 403
        assert self.post(console_of(bob), item, "complete").status_code == 403
        assert self.post(console_of(charlie), item, "complete").status_code == 404
        assert item.status == "TODO"


def _services(item, colleague):
    result = {"result": {}}
    return {
        Deed.START: lambda by: services.start_work(item=item, by=by),
        Deed.COMPLETE: lambda by: services.complete_work(item=item, by=by, **result),
        Deed.SUBMIT: lambda by: services.submit_work(item=item, by=by, **result),
        Deed.APPROVE: lambda by: services.approve_work(item=item, by=by),
        Deed.REJECT: lambda by: services.reject_work(item=item, by=by, reason="x"),
        Deed.DELEGATE: lambda by: services.delegate_work(item=item, by=by, to=colleague),
    }


def _is_done(act, by):
    """Whether the service does it; it is taken back."""
    try:
        with transaction.atomic():
            act(by)
            transaction.set_rollback(True)
    except AxiomError:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    [diagrams.one_task(role="attorney"), diagrams.one_task(), diagrams.machine(),
     diagrams.one_task(approval="always"), diagrams.machine(approver="attorney"),
     diagrams.machine(confidence="0")],
    ids=["of a role", "of anybody", "of an agent", "approved", "approver", "of a sure agent"],
)  # fmt: skip
def test_what_is_offered_is_what_the_services_do(start, people, text):
    """For everybody, in every state that a work item passes."""
    item = start(text).work_items.get()
    colleague = people["analyst"].user.pk
    states = [
        lambda: None,
        lambda: services.start_work(item=item, by=people[doer]),
        lambda: services.delegate_work(item=item, by=people["admin"], to=colleague),
        lambda: services.submit_work(item=item, by=people[doer if machine else "analyst"], result={}),
        lambda: services.delegate_work(item=item, by=people["admin"], to=colleague),
    ]  # fmt: skip
    machine = item.is_a_machines
    doer = "engineer" if machine else "attorney"
    for change in states:
        if item.is_open:
            change()
        item.refresh_from_db()
        for by in people.values():
            possible = {d for d, act in _services(item, colleague).items() if _is_done(act, by)}
            assert services.possible(item, by) == possible, (item.status, by.role)


@pytest.mark.parametrize(
    "value",
    ["text", "", "5", "true", '"quoted"', " padded ", "two\nlines", "{not json", 5, 2.5, True, None,
     ["a", 1], {"deep": {"er": ["한글"]}}, "한글", "1e5"],
)  # fmt: skip
def test_a_value_is_read_as_it_was_written(value):
    assert values.read(values.written(value)) == value
    assert not {"\n", "\r"} & set(values.written(value))


@pytest.mark.parametrize(("text", "status"), [("[" * 100_000, "TODO"), ("9" * 6000, "DONE"),
                                               ("NaN", "TODO"), ("1e400", "TODO")])  # fmt: skip
def test_a_hostile_value_is_text_or_refused(console, item, text, status):
    answer = console("attorney").post(
        page_of(item), {"deed": "complete", "name": "a", "value": text}
    )
    item.refresh_from_db()
    assert (answer.status_code, item.status) == (302, status)


class TestTheDiagram:
    @pytest.fixture
    def running(self, start):
        return start(diagrams.decision(), title="Claims")

    def part(self, console, instance, **headers):
        url = reverse("admin:processes_processinstance_diagram", args=[instance.pk])
        return console.get(url, {"part": "1"}, headers=headers)

    def test_its_part_tells_only_what_changed(self, console, running, people):
        mine = console("attorney")
        first = self.part(mine, running)
        assert "<html" not in first.content.decode()
        assert first.context["marks"]["stands_at"] == ["check"]
        assert self.part(mine, running, **{"If-None-Match": first["ETag"]}).status_code == 304
        item = running.work_items.get()
        services.complete_work(item=item, by=people["attorney"], result={"amount": 5000})
        services.advance(running.pk)
        moved = self.part(mine, running, **{"If-None-Match": first["ETag"]})
        assert moved.context["marks"]["stands_at"] == ["decide"]
        assert json.dumps(["decide"]) in moved.content.decode()

    def test_work_leads_those_who_act_to_where_they_can(self, console, running, bob, console_of):
        item = running.work_items.get()
        assert page_of(item) in self.part(console("attorney"), running).content.decode()
        assert page_of(item) not in self.part(console_of(bob), running).content.decode()
        assert self.part(console_of(bob), running).status_code == 200

    def test_who_looks_at_all_tenants_sees_it_too(self, client, django_user_model, running):
        client.force_login(django_user_model.objects.create_superuser("root@x.example", "x"))
        url = reverse("admin:processes_processinstance_diagram", args=[running.pk])
        assert client.get(url).status_code == 200

    def test_one_that_ended_is_followed_no_more(self, console, running):
        url = reverse("admin:processes_processinstance_diagram", args=[running.pk])
        mine = console("attorney")
        assert "data-follow" in mine.get(url).content.decode()
        services.terminate_process(instance=running, reason="x")
        assert "data-follow" not in mine.get(url).content.decode()
