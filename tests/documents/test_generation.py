"""Documents made from templates: Korean that can be read back, and templates that misbehave."""

import io

import pypdf
import pytest
from docx import Document as WordDocument

from apps.documents import confine, errors, services
from apps.documents.models import Document, DocumentTemplate, DocumentVersion
from tests.documents.conftest import DOCUMENTS

pytestmark = pytest.mark.django_db

TEMPLATES = "/api/v1/document-templates/"
GENERATE = f"{DOCUMENTS}generate/"
NOTICE = """# 채권자 통지서

{{ creditor }} 귀하, 사건 {{ case.title }}의 채권액은 {{ amount|money }}원입니다. <b>&</b> 5 €

{% for row in rows %}
- {{ row }}
{% endfor %}

| 항목 | 금액 |
|---|---|
| 원금 | {{ amount }} |
"""
DATA = {"creditor": "한빛은행", "amount": 1250000000, "rows": ["첫째", "둘째"]}


@pytest.fixture
def notice(in_acme):
    return services.add_template(name="creditor-notice", title="채권자 통지서", body=NOTICE)


@pytest.fixture
def made(notice, case, alice_api, workshop):
    """Orders a document, lets it be made, and returns its file."""

    def make(format="pdf", **order):
        answer = alice_api.post(
            GENERATE,
            {
                "template": notice.name,
                "case": str(case.pk),
                "format": format,
                "data": DATA,
                **order,
            },
        )
        assert answer.status_code == 202, answer.content
        assert answer.json()["latest"]["state"] == "GENERATING"
        workshop.work()
        file = alice_api.get(f"{DOCUMENTS}{answer.json()['id']}/download/")
        return b"".join(file.streaming_content)

    return make


def test_a_pdf_in_korean_can_be_read_back(made, told, payload_of, stored):
    text = pypdf.PdfReader(io.BytesIO(made())).pages[0].extract_text()
    for words in (
        "채권자 통지서",
        "한빛은행 귀하",
        "1,250,000,000원",
        "<b>&</b>",
        "€",
        "둘째",
        "원금",
    ):
        assert words in text, text
    assert told() == ["DOCUMENT_GENERATED", "WORKER_GENERATE_COMPLETED"]
    assert payload_of("DOCUMENT_GENERATED")["template"] == "creditor-notice"
    assert len(stored()) == 1


def test_its_font_is_inside(made):
    fonts = pypdf.PdfReader(io.BytesIO(made())).pages[0]["/Resources"]["/Font"].values()
    embedded = [f.get_object() for f in fonts if "/FontDescriptor" in f.get_object()]
    assert any("/FontFile2" in each["/FontDescriptor"] for each in embedded)


def test_a_docx_in_korean_can_be_read_back(made):
    document = WordDocument(io.BytesIO(made("docx")))
    assert document.paragraphs[0].text == "채권자 통지서"
    assert any("한빛은행 귀하" in each.text for each in document.paragraphs)
    assert document.tables[0].rows[1].cells[0].text == "원금"


def test_what_a_template_wants_is_known_and_asked_for(notice, alice_api, case):
    assert notice.variables == ["amount", "case", "creditor", "rows"]
    answer = alice_api.post(
        GENERATE, {"template": notice.name, "case": str(case.pk), "data": {"amount": 1}}
    )
    assert (answer.status_code, answer.json()["missing"]) == (400, ["creditor", "rows"])
    assert not Document.objects.exists()


def test_a_template_changed_meanwhile_does_not_change_what_was_ordered(
    notice, case, workshop, alice_api
):
    document = services.generate_document(template=notice, case_id=case.pk, data=DATA)
    services.change_template(notice, body="something else")
    workshop.work()
    file = alice_api.get(f"{DOCUMENTS}{document.pk}/download/")
    content = b"".join(file.streaming_content)
    assert "한빛은행" in pypdf.PdfReader(io.BytesIO(content)).pages[0].extract_text()


def test_until_it_is_made_there_is_nothing_to_download(notice, case, alice_api):
    document = services.generate_document(template=notice, case_id=case.pk, data=DATA)
    answer = alice_api.get(f"{DOCUMENTS}{document.pk}/download/")
    assert (answer.status_code, answer.json()["code"]) == (409, "no_file_yet")


def test_one_that_fails_says_why_and_can_be_tried_again(
    notice, case, workshop, alice_api, payload_of, stored
):
    data = {**DATA, "amount": "a lot"}
    document = services.generate_document(template=notice, case_id=case.pk, data=data)
    workshop.work()
    version = DocumentVersion.objects.get(document=document)
    assert (version.state, "could not convert" in version.error) == ("FAILED", True)
    assert payload_of("WORKER_GENERATE_COMPLETED")["outcome"] == "failed"
    assert stored() == []
    assert alice_api.post(f"{DOCUMENTS}{document.pk}/process/").status_code == 202


HOSTILE = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{% for a in range(99999999) %}x{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{{ 'x' * 9999999999 }}",
    "{% for a in range(99999) %}" + "x" * 100 + "{% endfor %}",
    "{{ 9 ** (9 ** (9 ** 9)) }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{{ x.append(1) }}",
    "{{ lipsum(n=100000) }}",
]  # fmt: skip


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_template_ends_in_a_refusal(body, tmp_path, settings):
    settings.DOCUMENTS_CHILD_MEMORY_MB = 500
    with pytest.raises((errors.TemplateFails, errors.TakesTooLong, errors.DocumentRefused)):
        confine.run(
            "make", seconds=4, template=body, data={"x": []}, format="pdf", title="",
            out=str(tmp_path / "out"),
        )  # fmt: skip
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "body", ["{{ open", "{% for %}", "{{ 'x'|nofilter }}", "{% include 'x' %}{{"]
)
def test_a_template_that_is_none_is_refused_when_saved(alice_api, body):
    answer = alice_api.post(TEMPLATES, {"name": "notice", "title": "Notice", "body": body})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "#/body"
    assert not DocumentTemplate.across_tenants.exists()


def test_the_childs_surroundings_hold_no_secrets(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    assert "DATABASE_URL" not in confine._environment()


def test_a_closed_or_foreign_case_gets_no_document(notice, alice_api, charlie_api, case):
    order = {"template": notice.name, "case": str(case.pk), "data": DATA}
    assert charlie_api.post(GENERATE, order).status_code == 400
    assert alice_api.post(GENERATE, {**order, "template": "unknown"}).status_code == 400
    assert not Document.objects.exists()
