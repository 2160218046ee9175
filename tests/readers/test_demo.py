"""The demo's cube, ontology and queries stand on its databases, all but one of them."""

import pytest

from apps.accounts.models import Tenant
from apps.events.context import acting
from apps.oracle import demo as oracle
from apps.oracle.models import CachedQuery
from apps.synapse import demo as synapse
from apps.synapse.models import EventLogBinding, OntologyLink
from apps.vision import demo as vision
from apps.vision.models import Cube
from tests.readers.catalog import Catalog

pytestmark = pytest.mark.django_db


@pytest.fixture(params=["hanbit", "harbor"])
def company(request):
    tenant = Tenant.objects.create(name=request.param, slug=request.param)
    with acting(tenant_id=tenant.pk):
        catalog = Catalog("demo_erp")
        catalog.add("main.customers", id="INTEGER", name="VARCHAR(100)")
        catalog.add("main.products", id="INTEGER", name="VARCHAR(100)", unit_price="NUMERIC(14, 2)")
        catalog.add("main.orders", id="INTEGER", customer_id="INTEGER", ordered_at="TIMESTAMP",
                    status="VARCHAR(10)")  # fmt: skip
        catalog.add("main.payments", id="INTEGER", order_id="INTEGER", amount="NUMERIC(12, 2)")
        yield


def test_it_is_loaded_once_and_only_the_lost_price_is_missed(company):
    for _ in range(2):
        for app in (oracle, synapse, vision):
            app.load()
    states = [row.status for model in (Cube, OntologyLink, EventLogBinding)
              for row in model.objects.all()]  # fmt: skip
    assert states == ["VALID"] * 6
    missed = CachedQuery.objects.get(status="INVALID")
    assert "price" in missed.reason
    assert CachedQuery.objects.count() == 3
