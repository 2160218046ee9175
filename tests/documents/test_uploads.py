"""What may come in, what may not, and that a refusal leaves nothing behind."""

import os
import time

import pytest
from django.db import DatabaseError

from apps.cases.services import close_case
from apps.documents import services, storage
from apps.documents.models import Document, DocumentVersion, Job
from apps.events.models import OutboxEvent
from tests.documents import files
from tests.documents.conftest import DOCUMENTS

pytestmark = pytest.mark.django_db

XML = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"/>'
LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>' + XML
BODY = "word/document.xml"

SOUND = [
    ("claims.pdf", files.pdf(), "application/pdf"),
    ("scan.png", files.picture("x"), "image/png"),
    ("scan.jpeg", files.picture("x", "JPEG"), "image/jpeg"),
    ("scan.TIF", files.picture("x", "TIFF"), "image/tiff"),
    ("채권자목록.txt", "채권자 목록".encode(), "text/plain"),
    ("old.txt", "채권자 목록".encode("cp949"), "text/plain"),
]
REFUSED = [
    ("claims.pdf", b"", 400, "document_empty"),
    ("claims.exe", b"MZ....", 415, "unsupported_document_type"),
    ("claims", b"text", 415, "unsupported_document_type"),
    ("claims.pdf", files.picture("x"), 400, "content_mismatch"),
    ("claims.png", files.pdf(), 400, "content_mismatch"),
    ("claims.txt", files.pdf(), 400, "content_mismatch"),
    ("claims.txt", b"MZ\0\0\1\2 not a text", 400, "document_broken"),
    ("page.txt", b"<html><script>alert(1)</script>", 400, "content_mismatch"),
    ("claims.pdf", files.pdf()[:300], 400, "document_broken"),
    ("claims.pdf", files.encrypted_pdf(), 400, "document_encrypted"),
    ("claims.pdf", files.pdf_of_many_pages(12), 400, "document_too_many_pages"),
    ("claims.pdf", files.pdf() + files.archive(x="y"), 400, "document_ambiguous"),
    ("scan.png", files.picture("x") + b"<script>alert(1)</script>", 400, "document_ambiguous"),
    ("scan.png", files.picture("x")[:400], 400, "document_broken"),
    ("bomb.png", files.png_of_size(60_000, 60_000), 400, "document_bomb"),
    ("bomb.docx", files.docx_with(**{BODY: XML, "x": b"0" * 50_000_000}), 400, "document_bomb"),
    ("laughs.docx", files.docx_with(**{BODY: LAUGHS}), 400, "document_bomb"),
    ("macro.docx", files.docx_with(**{BODY: XML, "word/vbaProject.bin": "x"}), 400, "document_macros"),
    ("slip.docx", files.docx_with(**{BODY: XML, "../../x": "y"}), 400, "document_broken"),
    ("plain.docx", files.archive(a="b"), 400, "document_broken"),
    ("wrong.docx", files.docx_with(**{BODY: "<w:document>"}), 400, "document_broken"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "content_type"), SOUND, ids=lambda value: str(value)[:20]
)
def test_a_sound_file_comes_in_and_goes_out_as_it_was(post, alice_api, name, content, content_type):
    made = post(content, name)
    assert made.status_code == 201, made.content
    latest = made.json()["latest"]
    assert (latest["file_name"], latest["content_type"]) == (name, content_type)
    assert latest["state"] == "WAITING"
    out = alice_api.get(f"{DOCUMENTS}{made.json()['id']}/download/")
    assert b"".join(out.streaming_content) == content
    assert out["Content-Type"].startswith(content_type)
    assert out["Content-Disposition"].startswith("attachment")
    assert out["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in out["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("name", "content", "status", "code"),
    REFUSED,
    ids=[f"{r[0]}-{r[3]}-{n}" for n, r in enumerate(REFUSED)],
)
def test_what_is_refused_leaves_nothing(settings, post, stored, told, name, content, status, code):
    settings.DOCUMENTS_MAX_PAGES = 10
    answer = post(content, name)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert (Document.objects.count(), DocumentVersion.objects.count(), stored(), told()) == (
        0, 0, [], [],
    )  # fmt: skip


def test_what_is_too_large_is_not_read_to_its_end(settings, post, stored, monkeypatch):
    settings.DOCUMENTS_MAX_BYTES = 200_000
    written = []
    write = storage.Incoming.write
    monkeypatch.setattr(
        storage.Incoming,
        "write",
        lambda self, chunk: (written.append(len(chunk)), write(self, chunk)),
    )
    answer = post(files.pdf() + b" " * 5_000_000)
    assert (answer.status_code, answer.json()["code"]) == (413, "document_too_large")
    assert sum(written) < 400_000
    assert stored() == []


@pytest.mark.parametrize(
    "name",
    ["../../../etc/passwd.pdf", "..\\..\\boot.pdf", "/etc/cron.d/job.pdf", "a\0b\u202efdp.pdf"],
)
def test_a_path_in_a_name_leads_nowhere(post, stored, store, name):
    answer = post(files.pdf(), name)
    assert answer.status_code == 201
    shown = answer.json()["latest"]["file_name"]
    assert not set(shown) & set("/\\\0\u202e")
    (file,) = stored()
    assert file.is_relative_to(store)
    assert file.name not in name


def test_a_form_without_a_file_says_so(alice_api, case):
    answer = alice_api.post(DOCUMENTS, {"case": str(case.pk)}, format="multipart")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "#/file"


def test_a_case_of_another_tenant_is_none(post, charlie_api, stored):
    answer = post(files.pdf(), api=charlie_api)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "#/case")
    assert stored() == []


def test_a_closed_case_takes_no_documents(post, case, stored):
    close_case(case=case, reason="over")
    answer = post(files.pdf())
    assert (answer.status_code, answer.json()["code"]) == (409, "case_closed")
    assert stored() == []


def test_viewers_do_not_upload(post, bob_api, stored):
    assert post(files.pdf(), api=bob_api).status_code == 403
    assert stored() == []


def test_the_same_request_twice_is_one_document(post, stored):
    key = {"Idempotency-Key": "upload-1"}
    content = files.pdf()
    first, again = post(content, headers=key), post(content, headers=key)
    assert first.json()["id"] == again.json()["id"]
    assert again["Idempotency-Replayed"] == "true"
    assert len(stored()) == 1


def test_a_row_that_cannot_be_written_leaves_no_file(put, stored, monkeypatch):
    def refuse(*args, **kwargs):
        raise DatabaseError("the disk is full")

    monkeypatch.setattr(DocumentVersion, "save", refuse)
    with pytest.raises(DatabaseError):
        put(files.pdf())
    assert stored() == []


def test_a_newer_file_is_a_version_and_the_same_file_is_none(post, alice_api):
    made = post(b"first", "claims.txt").json()
    url = f"{DOCUMENTS}{made['id']}/versions/"
    assert post(b"second", "claims.txt", url=url).json()["number"] == 2
    same = post(b"second", "claims.txt", url=url)
    assert (same.status_code, same.json()["code"]) == (409, "same_file_again")
    assert b"".join(alice_api.get(f"{url}1/download/").streaming_content) == b"first"
    numbers = [each["number"] for each in alice_api.get(url).json()["results"]]
    assert numbers == [2, 1]


def test_a_document_that_goes_takes_its_files_and_its_work(
    post, alice_api, stored, django_capture_on_commit_callbacks
):
    made = post(files.pdf()).json()
    url = f"{DOCUMENTS}{made['id']}/"
    etag = alice_api.get(url)["ETag"]
    assert alice_api.delete(url).status_code == 428
    with django_capture_on_commit_callbacks(execute=True):
        assert alice_api.delete(url, headers={"If-Match": etag}).status_code == 204
        assert len(stored()) == 1, "the file goes after the commit, not before"
    assert (stored(), Job.objects.count()) == ([], 0)


def test_the_sweep_takes_old_orphans_and_nothing_else(put, stored, case):
    kept = put(files.pdf()).latest.storage_key
    orphan = storage.keep(files.incoming(b"rolled back"), case.tenant_id)
    half = files.incoming(b"a crash while it came in")
    for path in stored():
        os.utime(path, (time.time() - 7200,) * 2)
    young = files.incoming(b"on its way")
    assert services.sweep_orphans() == 2
    assert stored() == sorted([storage.path_of(kept), young.path])
    assert not storage.path_of(orphan).exists()
    assert not half.path.exists()


def test_who_puts_it_in_is_told(put, payload_of):
    document = put(files.pdf(), "채권자목록.pdf")
    told = payload_of("DOCUMENT_UPLOADED")
    assert (told["document_id"], told["file_name"]) == (str(document.pk), "채권자목록.pdf")
    assert told["sha256"] == document.latest.sha256
    assert OutboxEvent.objects.get(event_type="DOCUMENT_UPLOADED").actor == "alice@acme.example"
