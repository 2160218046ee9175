"""The index: found in Korean and English, re-indexed exactly where something changed."""

import pytest
from django.db import connection

from apps.oracle import selectors, services, vectors
from apps.oracle.models import IndexEntry

SEARCH, REINDEX = "/api/v1/text2sql/meta/search/", "/api/v1/text2sql/meta/reindex/"


@pytest.fixture
def indexed(db, catalog):
    catalog.add("public.biz_proc_metrics", "비즈니스 프로세스 성과 지표", mtr_value="numeric",
                orgName="text", measured_on="date")  # fmt: skip
    catalog.describe("public.customers", "거래처 기본 정보")
    services.reindex()
    return catalog


@pytest.fixture
def without_vectors(transactional_db, monkeypatch):
    """A PostgreSQL that has no pgvector."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE oracle_indexentry DROP COLUMN IF EXISTS embedding")
    vectors.are_here.cache_clear()
    yield
    vectors.add_where_possible()


QUESTIONS = [
    ("customer region", "public.customers.region"),
    ("archived orders", "archive.orders"),
    ("custmer regon", "public.customers.region"),
    ("org name", "public.biz_proc_metrics.orgName"),
    ("mtr value", "public.biz_proc_metrics.mtr_value"),
    ("성과 지표", "public.biz_proc_metrics"),
    ("프로세스 성과지표가 어디에 있나요", "public.biz_proc_metrics"),
    ("거래처", "public.customers"),
    ("when was it measured", "public.biz_proc_metrics.measured_on"),
]


def best(question, **options):
    found = selectors.search(question, datasource_name="erp_db", **options)
    return name_of(found[0]) if found else None


def name_of(found):
    return ".".join(filter(None, (found.schema_name, found.table_name, found.column_name)))


@pytest.mark.parametrize(("question", "answer"), QUESTIONS)
def test_tables_and_columns_are_found_by_what_people_call_them(indexed, question, answer):
    assert vectors.are_here()
    assert best(question) == answer


def test_they_are_found_without_pgvector_too(without_vectors, indexed):
    assert not vectors.are_here()
    assert {question: best(question) for question, _answer in QUESTIONS} == dict(QUESTIONS)


def test_nothing_is_found_that_has_nothing_in_common(indexed):
    assert selectors.search("zzz", datasource_name="erp_db") == []
    assert selectors.search("  ", datasource_name="erp_db") == []


def test_the_glossarys_synonyms_lead_to_a_column(indexed):
    assert best("매출") is None
    indexed.define("매출", "수익", "revenue", columns=["public.biz_proc_metrics.mtr_value"])
    services.reindex_terms("erp_db", ["매출"])
    for word in ("매출", "수익", "revenue"):
        assert best(word) == "public.biz_proc_metrics.mtr_value"


def test_a_synonym_of_no_column_still_asks_in_other_words(indexed):
    indexed.define("고객", "customer")
    assert best("고객", columns=False) == "public.customers"


def test_what_is_tagged_as_not_valid_is_not_offered(readers, indexed):
    indexed.tag("public.biz_proc_metrics", "text_to_sql_is_valid", False)
    readers.run()
    assert best("성과 지표") is None


def entries():
    return {str(entry): entry.fingerprint for entry in IndexEntry.objects.all()}


def test_exactly_what_changed_is_indexed_again(readers, indexed):
    readers.run()
    before = versions()
    indexed.retype("public.orders", "total", "bigint")
    readers.run()
    assert {name for name, version in versions().items() if before[name] != version} == {
        "public.orders.total"
    }


def versions():
    """Which transaction wrote each entry last."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT concat_ws('.', schema_name, table_name, nullif(column_name, '')), xmin::text "
            "FROM oracle_indexentry"
        )
        return dict(cursor.fetchall())


CHANGES = [
    lambda catalog: catalog.drop("public.orders"),
    lambda catalog: catalog.rename("public.orders", "public.purchases"),
    lambda catalog: catalog.drop_column("public.orders", "total"),
    lambda catalog: catalog.rename_column("public.orders", "total", "amount"),
    lambda catalog: catalog.add_column("public.orders", "note", "text"),
    lambda catalog: catalog.describe("public.orders", "주문"),
    lambda catalog: catalog.describe("public.orders", "주문 금액", column="total"),
    lambda catalog: catalog.define("매출", "수익", columns=["public.orders.total"]),
]


@pytest.mark.parametrize("change", CHANGES)
def test_after_any_change_the_index_is_what_a_new_one_would_be(readers, indexed, change):
    readers.run()
    change(indexed)
    readers.run()
    followed = entries()
    assert services.reindex().differences == 0
    IndexEntry.objects.all().delete()
    services.reindex()
    assert entries() == followed


def test_a_term_that_goes_leaves_its_column(readers, indexed):
    indexed.define("매출", "수익", columns=["public.orders.total"])
    indexed.define("매출", "수익", columns=["archive.orders.total"])
    readers.run()
    assert best("수익") == "archive.orders.total"
    indexed.undefine("매출")
    readers.run()
    assert best("수익") is None


def test_a_restored_snapshot_is_read_as_a_whole(readers, indexed):
    readers.run()
    from apps.metadata.models import CatalogTable

    CatalogTable.objects.filter(name="orders").delete()
    readers.run()
    assert "public.orders" in entries()
    indexed.restored()
    readers.run()
    assert services.reindex().differences == 0
    assert "public.orders" not in entries()


def corrupt():
    with connection.cursor() as cursor:
        cursor.execute("UPDATE oracle_indexentry SET embedding = NULL WHERE column_name = 'total'")
        cursor.execute("UPDATE oracle_indexentry SET description = 'x' WHERE column_name = 'name'")
        cursor.execute("UPDATE oracle_indexentry SET is_offered = false WHERE column_name = ''")
        cursor.execute("DELETE FROM oracle_indexentry WHERE column_name = 'region'")
        cursor.execute(
            "UPDATE oracle_indexentry SET column_name = 'ghost' WHERE column_name = 'status'"
        )


def test_reindexing_brings_back_whatever_was_corrupted(indexed, alice_api):
    right = entries()
    corrupt()
    report = alice_api.post(REINDEX, {}, format="json").json()
    assert (report["added"], report["removed"]) == (2, 1)
    assert report["changed"] == 7  # Two totals, one name, four tables.
    assert entries() == right
    again = alice_api.post(REINDEX, {"datasource_name": "erp_db"}, format="json").json()
    assert (again["added"], again["changed"], again["removed"]) == (0, 0, 0)
    anew = alice_api.post(REINDEX, {"anew": True}, format="json").json()
    assert anew["changed"] == anew["entries"] == len(right)


def test_the_api_searches_the_callers_tenant_only(indexed, alice_api, charlie_api):
    found = alice_api.get(SEARCH, {"q": "성과 지표", "kind": "table"}).json()["results"]
    assert found[0]["table_name"] == "biz_proc_metrics"
    assert charlie_api.get(SEARCH, {"q": "성과 지표"}).json()["results"] == []
    assert alice_api.get(SEARCH).status_code == 400
    assert alice_api.get(SEARCH, {"q": "\u0000"}).status_code == 400
