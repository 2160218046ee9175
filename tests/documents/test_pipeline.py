"""From a file to its fields, step by step, and what happens when a step does not work."""

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.cases.services import open_case
from apps.documents import confine, ocr, services, steps
from apps.documents.models import DocumentVersion, Job, Page
from apps.documents.runner import Runner
from apps.documents.services import queue, settle
from apps.events.context import acting
from apps.events.models import OutboxEvent
from tests.documents import files
from tests.documents.conftest import DOCUMENTS

pytestmark = pytest.mark.django_db

CLAIMS = "Debtor: Hanbit Textile Co.\nTotal claims: 1,250,000 KRW\nFiled on 2026-01-05"
UPLOADED = ["DOCUMENT_UPLOADED", "WORKER_OCR_STARTED"]


@pytest.fixture
def total(in_acme):
    return services.add_pattern(
        field="total_claims", pattern=r"Total claims: ([\d,]+)", value_type="number"
    )


def version_of(document):
    return DocumentVersion.objects.get(document=document)


def test_a_pdf_with_a_text_layer_goes_through_and_each_event_is_told_once(
    put, workshop, total, payload_of
):
    document = put(files.pdf(CLAIMS, "second page"))
    workshop.work()
    version = version_of(document)
    assert (version.state, version.method, version.pages_done) == ("READY", "text_layer", 2)
    assert workshop.on_stream("axiom:events")[-3:] == [
        "DOCUMENT_UPLOADED", "DOCUMENT_OCR_COMPLETED", "DOCUMENT_EXTRACTED",
    ]  # fmt: skip
    assert workshop.on_stream("axiom:workers") == [
        "WORKER_OCR_STARTED", "WORKER_OCR_COMPLETED", "WORKER_EXTRACT_COMPLETED",
    ]  # fmt: skip
    assert payload_of("DOCUMENT_EXTRACTED")["fields"] == {
        "total_claims": {"value": 1250000, "confidence": 0.9}
    }


def test_korean_on_a_scan_is_read_and_its_fields_are_less_certain(put, workshop, payload_of):
    assert ocr.missing() == [], "install tesseract-ocr and tesseract-ocr-kor to run the tests"
    services.add_pattern(field="total", pattern=r"금\s*액\s*([\d,]+)", value_type="number")
    document = put(files.scanned_pdf("채권자 목록\n금액 987654 원", "둘째 쪽입니다"), "scan.pdf")
    workshop.work()
    version = version_of(document)
    assert (version.state, version.method, version.pages_done) == ("READY", "ocr", 2), version.error
    assert "채권자" in Page.objects.get(version=version, number=1).text
    field = payload_of("DOCUMENT_EXTRACTED")["fields"]["total"]
    assert field["value"] == 987654
    assert 0.3 < field["confidence"] < 0.9
    assert payload_of("DOCUMENT_OCR_COMPLETED")["confidence"] > 0.5


def test_a_docx_is_read(put, workshop):
    document = put(files.docx("채권자 목록", "Total claims: 7"), "list.docx")
    workshop.work()
    page = Page.objects.get(version=version_of(document))
    assert (page.text, page.method) == ("채권자 목록\nTotal claims: 7", "text_layer")


def test_without_an_engine_a_scan_waits_and_goes_on_once_there_is_one(
    put, workshop, settings, payload_of
):
    settings.DOCUMENTS_TESSERACT = "no-such-engine"
    document = put(files.picture("Total claims: 42"), "scan.png")
    workshop.work()
    assert version_of(document).state == "NEEDS_OCR_ENGINE"
    assert payload_of("WORKER_OCR_COMPLETED")["outcome"] == "needs_ocr_engine"
    assert services.resume_what_waits() == 0

    settings.DOCUMENTS_TESSERACT = "tesseract"
    assert services.resume_what_waits() == 1
    workshop.work()
    assert version_of(document).state == "READY"
    assert "claims" in Page.objects.get(version=version_of(document)).text


def test_a_missing_language_is_a_missing_engine(settings):
    settings.DOCUMENTS_OCR_LANGUAGES = "kor+tlh"
    assert ocr.missing() == ["tesseract-ocr-tlh"]


def test_a_worker_that_dies_loses_one_page_and_the_next_one_goes_on(
    put, workshop, told, monkeypatch
):
    document = put(files.pdf(*[f"page {n} with enough text" for n in range(1, 46)]), "long.pdf")
    workshop.carry()
    job = queue.claim("first")
    work = steps.Work(job, threading.Event())
    with acting_for(job):
        settle.begin(job)
        steps._read(work, list(range(1, 21)))
    # The first worker is gone. Nobody else may have the job until its lease runs out.
    assert queue.claim("second") is None
    late = queue.claim("second", now=timezone.now() + timedelta(seconds=queue.lease_seconds() + 1))
    assert (late.pk, late.attempts) == (job.pk, 2)

    asked = []
    run = confine.run
    monkeypatch.setattr(
        confine, "run", lambda verb, **o: asked.append(o["first"]) or run(verb, **o)
    )
    with acting_for(late):
        steps.read(steps.Work(late, threading.Event()))
    assert asked == [21, 41]
    assert version_of(document).pages_done == 45
    # The first one comes back to life: it can no longer change anything.
    with acting_for(job), pytest.raises(queue.LeaseLost):
        settle.finish_reading(job)
    assert told().count("WORKER_OCR_COMPLETED") == 1


def acting_for(job):
    from apps.events.context import fresh

    return fresh(tenant_id=job.tenant_id, actor=job.actor)


def test_no_transaction_is_open_while_a_page_is_read(put, workshop, monkeypatch):
    from django.db import connection

    put(files.pdf(CLAIMS))
    workshop.carry()
    depth = len(connection.savepoint_ids)
    seen = []
    run = confine.run

    def watched(verb, **order):
        seen.append(len(connection.savepoint_ids))
        return run(verb, **order)

    monkeypatch.setattr(confine, "run", watched)
    Runner().step()
    assert seen == [depth]


def test_tenants_take_turns_however_much_one_of_them_brings(put, workshop, acme, rival):
    """Three documents of Acme came first; the rival's only one is not the fourth to be read."""
    for number in range(3):
        put(f"number {number}".encode(), f"{number}.txt")
    with acting(tenant_id=rival.pk):
        theirs = open_case(title="Theirs")
        put(b"their only one", "theirs.txt", case_id=theirs.pk)
    workshop.carry()
    runner = Runner()
    assert runner.step()
    assert runner.step()
    assert {job.tenant_id for job in Job.across_tenants.filter(state="DONE")} == {acme.pk, rival.pk}
    assert runner.step()
    assert runner.step()
    assert not runner.step()


def test_who_is_told_to_stop_puts_the_job_back(put, workshop):
    document = put(files.pdf(CLAIMS))
    workshop.carry()
    stop = threading.Event()
    stop.set()
    assert Runner().step(stop)
    job = Job.objects.get(version__document=document)
    assert (job.state, job.attempts, job.claim_token) == ("QUEUED", 0, None)
    workshop.work()
    assert version_of(document).state == "READY"


def test_a_job_that_ends_its_worker_each_time_is_given_up(put, workshop, payload_of):
    document = put(files.pdf(CLAIMS))
    workshop.carry()
    Job.objects.update(attempts=queue.MOST_ATTEMPTS)
    Runner().step()
    version = version_of(document)
    assert (version.state, bool(version.error)) == ("FAILED", True)
    assert payload_of("WORKER_OCR_COMPLETED")["outcome"] == "failed"


def test_a_job_that_breaks_is_tried_again_later(put, workshop, monkeypatch):
    document = put(files.pdf(CLAIMS))
    workshop.carry()
    monkeypatch.setitem(steps.STEPS, "ocr", lambda work: 1 / 0)
    for _ in range(queue.MOST_ATTEMPTS):
        assert Runner().step()
        assert not Runner().step(), "it waits for its time"
        Job.objects.update(run_after=None)
    assert version_of(document).state == "FAILED"


def test_a_file_that_vanished_is_said_to_have(put, workshop, stored):
    document = put(files.pdf(CLAIMS))
    for path in stored():
        path.unlink()
    workshop.work()
    version = version_of(document)
    assert (version.state, "not in the store" in version.error) == ("FAILED", True)


def test_a_page_that_unpacks_without_end_does_no_harm(put, workshop, settings):
    settings.DOCUMENTS_CHILD_MEMORY_MB = 400
    document = put(files.pdf_that_unpacks_to(600_000_000), "bomb.pdf")
    workshop.work()
    assert version_of(document).state in {"READY", "FAILED"}


def test_delivered_twice_it_is_done_once(put, workshop, told):
    put(files.pdf(CLAIMS))
    workshop.work()
    job = Job.objects.get(kind="ocr")
    assert not services.queue_job(job_id=job.pk)
    assert not services.queue_extraction(document_id=job.version.document_id, number=1)
    assert not Runner().step()
    assert told().count("DOCUMENT_EXTRACTED") == 1


def test_new_patterns_are_tried_on_what_was_read(put, workshop, alice_api, payload_of, in_acme):
    document = put(files.pdf(CLAIMS))
    workshop.work()
    assert payload_of("DOCUMENT_EXTRACTED")["fields"] == {}
    services.add_pattern(field="filed", pattern=r"Filed on (\S+)", value_type="date")
    url = f"{DOCUMENTS}{document.pk}/process/"
    assert alice_api.post(url).status_code == 202
    again = alice_api.post(url)
    assert (again.status_code, again.json()["code"]) == (409, "document_in_progress")
    workshop.work()
    assert payload_of("DOCUMENT_EXTRACTED")["fields"]["filed"]["value"] == "2026-01-05"
    assert OutboxEvent.objects.filter(event_type="WORKER_OCR_STARTED").count() == 1


def test_progress_is_cheap_to_follow(put, workshop, alice_api):
    document = put(files.pdf(CLAIMS, "and a second page"), workitem_id=None)
    url = f"{DOCUMENTS}{document.pk}/status/"
    first = alice_api.get(url)
    assert (first.json()["state"], first.json()["is_settled"]) == ("WAITING", False)
    assert first["Retry-After"] == "2"
    assert alice_api.get(url, headers={"If-None-Match": first["ETag"]}).status_code == 304
    workshop.work()
    last = alice_api.get(url, headers={"If-None-Match": first["ETag"]})
    assert (last.status_code, last.json()["state"], last.json()["pages_done"]) == (200, "READY", 2)
    assert not last.has_header("Retry-After")


def test_the_text_is_there_page_by_page(put, workshop, alice_api):
    document = put(files.pdf("first page of two", "second page of two"))
    workshop.work()
    answer = alice_api.get(f"{DOCUMENTS}{document.pk}/versions/1/text/").json()
    texts = [page["text"].strip() for page in answer["pages"]]
    assert texts == ["first page of two", "second page of two"]


def test_a_document_in_work_is_not_deleted_under_the_worker(put, workshop, alice_api):
    document = put(files.pdf(CLAIMS))
    workshop.carry()
    queue.claim("busy")
    answer = alice_api.delete(f"{DOCUMENTS}{document.pk}/", headers={"If-Match": "*"})
    assert (answer.status_code, answer.json()["code"]) == (409, "document_in_progress")


@pytest.mark.parametrize("size", [3, 30])
def test_a_list_costs_the_same_however_long_it_is(put, alice_api, django_assert_num_queries, size):
    for number in range(size):
        put(f"document {number}".encode(), "note.txt")
    with django_assert_num_queries(2):
        assert len(alice_api.get(DOCUMENTS).json()["results"]) == size


@pytest.mark.parametrize("size", [2, 12])
def test_versions_cost_the_same_however_many(put, post, alice_api, django_assert_num_queries, size):
    document = put(b"number 0", "note.txt")
    url = f"{DOCUMENTS}{document.pk}/versions/"
    for number in range(1, size):
        assert post(f"number {number}".encode(), "note.txt", url=url).status_code == 201
    with django_assert_num_queries(4):
        assert len(alice_api.get(url).json()["results"]) == size
