"""Cubes: defined, imported, invalid with a reason, valid again."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils import translation

from apps.events.context import acting
from apps.metadata.selectors import impact
from apps.vision import services
from apps.vision.models import Cube
from tests.readers.test_mondrian import SALES

pytestmark = pytest.mark.django_db

CUBES = "/api/v1/vision/cubes/"
ORDERS = {"schema_name": "public", "table_name": "orders"}
CUSTOMERS = {"schema_name": "public", "table_name": "customers"}
DEFINITION = {
    "fact": ORDERS,
    "dimensions": [
        {
            "name": "Customer", "source": CUSTOMERS, "foreign_key": "customer_id",
            "primary_key": "id", "levels": [{"name": "Region", "column": "region"}],
        },
    ],
    "measures": [{"name": "Revenue", "column": "total"}, {"name": "Rows", "aggregator": "count"}],
}  # fmt: skip


@pytest.fixture
def cube(catalog):
    return services.define_cube(datasource_name="erp_db", name="Sales", definition=DEFINITION)


def state(cube):
    cube.refresh_from_db()
    return cube.status, cube.reason


def test_a_cube_whose_columns_are_there_is_valid(cube):
    assert state(cube) == ("VALID", "")
    assert {str(each) for each in cube.references.all()} == {
        "public.orders", "public.orders.customer_id", "public.orders.total",
        "public.customers", "public.customers.id", "public.customers.region",
    } - {"public.customers"}  # fmt: skip


def test_a_cube_is_invalid_while_its_table_is_away_and_says_why(cube, catalog):
    catalog.drop("public.customers")
    services.validate_all()
    assert state(cube) == ("INVALID", "Table public.customers is not there.")
    catalog.add("public.customers", id="integer", region="text")
    services.validate_all()
    assert state(cube) == ("VALID", "")


def test_a_table_of_the_same_name_in_another_schema_does_not_count(cube, catalog):
    catalog.drop("public.orders")
    services.validate_all()
    assert state(cube)[0] == "INVALID"


def test_a_column_that_is_no_number_any_more_cannot_be_added_up(cube, catalog):
    catalog.retype("public.orders", "total", "text")
    services.validate_all()
    told = "Column total of table public.orders was numeric(10,2) and is text."
    assert state(cube) == ("INVALID", told)
    catalog.retype("public.orders", "total", "double precision")
    services.validate_all()
    assert state(cube) == ("VALID", "")


def test_a_rename_is_told_with_the_new_name_and_followed_by_nobody(readers, cube, catalog):
    catalog.rename("public.customers", "crm.clients")
    catalog.rename_column("public.orders", "total", "amount")
    readers.run()
    status, reason = state(cube)
    assert status == "INVALID"
    assert "Table public.customers is now called crm.clients." in reason
    assert "Column total of table public.orders is now called amount." in reason
    services.validate_all()  # No event told it again, and it is known still.
    assert state(cube)[1] == reason


def test_what_is_wrong_is_told_in_the_readers_language(cube, catalog):
    catalog.drop("public.customers")
    services.validate_all()
    cube.refresh_from_db()
    with translation.override("ko"):
        assert "public.customers" in cube.reason


def test_another_tenants_and_another_sources_cubes_are_left_alone(cube, catalog, rival):
    from tests.readers.catalog import Catalog

    with acting(tenant_id=rival.pk):
        Catalog().add("public.orders", id="integer")
        theirs = services.define_cube(
            datasource_name="erp_db", name="Sales",
            definition={"fact": ORDERS, "measures": [{"name": "Rows", "aggregator": "count"}]},
        )  # fmt: skip
    catalog.drop("public.orders")
    services.validate_all()
    assert state(cube)[0] == "INVALID"
    assert state(theirs)[0] == "VALID"


def test_validating_again_changes_nothing(cube, catalog):
    catalog.drop("public.orders")
    first, second = services.validate_all(), services.validate_all()
    assert (first.checked, len(first.changed)) == (1, 1)
    assert (second.checked, len(second.changed)) == (1, 0)


def test_a_corrupted_status_is_brought_back(cube):
    Cube.objects.update(status="INVALID", troubles=[{"code": "table_missing", "table": "x"}])
    assert len(services.validate_all().mended) == 1
    assert state(cube) == ("VALID", "")


def test_a_mondrian_schema_is_imported_whole_or_not_at_all(catalog):
    cubes = services.import_mondrian(datasource_name="erp_db", xml=SALES, default_schema="public")
    assert [(cube.name, cube.status) for cube in cubes] == [("Sales", "INVALID")]
    again = services.import_mondrian(datasource_name="erp_db", xml=SALES, default_schema="public")
    assert again[0].pk == cubes[0].pk


@pytest.mark.parametrize(
    "definition",
    [
        {},
        {"fact": ORDERS, "measures": []},
        {**DEFINITION, "joke": 1},
        [],
        "cube",
        {"fact": {"schema_name": "a", "table_name": "\x00"}, "measures": [{"name": "M"}]},
        {"fact": ORDERS, "measures": [{"name": "M", "column": "c" * 201}]},
    ],
)
def test_a_definition_that_makes_no_sense_is_refused(catalog, definition):
    with pytest.raises(ValidationError):
        services.define_cube(datasource_name="erp_db", name="Sales", definition=definition)


def test_a_cube_needs_a_data_source_that_is_there(catalog):
    with pytest.raises(ValidationError):
        services.define_cube(datasource_name="nowhere", name="Sales", definition=DEFINITION)


def test_who_asks_for_the_impact_learns_which_cubes_use_it(cube):
    whole = impact.affected_by("erp_db", [("public", "orders", None)], ["cube"])
    column = impact.affected_by("erp_db", [("public", "orders", "total")], ["cube"])
    unused = impact.affected_by("erp_db", [("public", "orders", "status")], ["cube"])
    assert [each.name for each in whole + column] == ["Sales", "Sales"]
    assert unused == []
    assert "total" in column[0].how


def test_the_api_defines_imports_and_validates(alice_api, bob_api, catalog):
    made = alice_api.post(
        CUBES, {"datasource_name": "erp_db", "name": "Sales", "definition": DEFINITION},
        format="json",
    )  # fmt: skip
    assert (made.status_code, made.json()["status"]) == (201, "VALID")
    catalog.drop("public.orders")
    report = alice_api.post(CUBES + "validate/", {}, format="json").json()
    assert (report["checked"], report["broken"]) == (1, 1)
    assert "public.orders" in report["changed"][0]["reason"]
    assert len(alice_api.get(CUBES, {"status": "INVALID"}).json()["results"]) == 1
    assert bob_api.post(CUBES + "validate/", {}, format="json").status_code == 403


def test_the_api_says_where_a_mondrian_schema_is_wrong(alice_api, catalog):
    wrong = SALES.replace('column="store_sales" ', "")
    answer = alice_api.post(
        CUBES + "import/", {"datasource_name": "erp_db", "xml": wrong}, format="json"
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "mondrian_schema_refused")
    assert "/Schema[FoodMart]/Cube[Sales]/Measure[Sales]" in answer.json()["detail"]


@pytest.mark.django_db(transaction=True)
def test_a_cube_saved_in_the_moment_its_table_goes_does_not_stay_valid(catalog, acme):
    """Without the lock the check would run before the cube is there, and never again."""
    made, go_on = Event(), Event()

    def define():
        with acting(tenant_id=acme.pk), transaction.atomic():
            services.define_cube(datasource_name="erp_db", name="Sales", definition=DEFINITION)
            made.set()
            go_on.wait(20)

    def validate():
        with acting(tenant_id=acme.pk):
            services.validate_cubes("erp_db")

    with ThreadPoolExecutor(2) as pool:
        defining = pool.submit(_closing, define)
        assert made.wait(20)
        catalog.drop("public.customers")
        checking = pool.submit(_closing, validate)
        _wait_until(lambda: checking.done() or _somebody_waits_for_a_lock())
        go_on.set()
        defining.result(20)
        checking.result(20)
    assert Cube.objects.get().status == "INVALID"


def _closing(work):
    try:
        work()
    finally:
        connection.close()


def _somebody_waits_for_a_lock():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return cursor.fetchone()[0] > 0


def _wait_until(happened):
    deadline = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)
