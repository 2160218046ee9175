"""Processes in the console: uploaded from a file, published, looked at, ended."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from apps.events.context import acting
from apps.processes import demo, services
from apps.processes.models import ProcessDefinition, ProcessInstance, ProcessVersion, WorkItem
from tests.processes import diagrams

pytestmark = pytest.mark.django_db


@pytest.fixture
def console(client, alice):
    alice.is_staff = True
    alice.save()
    client.force_login(alice)
    return client


def file(text):
    return SimpleUploadedFile("claim.bpmn", text.encode(), "application/xml")


def add(console, text):
    return console.post(
        reverse("admin:processes_processdefinition_add"), {"file": file(text), "note": "first"}
    )


def chosen(console, model, action, rows):
    url = reverse(f"admin:processes_{model}_changelist")
    body = {"action": action, "_selected_action": [str(row.pk) for row in rows]}
    return console.post(url, body, follow=True)


def test_a_file_becomes_a_definition_and_is_published(console, in_acme):
    assert add(console, diagrams.one_task()).status_code == 302
    version = ProcessVersion.objects.get()
    assert (version.definition.key, version.note, version.is_published) == ("claim", "first", False)
    chosen(console, "processversion", "publish", [version])
    version.refresh_from_db()
    assert version.is_published


def test_a_second_version_comes_from_a_file_too(console, in_acme):
    add(console, diagrams.one_task())
    definition = ProcessDefinition.objects.get()
    body = {"definition": str(definition.pk), "file": file(diagrams.decision()), "note": ""}
    assert console.post(reverse("admin:processes_processversion_add"), body).status_code == 302
    assert definition.versions.count() == 2


@pytest.mark.parametrize("text", [diagrams.diagram(""), "<a", "x" * 1_000_001])
def test_a_bad_file_is_told_on_the_page(console, in_acme, text):
    answer = add(console, text)
    told = answer.content.decode() if answer.status_code == 200 else _messages(console, answer)
    assert "start event" in told or "XML" in told or "1 MB" in told
    assert ProcessDefinition.objects.count() == 0


def _messages(console, answer):
    return console.get(answer["Location"]).content.decode()


def test_a_process_is_terminated_and_a_result_approved(console, in_acme, alice, member_of, acme):
    engineer = services.Doer(member_of(acme, "eve", "engineer"), "engineer")
    definition = services.upload_definition(text=diagrams.machine())
    services.publish_version(version=definition.versions.get())
    first, second = (services.start_process(definition=definition) for _ in range(2))
    item = first.work_items.get()
    services.submit_work(item=item, by=engineer, result={}, confidence=0.1)
    chosen(console, "workitem", "approve", [item])
    assert WorkItem.objects.get(pk=item.pk).status == "DONE"
    chosen(console, "processinstance", "terminate", [second])
    assert ProcessInstance.objects.get(pk=second.pk).status == "TERMINATED"


def test_the_demo_stands_where_an_approval_waits(db):
    from axiom import demo as demos

    demos.load()
    demo.load()  # What is there already stays as it is.
    instances = ProcessInstance.across_tenants.order_by("title")
    assert instances.count() == 4
    waiting = WorkItem.across_tenants.filter(status=WorkItem.Status.SUBMITTED)
    assert {item.activity_name for item in waiting} == {"데이터 수치 검증", "Verify figures"}
    for instance in instances:
        with acting(tenant_id=instance.tenant_id):
            assert instance.stands_at in (["late", "receive"], ["verify"])
    demos.reset()
    assert instances.count() == 4
