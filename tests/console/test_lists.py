"""Lists that do not grow slower with their table: cut where no index helps, and told so."""

import uuid

import pytest
from django.contrib import admin
from django.core.paginator import Paginator
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.cases.models import Case
from apps.events.context import acting
from axiom.console.lists import BoundedPaginator
from tests.library.models import Book

pytestmark = pytest.mark.django_db
URL = "/admin/library/book/"
CUT = "of the newest 3"


@pytest.fixture
def shelf(acme, monkeypatch):
    """Six books of Acme, in a list that looks through the newest three."""
    monkeypatch.setattr(admin.site.get_model_admin(Book), "newest", 3)
    with acting(tenant_id=acme.pk):
        return [Book.objects.create(title=f"Volume {number}") for number in range(6)]


@pytest.fixture
def console(alice, console_of):
    return console_of(alice)


def listed(client, **query):
    page = client.get(URL, query)
    assert page.status_code == 200
    return [book.title for book in page.context["cl"].result_list], page.content.decode()


def test_without_a_search_all_is_there(console, shelf):
    titles, page = listed(console)
    assert len(titles) == 6
    assert CUT not in page


def test_a_search_looks_through_the_newest_and_says_so(console, shelf):
    titles, page = listed(console, q="Volume")
    assert titles == ["Volume 5", "Volume 4", "Volume 3"]
    assert CUT in page


def test_a_search_in_a_short_list_says_nothing(console, shelf, monkeypatch):
    monkeypatch.setattr(admin.site.get_model_admin(Book), "newest", 6)
    titles, page = listed(console, q="Volume")
    assert len(titles) == 6
    assert "of the newest" not in page


def test_an_order_by_a_column_looks_through_the_newest(console, shelf):
    assert listed(console, o="1")[0] == ["Volume 3", "Volume 4", "Volume 5"]


def test_a_filter_that_an_index_serves_finds_all(console, shelf, monkeypatch):
    book_admin = admin.site.get_model_admin(Book)
    assert len(listed(console, title="Volume 0")[0]) == 0
    monkeypatch.setattr(book_admin, "served_filters", ("title",))
    assert listed(console, title="Volume 0")[0] == ["Volume 0"]


def test_an_order_without_an_index_is_kept_while_the_list_is_short(console, shelf, monkeypatch):
    book_admin = admin.site.get_model_admin(Book)
    monkeypatch.setattr(book_admin, "ordering", ("title",))
    monkeypatch.setattr(book_admin, "sorts_while_short", True)
    assert listed(console)[0][0] == "Volume 5"
    monkeypatch.setattr(book_admin, "newest", 6)
    assert listed(console)[0][0] == "Volume 0"


def test_across_tenants_the_newest_come_first(root, console_of, shelf, monkeypatch):
    monkeypatch.setattr(admin.site.get_model_admin(Book), "ordering", ("title",))
    assert listed(console_of(root))[0][0] == "Volume 5"


def test_the_whole_id_finds_any_row_and_none_of_another_tenant(alice, charlie, console_of, acme):
    with acting(tenant_id=acme.pk):
        case = Case.objects.create(title="Hanbit Textile")
    for name, person, found in (
        (case.pk, alice, 1),
        (case.pk, charlie, 0),
        (uuid.uuid4(), alice, 0),
    ):
        page = console_of(person).get("/admin/cases/case/", {"q": str(name)})
        assert page.context["cl"].result_count == found


def test_a_page_counts_no_further_than_anybody_turns():
    class Few(BoundedPaginator):
        most = 2

    for number in range(4):
        Book.across_tenants.create(title=str(number), tenant=_tenant())
    with CaptureQueriesContext(connection) as captured:
        assert Few(Book.across_tenants.order_by("pk"), 1).count == 2
    assert "LIMIT 2" in captured[0]["sql"]
    assert Few(Book.across_tenants.order_by("pk"), 1).is_cut
    assert issubclass(Few, Paginator)


def _tenant():
    from apps.accounts.models import Tenant

    return Tenant.objects.get_or_create(name="Acme", slug="acme")[0]


def test_a_list_that_is_longer_than_its_count_says_so(console, shelf, monkeypatch):
    class Few(BoundedPaginator):
        most = 4

    monkeypatch.setattr(admin.site.get_model_admin(Book), "paginator", Few)
    assert "4 or more" in listed(console)[1]


def test_the_first_page_counts_no_further_either(console, shelf, monkeypatch):
    class Few(BoundedPaginator):
        most = 4

    monkeypatch.setattr(admin.site.get_model_admin(Book), "paginator", Few)
    with CaptureQueriesContext(connection) as captured:
        page = console.get("/admin/").content.decode()
    assert ">4+</p>" in page
    counts = [query["sql"] for query in captured if 'FROM "library_book"' in query["sql"]]
    assert all("LIMIT 4" in sql for sql in counts)


def test_choosing_all_means_no_more_than_was_counted(console, shelf, monkeypatch):
    class Few(BoundedPaginator):
        most = 4

    book_admin = admin.site.get_model_admin(Book)
    monkeypatch.setattr(book_admin, "paginator", Few)
    chosen = {"action": "delete_selected", "select_across": "1", "_selected_action": shelf[0].pk}
    page = console.post(URL, {**chosen, "post": "yes"}, follow=True)
    assert page.status_code == 200
    assert Book.across_tenants.count() == 2


def test_a_filter_of_free_text_asks_no_more_than_the_newest_rows(console, shelf, monkeypatch):
    monkeypatch.setattr(admin.site.get_model_admin(Book), "list_filter", ("title",))
    with CaptureQueriesContext(connection) as captured:
        _titles, page = listed(console)
    assert "Volume 2" in page
    assert not [query for query in captured if "DISTINCT" in query["sql"]]


def test_every_list_of_the_console_is_bounded():
    for model_admin in admin.site._registry.values():
        assert issubclass(model_admin.paginator, BoundedPaginator), model_admin
        assert not model_admin.show_full_result_count, model_admin
        assert not model_admin.date_hierarchy, f"{model_admin} reads all rows to offer dates"
