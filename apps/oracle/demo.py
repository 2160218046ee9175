"""Questions to each of the demo's databases, one of which no longer has an answer."""

from apps.accounts import selectors as accounts
from apps.events.context import acting
from apps.metadata import selectors as metadata
from apps.oracle import services
from apps.oracle.models import CachedQuery

SOURCE = "demo_erp"
SQL = (
    (
        "SELECT c.name, sum(p.amount) AS paid FROM payments p JOIN orders o ON o.id = p.order_id "
        "JOIN customers c ON c.id = o.customer_id GROUP BY c.name ORDER BY paid DESC LIMIT 10"
    ),
    "SELECT count(*) FROM orders WHERE status = 'open'",
    # This column went when prices got a unit.
    "SELECT name, price FROM products ORDER BY price DESC",
)
QUESTIONS = {
    "hanbit": ("매출이 가장 큰 거래처 10곳은?", "진행 중인 주문은 몇 건인가?", "가장 비싼 상품은?"),
    "harbor": (
        "Who are our ten largest customers?", "How many orders are open?",
        "What are our dearest products?",
    ),
}  # fmt: skip


def load() -> None:
    for tenant in accounts.active_tenants().filter(slug__in=QUESTIONS):
        with acting(tenant_id=tenant.pk, actor="demo"):
            if SOURCE in metadata.datasource_names() and not CachedQuery.objects.exists():
                _ask(QUESTIONS[tenant.slug])


def _ask(questions: tuple[str, ...]) -> None:
    services.reindex(SOURCE)
    for question, sql in zip(questions, SQL, strict=True):
        services.cache_query(
            datasource_name=SOURCE, question=question, sql=sql, engine="sqlite",
            default_schema="main",
        )  # fmt: skip
