"""`manage.py reconcile` finds what is wrong in every reader and mends it, once."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.events.context import acting
from apps.oracle.models import CachedQuery, IndexEntry
from apps.vision.models import Cube
from tests.readers.test_cubes import DEFINITION

pytestmark = pytest.mark.django_db


def reconcile(*arguments):
    out = StringIO()
    with acting(tenant_id=None):
        call_command("reconcile", *arguments, stdout=out)
    return " ".join(out.getvalue().split())


@pytest.fixture
def corrupted(catalog):
    from apps.oracle import services as oracle
    from apps.vision import services as vision

    vision.define_cube(datasource_name="erp_db", name="Sales", definition=DEFINITION)
    oracle.cache_query(
        datasource_name="erp_db", question="How much?", sql="SELECT total FROM orders"
    )
    oracle.reindex()
    IndexEntry.objects.filter(column_name="total").delete()
    CachedQuery.objects.update(status="INVALID")
    Cube.objects.update(status="INVALID")


def test_it_says_what_was_wrong_and_finds_nothing_the_second_time(corrupted):
    told = reconcile()
    assert "index: 2 added" in told
    assert "How much?: VALID" in told
    assert "Sales: VALID" in told
    again = reconcile()
    assert "VALID" not in again
    assert "index" not in again


def test_only_the_named_reader_is_looked_at(corrupted):
    assert "Sales" not in reconcile("oracle")
    assert Cube.objects.get().status == "INVALID"
    assert "Sales: VALID" in reconcile("vision", "--tenant", "acme")


def test_a_tenant_that_is_not_there_is_an_error(db):
    with pytest.raises(CommandError):
        reconcile("--tenant", "nobody")
