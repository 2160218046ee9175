"""Processes from their start to their end: gateways, sub-processes, timers, trouble."""

from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction

from apps.processes import services
from apps.processes.errors import (
    AnotherProcess,
    CannotStart,
    DefinitionRetired,
    KeyTaken,
    NothingPublished,
    NotStuck,
    ProcessOver,
    VersionPublished,
)
from apps.processes.models import ProcessInstance, ProcessTimer, ProcessVersion, WorkItem
from tests.processes import diagrams
from tests.processes.conftest import NOON, item_of, names_told, told
from tests.processes.diagrams import END, START, diagram, flow, service, timer, user

pytestmark = pytest.mark.django_db


def complete(instance, activity, by, **result):
    item = item_of(instance, activity)
    return services.complete_work(item=item, by=by, result=result, now=NOON)


def open_activities(instance):
    found = instance.work_items.filter(status__in=WorkItem.OPEN)
    return sorted(found.values_list("activity_id", flat=True))


def test_a_process_waits_for_its_first_task_and_says_so(start, people):
    instance = start(diagrams.decision())
    item = item_of(instance, "check")
    assert (item.status, item.role, instance.stands_at) == ("TODO", "attorney", ["check"])
    assert names_told() == ["PROCESS_STARTED", "WORKITEM_CREATED"]
    started, created = (payload for _name, payload in told())
    assert started["first_workitem_id"] == created["workitem_id"] == str(item.pk)
    assert started["initiator_id"] == str(people["attorney"].user.pk)


@pytest.mark.parametrize(("amount", "next_up"), [(999, []), (1000, ["decide"])])
def test_a_decision_follows_what_was_handed_in(start, people, engine, amount, next_up):
    instance = start(diagrams.decision())
    complete(instance, "check", people["attorney"], amount=amount)
    assert open_activities(instance) == []
    engine()
    assert open_activities(instance) == next_up


def test_a_process_that_reached_its_end_says_so_once(start, people, engine):
    instance = start(diagrams.one_task())
    complete(instance, "check", people["analyst"])
    engine()
    services.advance(instance.pk)
    instance.refresh_from_db()
    assert (instance.status, instance.end_event) == ("COMPLETED", "Finished")
    assert names_told() == [
        "PROCESS_STARTED", "WORKITEM_CREATED", "WORKITEM_COMPLETED", "PROCESS_COMPLETED",
    ]  # fmt: skip
    assert told("PROCESS_COMPLETED")[0][1]["end_event"] == "Finished"


def test_parallel_branches_are_joined_whoever_comes_first(start, people, engine):
    instance = start(diagrams.both())
    assert open_activities(instance) == ["left", "right"]
    complete(instance, "right", people["analyst"], right=1)
    engine()
    assert open_activities(instance) == ["left"]
    complete(instance, "left", people["analyst"], left=2)
    engine()
    assert open_activities(instance) == ["after"]
    instance.refresh_from_db()
    assert instance.variables == {"left": 2, "right": 1}


def test_both_branches_may_be_done_before_the_engine_looks(start, people, engine):
    instance = start(diagrams.both())
    complete(instance, "left", people["analyst"])
    complete(instance, "right", people["analyst"])
    engine()
    assert open_activities(instance) == ["after"]
    assert instance.work_items.filter(activity_id="after").count() == 1


def test_hearing_of_a_finished_item_twice_moves_the_process_once(start, people, engine):
    instance = start(diagrams.both())
    complete(instance, "left", people["analyst"])
    for _again in range(3):
        services.advance(instance.pk)
    assert open_activities(instance) == ["right"]
    assert instance.work_items.count() == 2


SUB = diagram(
    START
    + '<subProcess id="inner"><startEvent id="in"/>'
    + user("inside")
    + '<endEvent id="out"/>'
    + flow("in", "inside", "out")
    + "</subProcess>"
    + user("after")
    + END
    + flow("start", "inner", "after", "end")
)
CALLED = diagram(
    START
    + '<callActivity id="call" calledElement="other"/>'
    + user("after")
    + END
    + flow("start", "call", "after", "end"),
    also='<process id="other" isExecutable="true"><startEvent id="in"/>'
    + user("inside")
    + '<endEvent id="out"/>'
    + flow("in", "inside", "out")
    + "</process>",
)


@pytest.mark.parametrize("text", [SUB, CALLED], ids=["embedded", "called"])
def test_a_process_inside_a_process_comes_back_to_it(start, people, engine, text):
    instance = start(text)
    assert open_activities(instance) == ["inside"]
    complete(instance, "inside", people["analyst"], found=7)
    engine()
    assert open_activities(instance) == ["after"]
    complete(instance, "after", people["analyst"])
    engine()
    instance.refresh_from_db()
    assert (instance.status, instance.variables) == ("COMPLETED", {"found": 7})


def test_a_script_sets_variables_and_a_loop_goes_round(start, people, engine):
    text = diagram(
        START
        + user("add")
        + "<scriptTask id='sum'><script>total = total + given\nrounds = rounds + 1</script>"
        + "</scriptTask><exclusiveGateway id='enough' default='more'/>"
        + END
        + flow("start", "add", "sum", "enough")
        + flow("enough", "end", condition="total &gt;= 10")
        + flow("enough", "add", name="more")
    )
    instance = start(text, total=0, rounds=0)
    for _round in range(3):
        complete(instance, "add", people["analyst"], given=4)
        engine()
    instance.refresh_from_db()
    assert instance.status == "COMPLETED"
    assert instance.variables == {"total": 12, "rounds": 3, "given": 4}


def wait(time):
    middle = timer("intermediateCatchEvent", "pause", time)
    return diagram(START + middle + user("after") + END + flow("start", "pause", "after", "end"))


@pytest.mark.parametrize("time", ["PT2H", "2026-01-05T14:00:00+00:00", "${pause_for}"])
def test_a_timer_fires_when_its_time_has_come_and_once(start, time):
    instance = start(wait(time), pause_for="PT2H")
    assert told("PROCESS_STARTED")[0][1]["first_workitem_id"] is None
    assert services.fire_due_timers(now=NOON + timedelta(hours=1, minutes=59)) == 0
    assert open_activities(instance) == []
    assert services.fire_due_timers(now=NOON + timedelta(hours=2)) == 1
    assert services.fire_due_timers(now=NOON + timedelta(days=9)) == 0
    assert open_activities(instance) == ["after"]
    assert ProcessTimer.objects.get().fired_at == NOON + timedelta(hours=2)
    assert names_told().count("WORKITEM_CREATED") == 1


def late(cancel):
    boundary = timer("boundaryEvent", "late", "P1D", attachedToRef="check", cancelActivity=cancel)
    return diagram(
        START
        + user("check")
        + boundary
        + user("remind")
        + END
        + flow("start", "check", "end")
        + '<endEvent id="gone"/>'
        + flow("late", "remind", "gone")
    )


def test_a_timer_may_take_the_work_away(start):
    instance = start(late("true"))
    services.fire_due_timers(now=NOON + timedelta(days=1))
    assert open_activities(instance) == ["remind"]
    assert item_of(instance, "check").status == "CANCELLED"


def test_a_timer_may_only_remind(start, people, engine):
    instance = start(late("false"))
    services.fire_due_timers(now=NOON + timedelta(days=1))
    assert open_activities(instance) == ["check", "remind"]
    complete(instance, "check", people["analyst"])
    complete(instance, "remind", people["analyst"])
    engine()
    instance.refresh_from_db()
    assert instance.status == "COMPLETED"


def test_work_done_in_time_stops_the_clock(start, people, engine):
    instance = start(late("true"))
    complete(instance, "check", people["analyst"])
    engine()
    assert ProcessTimer.objects.count() == 0
    assert services.fire_due_timers(now=NOON + timedelta(days=2)) == 0
    instance.refresh_from_db()
    assert instance.status == "COMPLETED"


def test_a_timer_of_a_terminated_process_never_fires(start):
    instance = start(wait("PT2H"))
    services.terminate_process(instance=instance, reason="withdrawn", now=NOON)
    assert services.fire_due_timers(now=NOON + timedelta(days=1)) == 0


def test_terminating_cancels_the_work_and_says_why(start, people):
    instance = start(diagrams.both())
    services.terminate_process(instance=instance, reason="The petition was withdrawn.", now=NOON)
    assert set(instance.work_items.values_list("status", flat=True)) == {"CANCELLED"}
    assert told("PROCESS_TERMINATED")[0][1]["reason"] == "The petition was withdrawn."
    with pytest.raises(ProcessOver):
        services.terminate_process(instance=instance, reason="again", now=NOON)
    assert len(told("PROCESS_TERMINATED")) == 1


def test_a_terminate_end_ends_the_other_branch_too(start, people, engine):
    text = diagram(
        START
        + '<parallelGateway id="fork"/>'
        + user("left")
        + user("right")
        + '<endEvent id="stop"><terminateEventDefinition/></endEvent>'
        + END
        + flow("start", "fork", "left", "stop")
        + flow("fork", "right", "end")
    )
    instance = start(text)
    complete(instance, "left", people["analyst"])
    engine()
    instance.refresh_from_db()
    assert (instance.status, open_activities(instance)) == ("COMPLETED", [])
    assert item_of(instance, "right").status == "CANCELLED"


def test_a_process_that_cannot_decide_is_stuck_until_somebody_helps(start, people, engine):
    instance = start(diagrams.decision())
    complete(instance, "check", people["attorney"])
    engine()
    instance.refresh_from_db()
    assert (instance.status, instance.stands_at) == ("STUCK", ["check"])
    assert "amount" in instance.problem
    services.resume_process(instance=instance, variables={"amount": 5000}, now=NOON)
    instance.refresh_from_db()
    assert (instance.status, instance.problem) == ("RUNNING", "")
    assert open_activities(instance) == ["decide"]
    with pytest.raises(NotStuck):
        services.resume_process(instance=instance, variables={}, now=NOON)


def test_what_was_tried_in_vain_is_not_done_twice(start, people, engine):
    text = diagram(
        START
        + user("add")
        + "<scriptTask id='sum'><script>total = total + given</script></scriptTask>"
        + user("after", due="${deadline}")
        + END
        + flow("start", "add", "sum", "after", "end")
    )
    instance = start(text, total=0)
    complete(instance, "add", people["analyst"], given=4)
    engine()
    instance.refresh_from_db()
    assert (instance.status, instance.variables) == ("STUCK", {"total": 0})
    assert "deadline" in instance.problem
    again = services.resume_process(instance=instance, variables={"other": 1}, now=NOON)
    assert (again.status, again.variables) == ("STUCK", {"total": 0, "other": 1})
    services.resume_process(instance=instance, variables={"deadline": "P1D"}, now=NOON)
    instance.refresh_from_db()
    assert instance.variables == {"total": 4, "given": 4, "other": 1, "deadline": "P1D"}
    assert item_of(instance, "after").due_at == NOON + timedelta(days=1)


def test_a_first_task_that_is_never_due_cannot_be_started(start):
    with pytest.raises(CannotStart, match="deadline"):
        start(diagrams.one_task(due="${deadline}"))
    assert (ProcessInstance.objects.count(), names_told()) == (0, [])


def test_results_that_grow_too_large_together_leave_it_stuck(start, people, engine):
    instance = start(diagrams.both())
    complete(instance, "left", people["analyst"], left="x" * 40_000)
    complete(instance, "right", people["analyst"], right="x" * 40_000)
    engine()
    instance.refresh_from_db()
    assert (instance.status, "64 KB" in instance.problem) == ("STUCK", True)


def test_a_result_that_looks_like_the_engines_own_is_only_a_value(start, people, engine):
    instance = start(diagrams.both())
    fake = {"typename": "_Workflow", "tasks": {}, "root": "x"}
    complete(instance, "left", people["analyst"], typename="Task", fake=fake)
    complete(instance, "right", people["analyst"])
    engine()
    instance.refresh_from_db()
    assert open_activities(instance) == ["after"]
    assert instance.variables == {"typename": "Task", "fake": fake}


def test_one_that_is_stuck_keeps_no_other_from_moving(start, people):
    text = wait("PT1H").replace('id="claim"', 'id="other"')
    broken = START + timer("intermediateCatchEvent", "pause", "PT1H") + END
    broken += '<scriptTask id="fail"><script>x = missing</script></scriptTask>'
    stuck = start(diagram(broken + flow("start", "pause", "fail", "end")))
    fine = start(text)
    services.fire_due_timers(now=NOON + timedelta(hours=1))
    stuck.refresh_from_db()
    assert stuck.status == "STUCK"
    assert open_activities(fine) == ["after"]
    assert services.fire_due_timers(now=NOON + timedelta(hours=2)) == 0


def test_a_loop_that_never_waits_is_stopped_and_nothing_is_kept(start):
    circle = diagram(
        START
        + "<scriptTask id='spin'><script>n = n + 1</script></scriptTask>"
        + "<exclusiveGateway id='go' default='on'/>"
        + END
        + flow("start", "spin", "go")
        + flow("go", "end", condition="n &lt; 0")
        + flow("go", "spin", name="on")
    )
    with pytest.raises(CannotStart, match="circles"):
        start(circle, n=0)
    assert ProcessInstance.objects.count() == 0
    assert names_told() == []


def test_what_is_missing_at_the_start_is_told_and_nothing_is_kept(start):
    text = diagram(
        START + "<scriptTask id='s'><script>x = y</script></scriptTask>" + END
        + flow("start", "s", "end")
    )  # fmt: skip
    with pytest.raises(CannotStart, match="y"):
        start(text)
    assert ProcessInstance.objects.count() == 0


def test_a_running_process_keeps_the_version_it_began_with(start, people, engine):
    instance = start(diagrams.one_task())
    definition = instance.version.definition
    longer = diagram(
        START + user("check") + user("more") + END + flow("start", "check", "more", "end")
    )
    second = services.add_version(definition=definition, text=longer)
    assert services.start_process(definition=definition).version.number == 1
    services.publish_version(version=second)
    assert services.start_process(definition=definition).version.number == 2
    complete(instance, "check", people["analyst"])
    engine()
    instance.refresh_from_db()
    assert (instance.version.number, instance.status) == (1, "COMPLETED")


class TestVersions:
    @pytest.fixture
    def version(self, in_acme):
        return services.upload_definition(text=diagrams.one_task()).versions.get()

    def test_a_draft_can_be_changed_and_a_published_version_cannot(self, version):
        services.revise_draft(version=version, text=diagrams.decision(), note="more")
        services.publish_version(version=version)
        with pytest.raises(VersionPublished):
            services.revise_draft(version=version, text=diagrams.one_task(), note="")
        with pytest.raises(VersionPublished):
            services.discard_draft(version=version)
        with pytest.raises(VersionPublished):
            services.publish_version(version=version)

    def test_not_even_a_query_changes_a_published_version(self, version):
        services.publish_version(version=version)
        with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
            ProcessVersion.objects.update(bpmn="<other/>")
        ProcessVersion.objects.update(note="a note is not the process")

    def test_a_draft_cannot_be_started(self, version):
        with pytest.raises(NothingPublished):
            services.start_process(definition=version.definition)

    def test_a_retired_process_cannot_be_started(self, version):
        services.publish_version(version=version)
        services.revise_definition(definition=version.definition, name="x", is_active=False)
        with pytest.raises(DefinitionRetired):
            services.start_process(definition=version.definition)

    def test_a_version_is_of_the_same_process(self, version):
        with pytest.raises(AnotherProcess):
            services.add_version(
                definition=version.definition, text=wait("PT1H").replace("claim", "x")
            )
        with pytest.raises(KeyTaken):
            services.upload_definition(text=diagrams.one_task())

    def test_discarding_the_only_draft_forgets_the_definition(self, version):
        services.discard_draft(version=version)
        assert not ProcessVersion.objects.exists()
        services.upload_definition(text=diagrams.one_task())


def test_due_dates_and_assignees_come_from_the_diagram(start, people):
    text = diagram(
        START
        + '<parallelGateway id="fork"/><parallelGateway id="join"/>'
        + user("named", assignee=people["manager"].user.email, due="P2D")
        + user("mine", assignee="initiator", due="2026-02-01T00:00:00+09:00")
        + user("nobody", assignee="gone@acme.example")
        + END
        + flow("start", "fork", "named", "join", "end")
        + flow("fork", "mine", "join")
        + flow("fork", "nobody", "join")
    )
    instance = start(text)
    named, mine = item_of(instance, "named"), item_of(instance, "mine")
    assert (named.assignee, named.due_at) == (people["manager"].user, NOON + timedelta(days=2))
    assert mine.assignee == people["attorney"].user
    assert mine.due_at.isoformat() == "2026-01-31T15:00:00+00:00"
    assert item_of(instance, "nobody").assignee is None


def test_starting_costs_the_same_however_many_tasks_begin(start, people):
    from tests.processes.conftest import queries_of

    def wide(width, key):
        names = [f"t{n}" for n in range(width)]
        return diagram(
            START + '<parallelGateway id="fork"/><parallelGateway id="join"/>' + END
            + "".join(user(name) + flow("fork", name, "join") for name in names)
            + flow("start", "fork") + flow("join", "end"),
            key=key,
        )  # fmt: skip

    few = queries_of(lambda: start(wide(2, "few")))
    assert queries_of(lambda: start(wide(30, "many"))) == few


def test_a_service_waits_like_any_work(start):
    instance = start(diagram(START + service("call") + END + flow("start", "call", "end")))
    assert item_of(instance, "call").performer == "service"
    assert connection.in_atomic_block
