"""Lists of the catalog follow it in a real browser, with nobody asking."""

import pytest

from apps.events.bus.memory import MemoryBus
from apps.vision import services
from tests.browser.test_live import server, staff, stands, window  # noqa: F401  (fixtures)
from tests.readers.catalog import Catalog
from tests.readers.conftest import Readers
from tests.readers.test_cubes import DEFINITION

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cube(in_acme):
    catalog = Catalog()
    catalog.add("public.orders", id="integer", total="numeric", customer_id="integer")
    catalog.add("public.customers", id="integer", region="text")
    services.define_cube(datasource_name="erp_db", name="Sales", definition=DEFINITION)
    return catalog


@pytest.fixture
def readers(transactional_db):
    readers = Readers(MemoryBus(), "vision-consumer", "canvas-bridge")
    yield readers
    readers.end()


def test_a_cube_turns_red_on_the_page_when_its_table_goes(window, cube, readers):  # noqa: F811
    readers.run()
    window.page.goto(f"{window.server}/admin/vision/cube/")
    stands(window.page, "live")
    assert "not there" not in window.page.text_content("#result_list")
    cube.drop("public.customers")
    readers.run()
    window.page.wait_for_selector("#result_list >> text=public.customers is not there")
    # The rows are new, and can still be chosen for an action.
    window.page.check("#result_list .action-select")
    assert "1" in window.page.text_content(".action-counter")
    assert window.complaints == []
