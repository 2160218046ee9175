"""Work items: who may do what when, machines and the people who approve, and what is learned."""

import pytest

from apps.processes import services
from apps.processes.errors import (
    FourEyes,
    InvalidFacts,
    NeedsApproval,
    NoAgentsWork,
    NotDelegable,
    NotYours,
    WrongState,
)
from apps.processes.models import AgentFeedback, AgentKnowledge, WorkItem
from apps.processes.services import Doer
from tests.processes import diagrams
from tests.processes.conftest import NOON, item_of, names_told, told

pytestmark = pytest.mark.django_db


@pytest.fixture
def item(start):
    """A task for attorneys."""
    return item_of(start(diagrams.one_task(role="attorney")), "check")


@pytest.fixture
def agents_item(start):
    """A task of an agent whose results count from 0.8 on."""
    return item_of(start(diagrams.machine()), "read")


def kinds(item):
    return list(item.steps.values_list("kind", flat=True))


def unchanged(item):
    before = WorkItem.objects.filter(pk=item.pk).values().get()
    count = len(names_told())
    return lambda: (
        WorkItem.objects.filter(pk=item.pk).values().get() == before and len(names_told()) == count
    )


class TestByAPerson:
    def test_taken_and_done(self, item, people):
        services.start_work(item=item, by=people["attorney"], now=NOON)
        done = services.complete_work(item=item, by=people["attorney"], result={"a": 1}, now=NOON)
        assert (done.status, done.assignee) == ("DONE", people["attorney"].user)
        assert kinds(item) == ["created", "started", "completed"]
        (_name, payload) = told("WORKITEM_COMPLETED")[0]
        assert payload["result"] == {"a": 1}
        assert payload["completed_by"] == "the-attorney@acme.example"

    def test_another_role_may_not_and_nothing_changes(self, item, people):
        is_unchanged = unchanged(item)
        for role in ("admin", "manager", "analyst"):
            for act in (services.submit_work, services.complete_work):
                with pytest.raises(NotYours):
                    act(item=item, by=people[role], result={}, now=NOON)
            with pytest.raises(NotYours):
                services.start_work(item=item, by=people[role], now=NOON)
        assert is_unchanged()

    def test_a_colleague_may_not_once_it_is_taken(self, item, people, acme, member_of):
        services.start_work(item=item, by=people["attorney"], now=NOON)
        is_unchanged, other = (
            unchanged(item),
            Doer(member_of(acme, "second", "attorney"), "attorney"),
        )
        with pytest.raises(NotYours):
            services.complete_work(item=item, by=other, result={}, now=NOON)
        assert is_unchanged()

    def test_done_twice_is_refused_and_changes_nothing(self, item, people):
        services.complete_work(item=item, by=people["attorney"], result={"a": 1}, now=NOON)
        is_unchanged = unchanged(item)
        for act in (services.submit_work, services.complete_work):
            with pytest.raises(WrongState):
                act(item=item, by=people["attorney"], result={"a": 2}, now=NOON)
        with pytest.raises(WrongState):
            services.start_work(item=item, by=people["attorney"], now=NOON)
        with pytest.raises(WrongState):
            services.approve_work(item=item, by=people["manager"], now=NOON)
        assert is_unchanged()

    @pytest.mark.parametrize("result", [{"a": "\x00"}, {"a": "x" * 70_000}, {"a": 10**30}])
    def test_a_result_that_cannot_be_kept_is_refused(self, item, people, result):
        is_unchanged = unchanged(item)
        with pytest.raises(InvalidFacts):
            services.complete_work(item=item, by=people["attorney"], result=result, now=NOON)
        assert is_unchanged()

    def test_work_that_always_needs_approval_waits_for_it(self, start, people, engine):
        instance = start(diagrams.one_task(approval="always", approver="manager"))
        item = item_of(instance, "check")
        with pytest.raises(NeedsApproval):
            services.complete_work(item=item, by=people["analyst"], result={}, now=NOON)
        services.submit_work(item=item, by=people["analyst"], result={}, now=NOON)
        engine()
        with pytest.raises(NotYours):
            services.approve_work(item=item, by=people["analyst"], now=NOON)
        services.approve_work(item=item, by=people["manager"], now=NOON)
        engine()
        instance.refresh_from_db()
        assert instance.status == "COMPLETED"
        assert AgentFeedback.objects.count() == 0

    def test_nobody_approves_their_own_work(self, start, people):
        item = item_of(start(diagrams.one_task(approval="always")), "check")
        services.submit_work(item=item, by=people["manager"], result={}, now=NOON)
        with pytest.raises(FourEyes):
            services.approve_work(item=item, by=people["manager"], now=NOON)


class TestDelegation:
    def test_given_to_a_colleague_it_is_theirs(self, item, people):
        to = people["analyst"]
        services.delegate_work(item=item, by=people["attorney"], to=to.user.pk, now=NOON)
        with pytest.raises(NotYours):
            services.complete_work(item=item, by=people["attorney"], result={}, now=NOON)
        assert services.complete_work(item=item, by=to, result={}, now=NOON).status == "DONE"
        assert kinds(item) == ["created", "delegated", "completed"]

    def test_only_by_whose_it_is_or_who_leads(self, item, people):
        to = people["analyst"].user.pk
        is_unchanged = unchanged(item)
        with pytest.raises(NotYours):
            services.delegate_work(item=item, by=people["analyst"], to=to, now=NOON)
        assert is_unchanged()
        services.delegate_work(item=item, by=people["manager"], to=to, now=NOON)

    def test_never_to_a_stranger_or_a_viewer(self, item, people, bob, charlie):
        is_unchanged = unchanged(item)
        for stranger in (bob, charlie):
            with pytest.raises(NotDelegable):
                services.delegate_work(item=item, by=people["attorney"], to=stranger.pk, now=NOON)
        assert is_unchanged()

    def test_not_when_it_is_done(self, item, people):
        services.complete_work(item=item, by=people["attorney"], result={}, now=NOON)
        with pytest.raises(WrongState):
            services.delegate_work(
                item=item, by=people["attorney"], to=people["analyst"].user.pk, now=NOON
            )


def hand_in(item, people, confidence, **result):
    return services.submit_work(
        item=item, by=people["engineer"], result=result, confidence=confidence, now=NOON
    )


class TestByAMachine:
    def test_a_sure_result_counts_at_once(self, agents_item, people, engine):
        assert hand_in(agents_item, people, 0.8, rows=45).status == "DONE"
        submitted, completed = told("WORKITEM_SUBMITTED", "WORKITEM_COMPLETED")
        assert submitted[1]["needs_approval"] is False
        assert completed[1]["completed_by"] == "agent:gpt-4o"
        assert completed[1]["confidence"] == 0.8
        engine()
        agents_item.instance.refresh_from_db()
        assert agents_item.instance.status == "COMPLETED"

    @pytest.mark.parametrize("confidence", [0.79, None])
    def test_an_unsure_one_waits_for_a_person(self, agents_item, people, engine, confidence):
        assert hand_in(agents_item, people, confidence, rows=45).status == "SUBMITTED"
        engine()
        agents_item.instance.refresh_from_db()
        assert agents_item.instance.status == "RUNNING"
        services.approve_work(item=agents_item, by=people["manager"], now=NOON)
        engine()
        agents_item.instance.refresh_from_db()
        assert agents_item.instance.status == "COMPLETED"
        assert agents_item.instance.variables == {"rows": 45}
        assert names_told()[2:] == [
            "WORKITEM_SUBMITTED", "WORKITEM_APPROVED", "AGENT_FEEDBACK_RECEIVED",
            "WORKITEM_COMPLETED", "PROCESS_COMPLETED",
        ]  # fmt: skip

    def test_an_unsure_one_cannot_be_completed_around_the_approval(self, agents_item, people):
        is_unchanged = unchanged(agents_item)
        with pytest.raises(NeedsApproval):
            services.complete_work(
                item=agents_item, by=people["engineer"], result={}, confidence=0.1, now=NOON
            )
        assert is_unchanged()

    def test_whose_login_handed_it_in_may_not_approve_it(self, agents_item, people):
        services.submit_work(
            item=agents_item, by=people["admin"], result={}, confidence=0.1, now=NOON
        )
        with pytest.raises(FourEyes):
            services.approve_work(item=agents_item, by=people["admin"], now=NOON)

    def test_people_do_not_speak_for_machines(self, agents_item, people):
        for role in ("manager", "attorney", "analyst"):
            with pytest.raises(NotYours):
                services.submit_work(
                    item=agents_item, by=people[role], result={}, confidence=1, now=NOON
                )

    def test_a_correction_counts_and_is_learned_from(self, agents_item, people, engine):
        hand_in(agents_item, people, 0.5, rows=45)
        services.approve_work(
            item=agents_item,
            by=people["manager"],
            result={"rows": 44},
            comment="Row 17 was a duplicate.",
            lesson="Same creditor and date: a duplicate.",
            now=NOON,
        )
        engine()
        agents_item.instance.refresh_from_db()
        assert agents_item.instance.variables == {"rows": 44}
        assert told("WORKITEM_APPROVED")[0][1]["corrected"] is True
        assert told("AGENT_FEEDBACK_RECEIVED")[0][1]["verdict"] == "corrected"
        learned = told("AGENT_KNOWLEDGE_UPDATED")[0][1]
        assert learned["source"] == "feedback"
        assert learned["knowledge_id"] == str(AgentKnowledge.objects.get().pk)

    def test_a_rejected_result_is_done_again(self, agents_item, people, engine):
        hand_in(agents_item, people, 0.5, rows=1)
        services.reject_work(item=agents_item, by=people["manager"], reason="Wrong.", now=NOON)
        engine()
        agents_item.refresh_from_db()
        again = item_of(agents_item.instance, "read", status="TODO")
        assert (agents_item.status, again.attempt, again.agent) == ("REJECTED", 2, "gpt-4o")
        assert told("AGENT_FEEDBACK_RECEIVED")[0][1]["verdict"] == "rejected"
        hand_in(again, people, 0.9, rows=2)
        engine()
        again.instance.refresh_from_db()
        assert (again.instance.status, again.instance.variables) == ("COMPLETED", {"rows": 2})

    def test_who_rejects_may_do_it_by_hand(self, agents_item, people, engine):
        hand_in(agents_item, people, 0.5)
        services.reject_work(
            item=agents_item, by=people["manager"], reason="x", do_it_myself=True, now=NOON
        )
        again = item_of(agents_item.instance, "read", status="TODO")
        assert (again.performer, again.assignee) == ("person", people["manager"].user)
        services.complete_work(item=again, by=people["manager"], result={"rows": 3}, now=NOON)
        engine()
        again.instance.refresh_from_db()
        assert again.instance.status == "COMPLETED"

    def test_the_approval_can_be_delegated(self, agents_item, people):
        hand_in(agents_item, people, 0.5)
        to = people["analyst"]
        services.delegate_work(item=agents_item, by=people["manager"], to=to.user.pk, now=NOON)
        with pytest.raises(NotYours):
            services.approve_work(item=agents_item, by=people["manager"], now=NOON)
        assert services.approve_work(item=agents_item, by=to, now=NOON).status == "DONE"

    def test_without_a_threshold_in_the_diagram_the_setting_counts(self, start, people, settings):
        settings.PROCESSES_CONFIDENCE = 0.95
        item = item_of(start(diagrams.machine(confidence="")), "read")
        assert hand_in(item, people, 0.94).status == "SUBMITTED"


class TestDocuments:
    @pytest.fixture
    def instance(self, start, case):
        text = diagrams.machine(agent="", service="document.extraction", confidence="0.9")
        return start(text, case_id=case.pk)

    def read(self, case, confidence, item=None):
        """What the documents app publishes, carried to the engine."""
        from apps.documents.events import DocumentExtracted
        from apps.events.outbox import publish

        publish(
            DocumentExtracted(
                document_id="018f2d1c-0000-7000-8000-000000000d0c",
                case_id=case.pk,
                document_version=1,
                fields={"total": {"value": 1250, "confidence": confidence}},
                confidence=confidence,
                workitem_id=item,
            )
        )

    @pytest.mark.parametrize("named", [True, False])
    def test_what_was_read_is_the_result(self, instance, case, engine, named):
        item = item_of(instance, "read")
        self.read(case, 0.97, item.pk if named else None)
        engine()
        engine()
        instance.refresh_from_db()
        assert instance.status == "COMPLETED"
        assert instance.variables["total"] == 1250

    def test_an_unsure_reading_waits_for_a_person(self, instance, case, engine, people):
        self.read(case, 0.6)
        engine()
        item = item_of(instance, "read")
        assert (item.status, item.confidence) == ("SUBMITTED", 0.6)
        assert item.submitted_by == "service:document.extraction"
        services.approve_work(item=item, by=people["manager"], now=NOON)
        engine()
        instance.refresh_from_db()
        assert instance.status == "COMPLETED"

    def test_a_document_of_another_case_is_not_it(self, instance, engine, people):
        from apps.cases import services as cases

        other = cases.open_case(title="Another", opened_by=people["manager"].user)
        self.read(other, 0.99)
        self.read(other, 0.99, item_of(instance, "read").pk)
        engine()
        assert item_of(instance, "read").status == "TODO"

    def test_two_readings_finish_one_work_item(self, instance, case, engine):
        self.read(case, 0.97)
        self.read(case, 0.99)
        engine()
        engine()
        assert len(told("WORKITEM_COMPLETED")) == 1


class TestLearning:
    def test_feedback_may_come_later(self, agents_item, people):
        hand_in(agents_item, people, 0.9)
        services.give_feedback(
            item=WorkItem.objects.get(pk=agents_item.pk),
            by=people["analyst"].user,
            verdict="rejected",
            text="It was wrong after all.",
        )
        assert told("AGENT_FEEDBACK_RECEIVED")[0][1]["feedback"] == "It was wrong after all."

    def test_there_is_nothing_to_say_about_a_persons_work(self, item, people):
        with pytest.raises(NoAgentsWork):
            services.give_feedback(item=item, by=people["analyst"].user, verdict="approved")

    def test_an_agent_is_taught_by_hand(self, in_acme, people):
        services.teach(agent="gpt-4o", summary="KRW has no cents.", by=people["admin"].user)
        assert told("AGENT_KNOWLEDGE_UPDATED")[0][1]["source"] == "manual"
