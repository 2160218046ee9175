"""A cube on each of the demo's databases."""

from typing import Any

from apps.accounts import selectors as accounts
from apps.events.context import acting
from apps.metadata import selectors as metadata
from apps.vision import services
from apps.vision.models import Cube

SOURCE = "demo_erp"
# Name, caption, and what the dimension, its level and the measure are called.
CUBES = {
    "hanbit": ("sales", "매출", ("주문", "상태", "입금액")),
    "harbor": ("sales", "Sales", ("Order", "Status", "Paid")),
}


def load() -> None:
    for tenant in accounts.active_tenants().filter(slug__in=CUBES):
        with acting(tenant_id=tenant.pk, actor="demo"):
            if SOURCE in metadata.datasource_names() and not Cube.objects.exists():
                _define(*CUBES[tenant.slug])


def _define(name: str, caption: str, words: tuple[str, str, str]) -> None:
    dimension, level, measure = words
    definition = {
        "fact": _table("payments"),
        "dimensions": [
            {
                "name": dimension, "source": _table("orders"), "foreign_key": "order_id",
                "primary_key": "id", "levels": [{"name": level, "column": "status"}],
            },
        ],
        "measures": [{"name": measure, "column": "amount"}],
    }  # fmt: skip
    services.define_cube(datasource_name=SOURCE, name=name, caption=caption, definition=definition)


def _table(name: str) -> dict[str, Any]:
    return {"schema_name": "main", "table_name": name}
