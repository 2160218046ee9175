"""Documents for the demo: patterns, a template in each language, and files that go through."""

from uuid import UUID

from apps.accounts import selectors as accounts
from apps.cases import selectors as cases
from apps.documents import services, storage
from apps.documents.models import Document, DocumentTemplate, ExtractionPattern
from apps.events.context import acting

# Field, label, pattern, kind of value, confidence.
PATTERNS = {
    "hanbit": [
        ("debtor", "채무자", r"채무자\s*[:：]\s*(.+)", "text", 0.95),
        ("total_claims", "총 채권액", r"총\s*채권액\s*[:：]\s*([\d,.억만 ]+)", "number", 0.95),
        ("filed_on", "신청일", r"신청일\s*[:：]\s*(.+)", "date", 0.9),
    ],
    "harbor": [
        ("debtor", "Debtor", r"Debtor:\s*(.+)", "text", 0.95),
        ("total_claims", "Total claims", r"Total claims:\s*([\d,.]+)", "number", 0.95),
        ("filed_on", "Filed on", r"Filed on:?\s*(.+)", "date", 0.9),
    ],
}
TEMPLATES = {
    "hanbit": (
        "creditor-notice",
        "채권자 통지서",
        (
            "# 채권자 통지서\n\n수신: {{ creditor }}\n\n"
            "{{ case.title }} 사건에 관하여 신고된 채권액은 {{ amount|money }}원임을 알려 드립니다.\n\n"
            "| 항목 | 내용 |\n|---|---|\n| 사건 | {{ case.title }} |\n| 통지일 | {{ today }} |\n"
        ),
    ),
    "harbor": (
        "creditor-notice",
        "Notice to creditors",
        (
            "# Notice to creditors\n\nTo: {{ creditor }}\n\n"
            "In the matter of {{ case.title }}, the admitted claim is {{ amount|money }}.\n\n"
            "| Item | |\n|---|---|\n| Case | {{ case.title }} |\n| Date | {{ today }} |\n"
        ),
    ),
}
TEXTS = {
    "hanbit": (
        "채권자목록.txt",
        "채권자 목록\n채무자: 한빛섬유 주식회사\n총 채권액: 12억 5,000만원\n신청일: 2026년 1월 5일\n",
    ),
    "harbor": (
        "list-of-creditors.txt",
        (
            "List of creditors\nDebtor: Meridian Shipping Ltd\nTotal claims: 4,250,000\n"
            "Filed on: 5 January 2026\n"
        ),
    ),
}


def load() -> None:
    for tenant in accounts.active_tenants().filter(slug__in=PATTERNS):
        with acting(tenant_id=tenant.pk, actor=f"attorney@{tenant.slug}.example"):
            _load(tenant.slug)


def _load(slug: str) -> None:
    """What is there already stays as changed by hand."""
    for field, label, pattern, value_type, confidence in PATTERNS[slug]:
        if not ExtractionPattern.objects.filter(field=field).exists():
            services.add_pattern(
                field=field, label=label, pattern=pattern, value_type=value_type,
                confidence=confidence,
            )  # fmt: skip
    name, title, body = TEMPLATES[slug]
    template = DocumentTemplate.objects.filter(name=name).first()
    template = template or services.add_template(name=name, title=title, body=body)
    case = cases.cases().exclude(status="closed").order_by("opened_at").first()
    if case is not None and not Document.objects.exists():
        _bring(slug, case.pk)
        data = {"creditor": title, "amount": 1_250_000_000}
        services.generate_document(template=template, case_id=case.pk, data=data)


def _bring(slug: str, case_id: UUID) -> None:
    file_name, text = TEXTS[slug]
    incoming = storage.receive([text.encode()])
    services.upload_document(case_id=case_id, incoming=incoming, file_name=file_name)
