"""A small ontology on each of the demo's databases, and an event log to mine."""

from apps.accounts import selectors as accounts
from apps.events.context import acting
from apps.metadata import selectors as metadata
from apps.synapse import services
from apps.synapse.models import OntologyNode

SOURCE = "demo_erp"
# Layer, name, and the table and column it stands for.
NODES = {
    "hanbit": [
        ("instance", "거래처", "customers", ""),
        ("process", "주문 처리", "orders", "status"),
        ("resource", "상품", "products", ""),
        ("measure", "매출", "payments", "amount"),
    ],
    "harbor": [
        ("instance", "Customer", "customers", ""),
        ("process", "Order handling", "orders", "status"),
        ("resource", "Product", "products", ""),
        ("measure", "Sales", "payments", "amount"),
    ],
}
LOGS = {"hanbit": "주문에서 입금까지", "harbor": "Order to cash"}


def load() -> None:
    for tenant in accounts.active_tenants().filter(slug__in=NODES):
        with acting(tenant_id=tenant.pk, actor="demo"):
            if SOURCE in metadata.datasource_names() and not OntologyNode.objects.exists():
                _write(tenant.slug)


def _write(slug: str) -> None:
    for layer, name, table, column in NODES[slug]:
        services.link_node(
            node=services.add_node(layer=layer, name=name), datasource_name=SOURCE,
            schema_name="main", table_name=table, column_name=column,
        )  # fmt: skip
    services.bind_event_log(
        name=LOGS[slug], datasource_name=SOURCE, schema_name="main", table_name="orders",
        case_column="id", activity_column="status", timestamp_column="ordered_at",
        resource_column="customer_id",
    )  # fmt: skip
