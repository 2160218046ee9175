"""The work itself, over HTTP alone: a case, a process in it, a document read and one made."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection

from apps.documents.runner import Runner
from apps.events.bus.redis_streams import RedisStreams
from apps.events.consumer import Consumer
from apps.events.context import acting
from apps.events.groups import GROUPS
from apps.events.relay import Relay
from tests.documents import files
from tests.processes.diagrams import END, START, diagram, flow, service, user

API = "/api/v1"
CLAIM = diagram(
    START
    + service("read", service="document.extraction")
    + user("check", role="attorney")
    + END
    + flow("start", "read", "check", "end")
)
TEMPLATE = {
    "name": "notice",
    "title": "통지서",
    "body": "# 통지서\n\n{{ case.title }}: {{ amount }}원\n",
}


class Backbone:
    """The workers of `make run`, a step at a time."""

    def __init__(self, redis_client) -> None:
        bus = RedisStreams(redis_client)
        self.relay, self.runner = Relay(bus, "relay"), Runner("runner")
        self.consumers = [
            Consumer(GROUPS[name], bus, name) for name in ("worker_group", "bpm_engine")
        ]

    def carry(self) -> None:
        """Until nothing happens any more."""
        with acting(tenant_id=None):
            for _round in range(8):
                while self.relay.relay_batch():
                    continue
                for consumer in self.consumers:
                    consumer.step()
                while self.runner.step():
                    continue


@pytest.fixture
def backbone(redis_client, settings, tmp_path):
    settings.DOCUMENTS_DIR = tmp_path / "documents"
    yield Backbone(redis_client)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock_all()")


def on_stream(redis_client, stream):
    """The types on a stream, in order; each event once, as its id says."""
    entries = [fields for _id, fields in redis_client.xrange(stream)]
    assert len({fields[b"event_id"] for fields in entries}) == len(entries)
    return [fields[b"event_type"].decode() for fields in entries]


def ok(answer, status=201):
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.mark.django_db(transaction=True)
def test_from_an_opened_case_to_a_finished_process_with_a_document_made_for_it(
    acme, alice_api, api_of, member_of, backbone, redis_client
):
    attorney = api_of(member_of(acme, "dora", "attorney"))
    case = ok(alice_api.post(f"{API}/cases/", {"title": "한빛섬유 회생"}))
    definition = ok(alice_api.post(f"{API}/process-definitions/", {"bpmn": CLAIM}))
    version = alice_api.get(f"{API}/process-versions/?definition={definition['id']}").json()
    ok(alice_api.post(f"{API}/process-versions/{version['results'][0]['id']}/publish/"), 200)
    process = ok(
        alice_api.post(f"{API}/processes/", {"definition": definition["id"], "case_id": case["id"]})
    )

    claim = SimpleUploadedFile("claim.pdf", files.pdf("Claim of 1,250,000 KRW"))
    form = {"case": case["id"], "file": claim}
    ok(alice_api.post(f"{API}/documents/", form, format="multipart"))
    backbone.carry()

    # No pattern found anything in it: the machine is not sure, and a person looks at its result.
    (read,) = alice_api.get(f"{API}/work-items/?process={process['id']}").json()["results"]
    assert read["status"] == "SUBMITTED"
    ok(alice_api.post(f"{API}/work-items/{read['id']}/approve/", {}), 200)
    backbone.carry()

    (check,) = attorney.get(f"{API}/work-items/?mine=true").json()["results"]
    ok(attorney.post(f"{API}/work-items/{check['id']}/complete/", {"result": {"ok": True}}), 200)
    backbone.carry()
    ended = alice_api.get(f"{API}/processes/{process['id']}/").json()
    assert (ended["status"], ended["end_event"]) == ("COMPLETED", "Finished")

    ok(alice_api.post(f"{API}/document-templates/", TEMPLATE))
    order = {"template": "notice", "case": case["id"], "format": "pdf", "data": {"amount": 1250000}}
    made = ok(alice_api.post(f"{API}/documents/generate/", order), 202)
    backbone.carry()
    file = alice_api.get(f"{API}/documents/{made['id']}/download/")
    assert b"".join(file.streaming_content).startswith(b"%PDF-")

    assert on_stream(redis_client, "axiom:events") == [
        "CASE_CREATED",
        "PROCESS_STARTED",
        "WORKITEM_CREATED",
        "DOCUMENT_UPLOADED",
        "DOCUMENT_OCR_COMPLETED",
        "DOCUMENT_EXTRACTED",
        "WORKITEM_SUBMITTED",
        "WORKITEM_APPROVED",
        "WORKITEM_COMPLETED",
        "WORKITEM_CREATED",
        "WORKITEM_COMPLETED",
        "PROCESS_COMPLETED",
        "DOCUMENT_GENERATED",
    ]
    assert on_stream(redis_client, "axiom:workers") == [
        "WORKER_OCR_STARTED",
        "WORKER_OCR_COMPLETED",
        "WORKER_EXTRACT_COMPLETED",
        "WORKER_GENERATE_COMPLETED",
    ]


AGENTS = diagram(
    START
    + service("verify", agent="gpt-4o", confidence="0.8")
    + END
    + flow("start", "verify", "end"),
    key="figures",
)


@pytest.mark.django_db(transaction=True)
def test_whatever_people_and_agents_do_in_a_case_is_told_once_and_in_order(
    acme, alice, alice_api, api_of, member_of, backbone, redis_client
):
    """Assigned, moved, commented on, given data; an agent corrected, a process stopped; closed."""
    engineer = api_of(member_of(acme, "eve", "engineer"))
    case = ok(alice_api.post(f"{API}/cases/", {"title": "한빛섬유 회생"}))
    url = f"{API}/cases/{case['id']}/"
    ok(alice_api.post(f"{url}assign/", {"manager_id": str(alice.pk)}), 200)
    ok(alice_api.post(f"{url}status/", {"status": "in_progress"}), 200)
    comment = alice_api.post(f"{url}comments/", {"body": "채권자 목록을 확인해 주세요."})
    gone = alice_api.delete(comment["Location"], headers={"If-Match": comment["ETag"]})
    assert gone.status_code == 204
    ok(alice_api.post(f"{url}datasets/", {"name": "claims.csv", "records_count": 10}))

    definition = ok(alice_api.post(f"{API}/process-definitions/", {"bpmn": AGENTS}))
    (version,) = alice_api.get(f"{API}/process-versions/?definition={definition['id']}").json()[
        "results"
    ]
    ok(alice_api.post(f"{API}/process-versions/{version['id']}/publish/"), 200)
    order = {"definition": definition["id"], "case_id": case["id"]}
    first, second = (ok(alice_api.post(f"{API}/processes/", order)) for _ in range(2))
    (item,) = engineer.get(f"{API}/work-items/?process={first['id']}").json()["results"]
    work = f"{API}/work-items/{item['id']}/"
    ok(engineer.post(f"{work}submit/", {"result": {"claims": 47}, "confidence": 0.4}), 200)
    judged = {"result": {"claims": 45}, "comment": "two doubles", "lesson": "Count each once."}
    ok(alice_api.post(f"{work}approve/", judged), 200)
    backbone.carry()
    ok(alice_api.post(f"{API}/processes/{second['id']}/terminate/", {"reason": "a double"}), 200)
    ok(alice_api.post(f"{url}close/", {"reason": "done"}), 200)
    backbone.carry()

    assert on_stream(redis_client, "axiom:events") == [
        "CASE_CREATED",
        "CASE_ASSIGNED",
        "CASE_STATUS_CHANGED",
        "COMMENT_ADDED",
        "COMMENT_DELETED",
        "PROCESS_STARTED",
        "WORKITEM_CREATED",
        "PROCESS_STARTED",
        "WORKITEM_CREATED",
        "WORKITEM_SUBMITTED",
        "WORKITEM_APPROVED",
        "AGENT_FEEDBACK_RECEIVED",
        "AGENT_KNOWLEDGE_UPDATED",
        "WORKITEM_COMPLETED",
        "PROCESS_COMPLETED",
        "PROCESS_TERMINATED",
        "CASE_STATUS_CHANGED",
    ]
    assert on_stream(redis_client, "axiom:watches") == ["DATA_REGISTERED"]
