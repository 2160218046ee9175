"""A definition in Korean and one in English, and processes that stand somewhere in them."""

from pathlib import Path
from typing import Any

from apps.accounts import selectors as accounts
from apps.cases import selectors as cases
from apps.events.context import acting
from apps.processes import services
from apps.processes.models import ProcessDefinition, ProcessInstance, WorkItem
from apps.processes.services import Doer

EXAMPLES = Path(__file__).parent / "examples"
LESSON = {
    "hanbit": "같은 채권자와 같은 날짜의 행은 중복으로 본다.",
    "harbor": "Rows with the same creditor and date are duplicates.",
}
TITLES = {
    "hanbit": ("한빛섬유 채권 조사", "미래건설 채권 조사"),
    "harbor": ("Claims of Northgate Mills", "Claims of Baxter & Sons"),
}


def load() -> None:
    for tenant in accounts.active_tenants().filter(slug__in=TITLES):
        with acting(tenant_id=tenant.pk, actor=f"manager@{tenant.slug}.example"):
            if not ProcessDefinition.objects.filter(key="claim_review").exists():
                _fill(tenant)


def _fill(tenant: Any) -> None:
    people = {each.role: Doer(each.user, each.role) for each in accounts.members_of(tenant.pk)}
    text = (EXAMPLES / f"claim_review_{tenant.slug}.bpmn").read_text()
    definition = services.upload_definition(text=text, by=people["engineer"].user)
    services.publish_version(version=definition.versions.get(), by=people["manager"].user)
    case = cases.cases().exclude(status="closed").order_by("opened_at").first()
    for title in TITLES[tenant.slug]:
        services.start_process(
            definition=definition,
            case_id=case.pk if case else None,
            title=title,
            variables={"total_claims": 1_250_000_000},
            by=people["manager"].user,
        )
    _work_on(ProcessInstance.objects.order_by("started_at", "id")[0], people)
    services.teach(agent="gpt-4o", summary=LESSON[tenant.slug], by=people["analyst"].user)


def _work_on(instance: ProcessInstance, people: dict[str, Doer]) -> None:
    """The first one got as far as an agent's unsure result, which waits for approval."""
    services.complete_work(
        item=_open(instance), by=people["attorney"], result={"claims": 47, "complete": True}
    )
    services.advance(instance.pk)
    services.submit_work(
        item=_open(instance),
        by=people["engineer"],
        result={"verified": 45, "rejected": 2},
        confidence=0.71,
    )


def _open(instance: ProcessInstance) -> WorkItem:
    found: WorkItem = instance.work_items.get(status__in=WorkItem.OPEN)
    return found
