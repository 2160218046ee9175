"""The catalog's own pages: the browser, comparing, impact, and a run that is decided."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.metadata import services
from apps.metadata.models import CatalogTable, DataSource, ExtractionRun, Snapshot
from apps.metadata.selectors import browse
from apps.oracle import services as oracle
from tests.readers.catalog import Catalog

pytestmark = pytest.mark.django_db

BROWSER, BRANCH, COMPARE, IMPACT = (
    f"/admin/catalog/{page}/" for page in ("browse", "branch", "compare", "impact")
)
READ = "/admin/catalog/read/"
ORDERS = {"source": "erp_db", "schema": "public", "table": "orders"}


@pytest.fixture
def console(alice, console_of):
    return console_of(alice)


@pytest.fixture
def onlooker(bob, console_of):
    return console_of(bob)


@pytest.fixture
def catalog(in_acme):
    """Two tables in Korean and English, without a database behind them."""
    found = Catalog()
    found.add("public.orders", "주문 내역", id="integer", customer_id="integer", total="numeric")
    found.add("archive.invoices", "What was billed", id="integer")
    return found


@pytest.fixture
def source(erp, add_source, extract):
    erp.run("CREATE TABLE customers (id int PRIMARY KEY, name varchar(20)); CREATE TABLE orders ("
            "id int PRIMARY KEY, customer_id int REFERENCES customers)")  # fmt: skip
    datasource = add_source(erp.address)
    extract(datasource)
    return datasource


def text_of(answer):
    assert answer.status_code == 200
    body = re.sub(r"<(script|style|head)\b.*?</\1>", " ", answer.content.decode(), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def names_in(answer):
    return re.findall(r'data-key="([^"]*)"', answer.content.decode())


class TestBrowser:
    def test_it_begins_with_the_sources_and_says_what_to_do_without_one(self, console, in_acme):
        assert "Add a data source, test the connection" in text_of(console.get(BROWSER))
        Catalog("erp_db"), Catalog("crm_db")
        assert names_in(console.get(BROWSER)) == ["crm_db", "erp_db"]

    def test_a_branch_is_what_is_below_its_node(self, console, catalog):
        below = lambda **given: names_in(console.get(BRANCH, given))
        assert below() == ["erp_db"]
        assert below(source="erp_db") == ["erp_db/archive", "erp_db/public"]
        assert below(source="erp_db", schema="public") == ["orders"]
        assert below(**ORDERS) == ["id", "customer_id", "total"]
        assert below(source="erp_db", schema="gone") == below(**ORDERS | {"table": "gone"}) == []
        assert console.get(BRANCH, {"source": "gone"}).status_code == 404

    def test_a_table_is_shown_with_all_that_is_known(self, console, source):
        shown = text_of(console.get(BROWSER, ORDERS))
        assert "→ public.customers" in shown
        assert "primary key" in shown
        assert "Table added" in shown
        assert names_in(console.get(BROWSER, ORDERS)) == [
            "erp_db", "erp_db/public", "customers", "orders",
        ]  # fmt: skip

    def test_a_table_that_is_gone_is_told(self, console, catalog):
        assert "There is no public.gone" in text_of(
            console.get(BROWSER, ORDERS | {"table": "gone"})
        )
        assert "There is no gone" in text_of(console.get(BROWSER, {"source": "gone"}))

    @pytest.mark.parametrize(
        ("q", "found"),
        [
            ("ORDER", "public.orders"), ("주문", "public.orders"), ("billed", "archive.invoices"),
            ("custom", "public.orders.customer_id"), ("인보이스", "archive.invoices"),
        ],
    )  # fmt: skip
    def test_tables_and_columns_are_found_in_korean_and_english(self, console, catalog, q, found):
        catalog.define("인보이스", "invoice")
        oracle.reindex()
        assert found in text_of(console.get(BROWSER, {"q": q}))
        elsewhere = text_of(console.get(BROWSER, {"q": q, "source": "nowhere"}))
        assert "Nothing is called, described or meant like this" in elsewhere

    def test_a_sign_that_means_something_to_sql_is_only_a_sign(self, console, catalog):
        catalog.add("public.a%b", x="text")
        shown = text_of(console.get(BROWSER, {"q": "%"}))
        assert "public.a%b" in shown
        assert "archive.invoices" not in shown

    def test_what_a_database_calls_its_things_is_only_ever_text(self, console, catalog):
        catalog.add("public.<script>alert(1)</script>", **{"<b>": "text"})
        for given in (ORDERS | {"table": "<script>alert(1)</script>"}, {"q": "<script>"}):
            assert b"<script>alert" not in console.get(BROWSER, given).content

    def test_a_source_is_read_by_who_may_and_once(self, console, onlooker, source):
        assert onlooker.post(READ, {"source": "erp_db"}).status_code == 403
        console.post(READ, {"source": "erp_db"})
        run = ExtractionRun.objects.get(state="QUEUED")
        assert LogEntry.objects.get().change_message == "extraction requested"
        again = console.post(READ, {"source": "erp_db"}, follow=True)
        assert "is being read already" in text_of(again)
        assert ExtractionRun.objects.filter(state="QUEUED").get() == run

    def test_another_tenants_catalog_is_not_there(self, catalog, charlie, console_of):
        strange = console_of(charlie)
        assert names_in(strange.get(BROWSER)) == []
        assert strange.get(BRANCH, ORDERS).status_code == 404
        assert "Nothing is called" in text_of(strange.get(BROWSER, {"q": "orders"}))

    def test_who_acts_for_no_tenant_is_asked_to_choose_one(self, db, console_of, django_user_model):
        root = console_of(django_user_model.objects.create_superuser("r@axiom.example", "x"))
        for path in (BROWSER, COMPARE, IMPACT):
            assert "Choose a tenant" in text_of(root.get(path))
        assert root.get(BRANCH).status_code == 200


class TestMany:
    """A schema of many tables is shown portion by portion, with as many statements as one of few."""

    @pytest.fixture
    def many(self, in_acme):
        catalog = Catalog()
        catalog.add_many({f"public.t{n:05}": {"id": "integer"} for n in range(1_050)})
        return catalog

    def test_portions_follow_each_other_without_a_gap(self, many):
        reach, seen = browse.Reach(), []
        while True:
            portion = browse.tables_of(many.source, "public", reach)
            assert portion.earlier is bool(seen)
            seen += [table.name for table in portion.tables]
            if not portion.later:
                break
            reach = browse.Reach(after=seen[-1])
        assert seen == [f"t{n:05}" for n in range(1_050)]

    def test_earlier_ones_and_those_around_one_are_next_to_it(self, many):
        names = lambda **reach: [
            table.name
            for table in browse.tables_of(many.source, "public", browse.Reach(**reach)).tables
        ]
        assert names(before="t00500") == [f"t{n:05}" for n in range(400, 500)]
        assert names(around="t00500") == [f"t{n:05}" for n in range(480, 580)]
        assert names(start="t00100", end="t00350", again=True) == [
            f"t{n:05}" for n in range(100, 351)
        ]
        assert len(names(again=True)) == browse.MOST

    def test_the_chosen_table_is_in_the_tree(self, console, many):
        given = {"source": "erp_db", "schema": "public", "table": "t00500"}
        names = names_in(console.get(BROWSER, given))
        assert "t00500" in names
        assert len(names) < 2 * browse.PORTION

    @pytest.mark.parametrize(
        "given", [{}, {"source": "erp_db"}, ORDERS | {"table": "t00001"}, {"q": "t0"}]
    )
    def test_many_cost_as_many_statements_as_few(self, console, in_acme, given):
        catalog = Catalog()
        catalog.add_many({f"public.t{n:05}": {"id": "integer"} for n in range(3)})
        few = statements(console, given)
        catalog.add_many({f"public.t{n:05}": {"id": "integer"} for n in range(3, 500)})
        Catalog("other"), Catalog("third")
        # With more than a portion the neighbours of the first one are looked up: no more than that.
        assert statements(console, given) <= few + 1


def statements(console, given):
    console.get(BROWSER, given)
    with CaptureQueriesContext(connection) as asked:
        assert console.get(BROWSER, given).status_code == 200
    return len(asked)


class TestCompare:
    @pytest.fixture
    def kept(self, source, erp, extract):
        """Two snapshots, between them a column that went and a type that widened."""
        before = services.create_snapshot(datasource=source, label="before")
        erp.run("ALTER TABLE orders DROP customer_id; ALTER TABLE customers ALTER name TYPE text")
        extract(source)
        return before, services.create_snapshot(datasource=source, label="after")

    def test_without_snapshots_it_says_how_to_come_by_them(self, console, in_acme):
        assert "There are no snapshots yet" in text_of(console.get(COMPARE))

    def test_two_snapshots_are_told_apart_what_breaks_first(self, console, kept):
        old, new = kept
        shown = text_of(console.get(COMPARE, {"old": old.pk, "new": new.pk}))
        assert "3 changes 1 breaking" in shown
        assert shown.index("Column removed breaking") < shown.index("character varying(20) → text")
        assert "A longer text holds every shorter one." in shown
        only = console.get(COMPARE, {"old": old.pk, "new": new.pk, "breaking": "1"})
        assert "character varying(20) → text" not in text_of(only)

    def test_the_same_snapshot_twice_shows_no_difference(self, console, kept):
        _old, new = kept
        shown = text_of(console.get(COMPARE, {"old": new.pk, "new": "now"}))
        assert "0 changes" in shown
        assert "There is no difference." in shown
        assert "Restore" not in shown

    def test_snapshots_of_different_sources_are_refused_in_words(self, console, kept, in_acme):
        other = services.create_snapshot(datasource=Catalog("other").source)
        shown = text_of(console.get(COMPARE, {"old": kept[0].pk, "new": other.pk}))
        assert "These snapshots are of different data sources." in shown

    @pytest.mark.parametrize("old", ["", "nonsense", "018f2d1c-0000-7000-8000-000000000001"])
    def test_an_id_of_nothing_compares_nothing(self, console, kept, old):
        assert "breaking" not in text_of(console.get(COMPARE, {"old": old})).partition("Compare")[0]

    def test_a_restore_is_confirmed_with_its_size(self, console, onlooker, kept):
        old, _new = kept
        shown = text_of(console.get(COMPARE, {"old": old.pk, "new": "now"}))
        count = int(re.search(r"Undo (\d+) changes in erp_db", shown)[1])
        assert onlooker.post(COMPARE, {"old": old.pk, "confirmed": 1}).status_code == 403
        assert "Undo" not in text_of(onlooker.get(COMPARE, {"old": old.pk, "new": "now"}))
        refused = console.post(COMPARE, {"old": old.pk}, follow=True)
        assert "Nothing was restored" in text_of(refused)
        assert len(services.compare_with_now(snapshot=old)) == count
        done = console.post(COMPARE, {"old": old.pk, "confirmed": 1}, follow=True)
        assert f"{count} changes were undone." in text_of(done)
        assert services.compare_with_now(snapshot=old) == []
        assert LogEntry.objects.get().change_message == "restored"

    def test_a_choice_of_one_source_is_of_its_snapshots(self, console, kept, in_acme):
        services.create_snapshot(datasource=Catalog("other").source, label="of the other")
        assert "of the other" in text_of(console.get(COMPARE))
        assert "of the other" not in text_of(console.get(COMPARE, {"source": "erp_db"}))

    def test_what_axiom_kept_by_itself_is_called_so_in_korean(self, console, kept):
        from django.utils import translation

        mine = Snapshot.objects.get(label="before")
        own = Snapshot.objects.filter(label="After an extraction").first()
        with translation.override("ko"):
            assert (mine.shown_label, own.shown_label) == ("before", "추출 후")


class TestImpact:
    def test_it_tells_by_kind_who_is_affected_and_leads_there(self, console, source):
        services.define_term(
            datasource=source, term="거래처", definition="x",
            related_columns=["public.customers.id", "public.customers.name"],
        )  # fmt: skip
        answer = console.get(IMPACT, ORDERS | {"table": "customers"})
        shown = text_of(answer)
        assert "Foreign keys 1 public.orders.orders_customer_id_fkey" in shown
        assert "Glossary terms 1 거래처" in shown
        orders = CatalogTable.objects.get(name="orders")
        link = reverse("admin:metadata_catalogtable_change", args=[orders.pk])
        assert link in answer.content.decode()

    def test_one_column_affects_only_who_uses_it(self, console, source):
        shown = text_of(console.get(IMPACT, ORDERS | {"table": "customers", "column": "name"}))
        assert "Nothing depends on it." in shown
        shown = text_of(console.get(IMPACT, ORDERS | {"table": "customers", "column": "id"}))
        assert "orders_customer_id_fkey" in shown

    def test_a_table_that_is_not_there_is_told(self, console, source):
        shown = text_of(console.get(IMPACT, ORDERS | {"table": "gone"}))
        assert "This data source has no such table now." in shown

    def test_nothing_asked_is_nothing_told(self, console, source):
        assert "It is easiest to come from a table" in text_of(console.get(IMPACT))


class TestDecision:
    @pytest.fixture
    def held(self, source, erp, extract):
        erp.run("DROP TABLE customers, orders; CREATE TABLE new (x int)")
        return extract(source)

    def page(self, run):
        return reverse("admin:metadata_extractionrun_change", args=[run.pk])

    def test_it_shows_why_what_and_for_whom(self, console, held):
        shown = text_of(console.get(self.page(held)))
        assert "More tables would go than this data source tolerates." in shown
        assert "Foreign keys 1 public.orders.orders_customer_id_fkey" in shown
        assert "Table removed breaking" in shown
        assert "I have seen that 2 tables go" in shown
        assert "Decide" in text_of(console.get(BROWSER))

    def test_an_approval_is_confirmed_and_leads_to_the_run_that_does_it(self, console, held):
        unconfirmed = console.post(self.page(held), {"do": "approve"}, follow=True)
        assert "Nothing was approved" in text_of(unconfirmed)
        assert ExtractionRun.objects.filter(trigger="approval").count() == 0
        body = {"do": "approve", "confirmed": "1", "note": "planned"}
        answer = console.post(self.page(held), body)
        run = ExtractionRun.objects.get(trigger="approval")
        assert (answer.status_code, answer.url) == (302, self.page(run))
        assert "In line" in text_of(console.get(answer.url))
        services.run_extraction(run.pk)
        shown = text_of(console.get(answer.url))
        assert "What changed 3" in shown
        assert list(CatalogTable.objects.values_list("name", flat=True)) == ["new"]
        held.refresh_from_db()
        assert (held.state, held.note, held.decided_by) == (
            "APPROVED", "planned", "alice@acme.example",
        )  # fmt: skip
        assert LogEntry.objects.get().change_message == "approved"

    def test_a_rejection_keeps_the_catalog_and_is_final(self, console, held):
        console.post(self.page(held), {"do": "reject"})
        held.refresh_from_db()
        assert (held.state, CatalogTable.objects.count()) == ("REJECTED", 2)
        again = console.post(self.page(held), {"do": "approve", "confirmed": "1"}, follow=True)
        assert "Only a run that is held can be approved" in text_of(again)

    def test_who_only_looks_sees_it_and_decides_nothing(self, onlooker, held):
        shown = text_of(onlooker.get(self.page(held)))
        assert "Only admins and engineers decide." in shown
        assert onlooker.post(self.page(held), {"do": "reject"}).status_code == 403
        held.refresh_from_db()
        assert held.state == "HELD"

    def test_another_tenants_run_is_not_there(self, held, charlie, console_of):
        strange = console_of(charlie)
        assert strange.get(self.page(held)).status_code == 302
        assert strange.post(self.page(held), {"do": "reject"}).status_code == 302
        held.refresh_from_db()
        assert held.state == "HELD"

    def test_something_else_than_a_decision_is_refused(self, console, held):
        assert console.post(self.page(held), {"do": "nonsense"}).status_code == 400

    def test_a_run_that_failed_says_why_in_the_readers_language(self, source, extract, alice):
        from django.utils import translation

        from apps.metadata import wording

        source.port = 1
        source.save()
        run = extract(source)
        with translation.override("ko"):
            told = wording.what_went_wrong(run)
        assert told != run.error
        assert told.endswith(run.error[-20:])

    def test_a_run_under_way_is_shown_and_stopped(self, console, source):
        run = services.request_extraction(datasource=source)
        shown = console.get(self.page(run))
        assert b"data-again" in shown.content
        console.post(self.page(run), {"do": "cancel"})
        run.refresh_from_db()
        assert run.state == "CANCELLED"
        assert b"data-again" not in console.get(self.page(run)).content


def test_of_more_removals_than_a_run_lists_all_are_asked_about(in_acme, settings):
    """The run keeps the first thousand changes; who uses a later one is affected all the same."""
    from apps.metadata import selectors

    catalog = Catalog()
    catalog.add_many({f"public.t{n:05}": {"id": "integer"} for n in range(1_500)})
    CatalogTable.objects.filter(name="t00000").update(
        foreign_keys=[{"name": "to_last", "columns": ["id"], "schema": "public", "table": "t01499",
                       "referred": ["id"], "on_update": "", "on_delete": ""}]
    )  # fmt: skip
    run = ExtractionRun(
        datasource=DataSource.objects.get(), state="HELD", requested_by="x",
        removals=[f"public.t{n:05}" for n in range(1, 1_500)], pending=[],
    )  # fmt: skip
    assert [each.name for each in selectors.affected_by_run(run)] == ["public.t00000.to_last"]
