"""What other apps are told about the catalog."""

import pytest

from apps.events.context import acting
from apps.metadata import selectors
from apps.metadata.models import CatalogColumn, CatalogTable, DataSource, GlossaryTerm
from apps.metadata.selectors import impact

pytestmark = pytest.mark.django_db


@pytest.fixture
def erp(in_acme):
    return DataSource.objects.create(name="erp_db", engine="postgresql", database="erp")


def table(datasource, name, *columns, **facts):
    made = CatalogTable.objects.create(
        datasource=datasource, schema="public", name=name, kind="BASE TABLE", **facts
    )
    for position, column in enumerate(columns, 1):
        CatalogColumn.objects.create(
            table=made, name=column, position=position, dtype="text", nullable=True
        )
    return made


def test_tables_come_with_their_columns_in_two_statements(erp, django_assert_num_queries):
    table(erp, "orders", "id", "total", comment="from the database")
    table(erp, "customers", "name", description="by hand", comment="from the database")
    with django_assert_num_queries(2):
        customers, orders = selectors.known_tables("erp_db")
    assert [column.name for column in orders.columns] == ["id", "total"]
    assert (orders.description, customers.description) == ("from the database", "by hand")


def test_only_some_tables_are_asked_for(erp, django_assert_num_queries):
    table(erp, "orders", "id")
    table(erp, "customers", "name")
    with django_assert_num_queries(2):
        (found,) = selectors.known_tables("erp_db", only=[("public", "orders"), ("other", "x")])
    assert (found.name, [column.name for column in found.columns]) == ("orders", ["id"])
    assert selectors.known_tables("erp_db", only=[]) == []


def test_another_tenants_catalog_is_not_there(erp, rival):
    table(erp, "orders", "id")
    with acting(tenant_id=rival.pk):
        assert selectors.known_tables("erp_db") == []
        assert selectors.datasource_names() == []
    assert selectors.datasource_names() == ["erp_db"]


def test_terms_are_told(erp):
    GlossaryTerm.objects.create(
        datasource=erp, term="매출", definition="수익 총액", synonyms=["revenue"],
        related_columns=["public.orders.total"],
    )  # fmt: skip
    (term,) = selectors.glossary("erp_db")
    assert (term.synonyms, term.related_columns) == (("revenue",), ("public.orders.total",))


def test_readers_say_what_is_affected(in_acme, monkeypatch):
    monkeypatch.setattr(impact, "_finders", {})

    @impact.affects("query")
    def queries(datasource, targets):
        return [impact.Affected("query", "1", datasource, "uses it", t) for t in targets if t[2]]

    found = impact.affected_by("erp_db", [("public", "orders", None), ("public", "orders", "id")])
    assert [(each.kind, each.name, each.target) for each in found] == [
        ("query", "erp_db", ("public", "orders", "id"))
    ]
    assert impact.affected_by("erp_db", [("public", "orders", "id")], kinds=["cube"]) == []
