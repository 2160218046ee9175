"""Processes over HTTP: the walk from a file to a finished process, and every refusal on the way."""

import pytest

from apps.processes import services
from apps.processes.models import ProcessDefinition, ProcessInstance, WorkItem
from tests.processes import diagrams
from tests.processes.conftest import item_of, names_told, queries_of

pytestmark = pytest.mark.django_db

API = "/api/v1"


@pytest.fixture
def as_(people, api_of):
    """The API client of whoever has this role."""
    return lambda role: api_of(people[role].user)


def upload(client, text, **more):
    return client.post(f"{API}/process-definitions/", {"bpmn": text, **more})


def published(client, text):
    definition = upload(client, text).json()
    version = client.get(f"{API}/process-versions/?definition={definition['id']}").json()
    client.post(f"{API}/process-versions/{version['results'][0]['id']}/publish/")
    return definition["id"]


def started(client, text, **more):
    body = {"definition": published(client, text), **more}
    return client.post(f"{API}/processes/", body).json()


def act(client, item, verb, **body):
    return client.post(f"{API}/work-items/{item}/{verb}/", body)


def items_of(client, process):
    return client.get(f"{API}/work-items/?process={process['id']}").json()["results"]


def test_the_walk_from_a_file_to_a_finished_process(as_, engine, in_acme):
    admin, attorney, manager = as_("admin"), as_("attorney"), as_("manager")
    process = started(admin, diagrams.decision(), title="Hanbit", variables={"currency": "KRW"})
    assert (process["status"], process["stands_at"]) == ("RUNNING", ["check"])
    (check,) = attorney.get(f"{API}/work-items/?mine=true").json()["results"]
    assert act(attorney, check["id"], "start").json()["status"] == "IN_PROGRESS"
    done = act(attorney, check["id"], "complete", result={"amount": 5000})
    assert (done.status_code, done.json()["status"]) == (200, "DONE")
    engine()
    (decide,) = manager.get(f"{API}/work-items/?mine=true").json()["results"]
    act(manager, decide["id"], "complete", result={"accepted": True})
    engine()
    ended = admin.get(f"{API}/processes/{process['id']}/").json()
    assert (ended["status"], ended["end_event"]) == ("COMPLETED", "Finished")
    assert ended["variables"] == {"currency": "KRW", "amount": 5000, "accepted": True}
    assert names_told() == [
        "PROCESS_STARTED", "WORKITEM_CREATED", "WORKITEM_COMPLETED", "WORKITEM_CREATED",
        "WORKITEM_COMPLETED", "PROCESS_COMPLETED",
    ]  # fmt: skip
    steps = attorney.get(f"{API}/work-items/{check['id']}/").json()["steps"]
    assert [step["kind"] for step in steps] == ["created", "started", "completed"]


def test_a_machines_unsure_result_is_approved_by_a_person(as_, engine, in_acme):
    process = started(as_("admin"), diagrams.machine())
    (item,) = items_of(as_("admin"), process)
    handed_in = act(as_("engineer"), item["id"], "submit", result={"rows": 45}, confidence=0.5)
    assert handed_in.json()["status"] == "SUBMITTED"
    refused = act(as_("attorney"), item["id"], "approve")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_your_work")
    manager = as_("manager")
    assert len(manager.get(f"{API}/work-items/?mine=true").json()["results"]) == 1
    body = {"result": {"rows": 44}, "comment": "One twice.", "lesson": "Look for duplicates."}
    assert act(manager, item["id"], "approve", **body).json()["status"] == "DONE"
    engine()
    assert manager.get(f"{API}/processes/{process['id']}/").json()["variables"] == {"rows": 44}
    (feedback,) = manager.get(f"{API}/agent-feedback/?agent=gpt-4o").json()["results"]
    assert feedback["verdict"] == "corrected"
    (known,) = manager.get(f"{API}/agent-knowledge/?agent=gpt-4o").json()["results"]
    assert known["summary"] == "Look for duplicates."


def test_done_twice_is_409_and_done_by_the_wrong_person_403(as_, in_acme):
    process = started(as_("admin"), diagrams.one_task(role="attorney"))
    (item,) = items_of(as_("admin"), process)
    wrong = act(as_("analyst"), item["id"], "complete", result={"a": 1})
    assert (wrong.status_code, wrong.json()["code"]) == (403, "not_your_work")
    attorney = as_("attorney")
    assert act(attorney, item["id"], "complete", result={"a": 2}).status_code == 200
    before = WorkItem.objects.values().get()
    twice = act(attorney, item["id"], "complete", result={"a": 3})
    assert (twice.status_code, twice.json()["code"]) == (409, "wrong_state")
    assert WorkItem.objects.values().get() == before
    assert names_told().count("WORKITEM_COMPLETED") == 1


def test_the_same_completion_sent_twice_with_a_key_is_done_once(as_, in_acme):
    process = started(as_("admin"), diagrams.one_task())
    (item,) = items_of(as_("admin"), process)
    client, url = as_("analyst"), f"{API}/work-items/{item['id']}/complete/"
    for _again in range(2):
        answer = client.post(url, {"result": {}}, headers={"Idempotency-Key": "k1"})
        assert (answer.status_code, answer.json()["status"]) == (200, "DONE")
    assert names_told().count("WORKITEM_COMPLETED") == 1


def test_delegating_terminating_and_resuming(as_, people, engine, in_acme):
    process = started(as_("admin"), diagrams.decision())
    (item,) = items_of(as_("admin"), process)
    to = {"to": str(people["analyst"].user.pk)}
    given = act(as_("manager"), item["id"], "delegate", **to).json()
    assert given["assignee"]["email"] == "the-analyst@acme.example"
    act(as_("analyst"), item["id"], "complete")
    engine()
    url = f"{API}/processes/{process['id']}"
    stuck = as_("admin").get(f"{url}/").json()
    assert (stuck["status"], "amount" in stuck["problem"]) == ("STUCK", True)
    resumed = as_("engineer").post(f"{url}/resume/", {"variables": {"amount": 9999}})
    assert resumed.json()["stands_at"] == ["decide"]
    assert as_("analyst").post(f"{url}/terminate/", {"reason": "x"}).status_code == 403
    ended = as_("manager").post(f"{url}/terminate/", {"reason": "Withdrawn."})
    assert (ended.json()["status"], ended.json()["reason"]) == ("TERMINATED", "Withdrawn.")
    again = as_("manager").post(f"{url}/terminate/", {"reason": "x"})
    assert (again.status_code, again.json()["code"]) == (409, "process_over")


class TestDefinitions:
    def test_a_draft_is_changed_under_its_etag_and_published_for_good(self, as_, in_acme):
        client = as_("engineer")
        definition = upload(client, diagrams.one_task(), name="Check").json()
        assert (definition["published_version"], definition["newest_version"]) == (None, 1)
        (listed,) = client.get(f"{API}/process-versions/").json()["results"]
        url = f"{API}/process-versions/{listed['id']}/"
        shown = client.get(url)
        assert client.patch(url, {"note": "x"}).status_code == 428
        changed = client.patch(url, {"note": "x"}, headers={"If-Match": shown["ETag"]})
        assert changed.json()["note"] == "x"
        assert (
            client.patch(url, {"note": "y"}, headers={"If-Match": shown["ETag"]}).status_code == 412
        )
        assert client.post(f"{url}publish/").json()["is_published"] is True
        late = client.patch(url, {"note": "y"}, headers={"If-Match": "*"})
        assert (late.status_code, late.json()["code"]) == (409, "version_published")
        assert client.delete(url, headers={"If-Match": "*"}).status_code == 409

    def test_a_second_version_and_a_retired_definition(self, as_, in_acme):
        client = as_("manager")
        key = published(client, diagrams.one_task())
        body = {"definition": key, "bpmn": diagrams.decision(), "note": "with a decision"}
        second = client.post(f"{API}/process-versions/", body).json()
        assert (second["number"], "decide" in second["activities"]) == (2, True)
        url = f"{API}/process-definitions/{key}/"
        retired = client.patch(url, {"is_active": False}, headers={"If-Match": "*"})
        assert (retired.json()["is_active"], retired.json()["published_version"]) == (False, 1)
        refused = client.post(f"{API}/processes/", {"definition": key})
        assert (refused.status_code, refused.json()["code"]) == (409, "definition_retired")

    @pytest.mark.parametrize("role", ["attorney", "analyst"])
    def test_not_everybody_defines_processes(self, as_, role, in_acme):
        assert upload(as_(role), diagrams.one_task()).status_code == 403
        assert ProcessDefinition.objects.count() == 0

    def test_the_same_process_twice_is_409(self, as_, in_acme):
        upload(as_("admin"), diagrams.one_task())
        twice = upload(as_("admin"), diagrams.one_task())
        assert (twice.status_code, twice.json()["code"]) == (409, "definition_exists")

    def test_bad_diagrams_are_told_with_every_reason(self, as_, in_acme):
        answer = upload(as_("admin"), diagrams.diagram(diagrams.user("check")))
        problem = answer.json()
        assert answer["Content-Type"] == "application/problem+json"
        assert (answer.status_code, problem["code"]) == (400, "invalid_bpmn")
        assert {each["code"] for each in problem["errors"]} >= {"no_start", "no_end", "dead_end"}
        assert all(each["pointer"] == "#/bpmn" for each in problem["errors"])
        assert ProcessDefinition.objects.count() == 0

    def test_ten_megabytes_of_nested_xml_are_refused_unread(self, as_, in_acme):
        text = "<a>" * 1_500_000 + "</a>" * 1_500_000
        answer = upload(as_("admin"), text)
        assert (answer.status_code, answer.json()["code"]) == (400, "bpmn_too_large")
        assert ProcessDefinition.objects.count() == 0


class TestStarting:
    def test_a_case_of_another_tenant_is_not_there(self, as_, rival, in_acme):
        from apps.cases.models import Case
        from apps.events.context import acting

        with acting(tenant_id=rival.pk):
            theirs = Case.objects.create(title="Theirs", tenant=rival)
        body = {"definition": published(as_("admin"), diagrams.one_task()), "case_id": theirs.pk}
        answer = as_("admin").post(f"{API}/processes/", body)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "#/case_id")
        assert ProcessInstance.objects.count() == 0

    def test_a_closed_case_gets_no_process(self, as_, case):
        from apps.cases.models import Case

        Case.objects.filter(pk=case.pk).update(status="closed", closed_at=case.opened_at)
        body = {"definition": published(as_("admin"), diagrams.one_task()), "case_id": case.pk}
        assert as_("admin").post(f"{API}/processes/", body).status_code == 409

    def test_values_that_cannot_be_kept_are_refused(self, as_, in_acme):
        key = published(as_("admin"), diagrams.one_task())
        for variables in ({"a": "\x00"}, {"a": "x" * 70_000}, {"a" * 70_000: 1}):
            body = {"definition": key, "variables": variables}
            answer = as_("admin").post(f"{API}/processes/", body)
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_facts")
        assert ProcessInstance.objects.count() == 0


def test_the_diagram_says_where_the_process_stands(as_, in_acme):
    process = started(as_("admin"), diagrams.one_task())
    shown = as_("analyst").get(f"{API}/processes/{process['id']}/diagram/").json()
    assert (shown["stands_at"], shown["been_at"]) == (["check"], ["start"])
    assert "BPMNShape" in shown["bpmn"]


def mine(client):
    rows = client.get(f"{API}/work-items/?mine=true").json()["results"]
    return sorted(row["activity_id"] for row in rows)


def test_mine_is_what_i_can_do_now(as_, people, in_acme):
    text = diagrams.diagram(
        diagrams.START + '<parallelGateway id="fork"/><parallelGateway id="join"/>' + diagrams.END
        + "".join(
            diagrams.user(name, **how) + diagrams.flow("fork", name, "join")
            for name, how in {
                "anyones": {},
                "managers": {"role": "manager"},
                "analysts": {"assignee": people["analyst"].user.email},
                "agents": {"agent": "gpt-4o"},
            }.items()
        )
        + diagrams.flow("start", "fork") + diagrams.flow("join", "end")
    )  # fmt: skip
    started(as_("admin"), text)
    assert mine(as_("manager")) == ["anyones", "managers"]
    assert mine(as_("analyst")) == ["analysts", "anyones"]
    assert mine(as_("attorney")) == ["anyones"]
    agents = WorkItem.objects.get(activity_id="agents")
    services.submit_work(item=agents, by=people["engineer"], result={}, confidence=0.1)
    assert mine(as_("manager")) == ["agents", "anyones", "managers"]
    assert mine(as_("engineer")) == ["anyones"]


def test_what_is_overdue_is_found(as_, start, in_acme):
    start(diagrams.one_task(due="P1D"))
    client = as_("analyst")
    assert len(client.get(f"{API}/work-items/?overdue=true").json()["results"]) == 1
    assert len(client.get(f"{API}/work-items/?overdue=false").json()["results"]) == 0
    assert (
        len(client.get(f"{API}/work-items/?due_before=2026-01-07T00:00:00Z").json()["results"]) == 1
    )
    assert len(client.get(f"{API}/work-items/?status=DONE&status=REJECTED").json()["results"]) == 0


@pytest.mark.parametrize(
    "path",
    ["work-items/?mine=true", "work-items/?ordering=due_at", "processes/", "process-definitions/",
     "process-versions/", "agent-feedback/", "agent-knowledge/"],
)  # fmt: skip
def test_a_longer_page_asks_no_more_questions(as_, people, in_acme, path):
    def add(number):
        for n in range(number):
            key = f"k{ProcessDefinition.objects.count()}_{n}"
            text = diagrams.machine().replace('"claim"', f'"{key}"')
            definition = services.upload_definition(text=text)
            services.publish_version(version=definition.versions.get())
            instance = services.start_process(definition=definition, by=people["manager"].user)
            item = item_of(instance, "read")
            services.submit_work(item=item, by=people["engineer"], result={}, confidence=0.1)
            services.reject_work(
                item=item, by=people["manager"], reason="x", lesson="y", do_it_myself=True
            )

    client = as_("manager")
    add(2)
    few = queries_of(lambda: client.get(f"{API}/{path}"))
    add(6)
    assert len(client.get(f"{API}/{path}").json()["results"]) >= 8
    assert queries_of(lambda: client.get(f"{API}/{path}")) == few
