"""The catalog's pages in a real browser: a person looks around, searches, compares and decides."""

import pytest

from apps.events.bus.memory import MemoryBus
from apps.metadata import services
from apps.metadata.models import CatalogTable
from apps.oracle import services as oracle
from apps.synapse import services as synapse
from apps.vision.services import define_cube
from tests.browser.pictures import keep
from tests.browser.test_live import server, staff, stands, window  # noqa: F401  (fixtures)
from tests.metadata.conftest import add_source, erp, extract  # noqa: F401  (fixtures)
from tests.readers.conftest import READERS, Readers
from tests.readers.test_cubes import DEFINITION

pytestmark = pytest.mark.django_db(transaction=True)

SCHEMA = """
CREATE TABLE customers (id int PRIMARY KEY, name varchar(20) NOT NULL, region text);
CREATE TABLE orders (
    id int PRIMARY KEY, customer_id int REFERENCES customers ON DELETE CASCADE,
    total numeric(12, 2), status varchar(20) NOT NULL DEFAULT 'open', placed_at timestamptz);
CREATE UNIQUE INDEX orders_once ON orders (customer_id, placed_at) WHERE status <> 'void';
CREATE VIEW open_orders AS SELECT id, total FROM orders WHERE status = 'open';
COMMENT ON TABLE customers IS '거래처 기본 정보';
COMMENT ON COLUMN orders.total IS 'With VAT';
"""
ORDERS = "?source=erp_db&schema=public&table=orders"


@pytest.fixture
def world(erp, add_source, extract, in_acme):  # noqa: F811
    """A database that was read, and what stands on it."""
    erp.run(SCHEMA)
    source = add_source(erp.address, title="한빛 ERP")
    extract(source)
    services.define_term(
        datasource=source, term="매출", definition="수익 총액", synonyms=["revenue"],
        related_columns=["public.orders.total"],
    )  # fmt: skip
    define_cube(datasource_name="erp_db", name="Sales", definition=DEFINITION)
    oracle.cache_query(
        datasource_name="erp_db", question="How much?", sql="SELECT total FROM orders"
    )
    node = synapse.add_node(layer="measure", name="Revenue")
    synapse.link_node(node=node, datasource_name="erp_db", schema_name="public",
                      table_name="orders", column_name="total")  # fmt: skip
    oracle.reindex()
    return source


@pytest.fixture
def readers(transactional_db):
    readers = Readers(MemoryBus(), *READERS, "canvas-bridge")
    yield readers
    readers.end()


@pytest.fixture
def desk(visit, alice):
    """Opens Alice's console: `desk(width=390)`."""

    def open_desk(**how):
        alice.is_staff = True
        alice.save()
        visitor = visit(**how)
        visitor.log_in(alice)
        return visitor

    return open_desk


def node(page, name):
    return page.locator(f"#catalog-tree li[data-key='{name}'] > .ax-node")


def test_a_person_looks_around_in_the_tree(desk, world):
    desk = desk()
    desk.open("/admin/catalog/browse/")
    page = desk.page
    assert page.locator("#catalog-tree li").count() == 1
    node(page, "erp_db").locator(".ax-toggle").click()
    # The only schema there is stands open.
    node(page, "orders").wait_for()
    node(page, "orders").locator(".ax-toggle").click()
    assert "numeric(12,2)" in node(page, "total").text_content()
    node(page, "orders").locator(".ax-toggle").click()
    assert node(page, "total").is_hidden()
    node(page, "orders").locator("a").click()
    page.wait_for_selector("#catalog-detail >> text=orders_once")
    assert page.url.endswith(ORDERS)
    assert node(page, "orders").locator("a[aria-current]").count() == 1
    page.click("#catalog-detail a:has-text('→ public.customers')")
    page.wait_for_selector("#catalog-detail >> text=거래처 기본 정보")
    assert node(page, "orders").locator("a[aria-current]").count() == 0
    page.go_back()
    page.wait_for_selector("#catalog-detail >> text=orders_once")
    assert desk.complaints == []


def test_the_tree_goes_by_keyboard_alone(desk, world):
    desk = desk()
    desk.open("/admin/catalog/browse/")
    page = desk.page
    node(page, "erp_db").locator(".ax-toggle").focus()
    page.keyboard.press("ArrowRight")
    node(page, "orders").wait_for()
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    names = []
    for _ in range(8):
        page.keyboard.press("ArrowDown")
        names.append(page.evaluate("document.activeElement.textContent.trim()"))
    assert [name for name in names if name in {"customers", "open_orders", "orders"}] == [
        "customers", "open_orders", "orders",
    ]  # fmt: skip
    page.keyboard.press("Enter")
    page.wait_for_selector("#catalog-detail >> text=orders_once")
    assert page.evaluate("document.activeElement.id") == "catalog-detail"
    assert desk.complaints == []


@pytest.mark.parametrize(
    ("q", "leads_to"),
    [
        ("orders", "public.orders"), ("거래처", "public.customers"),
        ("revenue", "public.orders.total"), ("매출", "public.orders.total"),
        ("cust", "public.orders.customer_id"),
    ],
)  # fmt: skip
def test_tables_and_columns_are_found_in_both_languages(desk, world, q, leads_to):
    desk = desk()
    desk.open("/admin/catalog/browse/")
    page = desk.page
    page.fill("[name=q]", q)
    page.press("[name=q]", "Enter")
    page.wait_for_url("**q=*")
    page.locator(f".ax-places a:text-is('{leads_to}')").first.click()
    page.wait_for_selector("#catalog-detail h2 >> text=/ public." + leads_to.split(".")[1])
    if leads_to.count(".") == 2:
        assert page.locator(".ax-chosen").get_attribute("data-column") == leads_to.split(".")[2]
    assert desk.complaints == []


def test_a_long_schema_comes_portion_by_portion(desk, in_acme):
    from tests.readers.catalog import Catalog

    Catalog().add_many({f"public.t{n:03}": {"id": "integer"} for n in range(350)})
    desk = desk()
    desk.open("/admin/catalog/browse/?source=erp_db&schema=public&table=t200")
    page = desk.page
    tables = page.locator("#catalog-tree li[data-key^=t]")
    assert tables.count() == 100
    page.click("#catalog-tree [data-more*='after=']")
    node(page, "t300").wait_for()
    assert page.evaluate("document.activeElement.closest('li').dataset.key") == "t280"
    page.click("#catalog-tree [data-more*='before=']")
    node(page, "t080").wait_for()
    while more := page.query_selector("#catalog-tree [data-more]"):
        before = tables.count()
        more.click()
        page.wait_for_function(
            f"document.querySelectorAll('#catalog-tree li[data-key^=t]').length > {before}"
        )
    shown = page.eval_on_selector_all(
        "#catalog-tree li[data-key^=t]", "items => items.map(item => item.dataset.key)"
    )
    assert shown == [f"t{n:03}" for n in range(350)]
    assert desk.complaints == []


def test_a_change_arrives_where_somebody_looks(window, world, readers, erp, extract):  # noqa: F811
    readers.run()
    page = window.page
    page.goto(f"{window.server}/admin/catalog/browse/{ORDERS}")
    stands(page, "live")
    node(page, "orders").locator(".ax-toggle").click()
    node(page, "total").wait_for()
    node(page, "customers").locator("a").focus()
    erp.run(
        "ALTER TABLE orders ADD note text; CREATE TABLE payments (id int); DROP VIEW open_orders"
    )
    extract(world)
    readers.run()
    page.wait_for_selector("#catalog-tree li[data-key=payments].ax-fresh")
    node(page, "note").wait_for()
    page.wait_for_selector("#catalog-detail tr[data-column=note]")
    node(page, "open_orders").wait_for(state="detached")
    # What stayed is as it was: open, and with the focus on it.
    assert node(page, "total").is_visible()
    assert page.evaluate("document.activeElement.textContent") == "customers"
    page.wait_for_function("document.getElementById('catalog-status').textContent.trim() !== ''")
    assert window.complaints == []


def test_a_table_that_goes_takes_its_panel_with_it(window, world, readers, erp, extract):  # noqa: F811
    readers.run()
    page = window.page
    page.goto(f"{window.server}/admin/catalog/browse/{ORDERS}")
    stands(page, "live")
    page.focus("#catalog-detail h2 a")
    erp.run("COMMENT ON TABLE orders IS 'What was bought'")
    extract(world)
    readers.run()
    page.wait_for_selector("#catalog-detail >> text=What was bought")
    # Who stood on a link of the panel stands there still.
    assert page.evaluate("document.activeElement.textContent") == "한빛 ERP"
    erp.run("DROP TABLE orders CASCADE")
    world.tolerated_removals = 1.0
    world.save()
    extract(world)
    readers.run()
    page.wait_for_selector("#catalog-detail >> text=There is no public.orders")
    node(page, "orders").wait_for(state="detached")
    assert window.complaints == []


def test_two_snapshots_are_compared_and_one_is_restored(desk, world, erp, extract):  # noqa: F811
    services.create_snapshot(datasource=world, label="Quarter")
    erp.run("ALTER TABLE customers ALTER name TYPE varchar(10), ADD email text")
    extract(world)
    desk = desk()
    desk.open("/admin/catalog/compare/")
    page = desk.page
    option = page.locator("[name=old] option:has-text('Quarter')").get_attribute("value")
    page.select_option("[name=old]", option)
    page.click("button:has-text('Compare')")
    page.wait_for_selector("#comparison")
    shown = page.text_content("#comparison")
    assert "character varying(10)" in shown
    assert "Column added" in shown
    page.check("[name=breaking]")
    page.click("button:has-text('Compare')")
    page.wait_for_url("**breaking=1*")
    assert "Column added breaking" not in page.text_content("#comparison table")
    page.check("[name=confirmed]")
    page.click("button:has-text('Restore')")
    page.wait_for_selector("text=2 changes were undone.")
    assert services.compare_with_now(snapshot=world.snapshots.get(label="Quarter")) == []
    assert desk.complaints == []


def test_the_impact_of_a_column_is_seen_from_its_table(desk, world):
    desk = desk()
    desk.open(f"/admin/catalog/browse/{ORDERS}")
    page = desk.page
    page.click("tr[data-column=total] a:has-text('Impact')")
    page.wait_for_selector("#impact")
    shown = page.text_content("#impact")
    for name in ("Sales", "How much?", "Revenue", "매출"):
        assert name in shown
    page.select_option("[name=column]", "status")
    page.click("button:has-text('Show')")
    page.wait_for_selector("#impact >> text=Nothing depends on it.")
    assert desk.complaints == []


def test_a_held_extraction_is_looked_at_and_approved(window, world, readers, erp, extract):  # noqa: F811
    erp.run("DROP TABLE customers, orders CASCADE; CREATE TABLE clients (id int)")
    held = extract(world)
    assert held.state == "HELD"
    page = window.page
    page.goto(f"{window.server}/admin/catalog/browse/")
    page.click("#catalog-detail a:text-is('Decide')")
    page.wait_for_selector("text=More tables would go than this data source tolerates.")
    shown = page.text_content("#impact")
    for name in ("Sales", "How much?", "Revenue", "매출"):
        assert name in shown
    page.click("button:has-text('Approve')")
    page.wait_for_selector("text=Nothing was approved")
    page.fill("[name=note]", "The new ERP")
    page.check("[name=confirmed]")
    page.click("button:has-text('Approve')")
    page.wait_for_selector("#run .ax-state[data-state=QUEUED]")
    services.run_extraction(world.runs.get(trigger="approval").pk)
    # The page sees by itself how it ended.
    page.wait_for_selector("#run .ax-state[data-state=DONE]")
    assert "Table removed" in page.text_content("#run")
    assert list(CatalogTable.objects.values_list("name", flat=True)) == ["clients"]
    assert window.complaints == []


@pytest.mark.parametrize(
    ("width", "scheme", "locale"),
    [(1280, "light", "en-US"), (1280, "dark", "ko-KR"), (390, "light", "ko-KR"), (390, "dark", "en-US")],
)  # fmt: skip
def test_no_page_is_wider_than_the_window(
    desk,
    world,
    erp,  # noqa: F811
    extract,  # noqa: F811
    width,
    scheme,
    locale,
):
    old = services.create_snapshot(datasource=world, label="Quarter")
    erp.run("DROP VIEW open_orders; ALTER TABLE orders ALTER status TYPE varchar(10)")
    extract(world)
    erp.run("DROP TABLE customers, orders CASCADE")
    held = extract(world)
    desk = desk(width=width, color_scheme=scheme, locale=locale)
    pages = {
        "sources": "browse/", "source": "browse/?source=erp_db", "table": f"browse/{ORDERS}&column=total",
        "found": "browse/?q=order", "nothing": "browse/?q=zzz", "compare": f"compare/?old={old.pk}&new=now",
        "impact": f"impact/{ORDERS}",
        "held": f"../metadata/extractionrun/{held.pk}/change/",
    }  # fmt: skip
    for name, path in pages.items():
        assert desk.open(f"/admin/catalog/{path}") == 200, name
        assert not desk.is_wider_than_the_window(), name
        keep(desk, f"catalog-{name}")
    assert desk.complaints == []
