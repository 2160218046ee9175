"""From a file to its fields, step by step, and what happens when a step does not work."""

import pytest

from apps.documents import services
from apps.documents.models import DocumentVersion
from tests.documents import files

pytestmark = pytest.mark.django_db

CLAIMS = "Debtor: Hanbit Textile Co.\nTotal claims: 1,250,000 KRW\nFiled on 2026-01-05"


@pytest.fixture
def total(in_acme):
    return services.add_pattern(
        field="total_claims", pattern=r"Total claims: ([\d,]+)", value_type="number"
    )


def test_a_pdf_with_a_text_layer_goes_through_and_each_event_is_told_once(
    put, workshop, total, payload_of
):
    document = put(files.pdf(CLAIMS, "second page"))
    workshop.work()
    version = DocumentVersion.objects.get(document=document)
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
