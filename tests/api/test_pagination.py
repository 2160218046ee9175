"""Pages: every row once, in order, whoever writes meanwhile, and no COUNT."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.events.context import acting
from tests.library.models import Book, Shelf

pytestmark = [pytest.mark.urls("tests.library.urls"), pytest.mark.django_db]

BOOKS = "/api/v1/books/"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def walk(api, url, **query):
    """The titles of each page, following `next`."""
    response = api.get(url, query)
    while True:
        page = response.json()
        yield [each["title"] for each in page["results"]], page
        if page["next"] is None:
            return
        response = api.get(page["next"])


def titles(api, **query):
    return [title for page, _ in walk(api, BOOKS, **query) for title in page]


def test_pages_follow_each_other_forward_and_back(alice_api, in_acme):
    for number in range(5):
        Book.objects.create(title=f"{number}")
    pages = list(walk(alice_api, BOOKS, ordering="title", page_size=2))
    assert [page for page, _ in pages] == [["0", "1"], ["2", "3"], ["4"]]
    assert pages[0][1]["previous"] is None
    back = alice_api.get(pages[2][1]["previous"]).json()
    assert [each["title"] for each in back["results"]] == ["2", "3"]
    first = alice_api.get(back["previous"]).json()
    assert [each["title"] for each in first["results"]] == ["0", "1"]
    assert first["previous"] is None
    assert alice_api.get(first["next"]).json()["results"] == back["results"]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    books=st.lists(
        st.tuples(st.none() | st.integers(0, 2), st.none() | st.sampled_from("ab")), max_size=9
    ),
    ordering=st.lists(
        st.sampled_from(["year", "-year", "shelf", "-shelf", "title", "-title"]),
        max_size=3,
        unique_by=lambda name: name.removeprefix("-"),
    ),
    size=st.integers(1, 4),
)
def test_every_row_comes_once_in_the_databases_own_order(alice_api, acme, books, ordering, size):
    with acting(tenant_id=acme.pk):
        Book.objects.all().delete()
        shelves = {name: Shelf.objects.get_or_create(name=name)[0] for name in "ab"}
        for number, (year, shelf) in enumerate(books):
            Book.objects.create(title=f"{number % 3}", year=year, shelf=shelves.get(shelf))
        columns = {"shelf": "shelf__name"}
        terms = [
            "-" * name.startswith("-") + columns.get(n := name.lstrip("-"), n) for name in ordering
        ]
        tie = "-pk" if not terms or terms[-1].startswith("-") else "pk"
        expected = list(Book.objects.order_by(*terms, tie).values_list("pk", flat=True))
    query = {"ordering": ",".join(ordering)} if ordering else {}
    pages = [page for _, page in walk(alice_api, BOOKS, page_size=size, **query)]
    assert [each["id"] for page in pages for each in page["results"]] == expected
    assert list(_backward(alice_api, pages[-1])) == expected[::-1]


def _backward(api, page):
    while True:
        yield from (each["id"] for each in reversed(page["results"]))
        if page["previous"] is None:
            return
        page = api.get(page["previous"]).json()


def test_moments_are_told_apart_to_the_microsecond(alice_api, in_acme):
    for number in range(3):
        read_at = NOON + timedelta(microseconds=number)
        Book.objects.create(title=f"{number}", read_at=read_at)
    from tests.library.api import BooksResource

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BooksResource, "ordering", ("read_at",), raising=False)
        assert titles(alice_api, page_size=1) == ["0", "1", "2"]


def test_a_row_inserted_meanwhile_shifts_no_page(alice_api, in_acme):
    for title in "bdf":
        Book.objects.create(title=title)
    first = alice_api.get(BOOKS, {"ordering": "title", "page_size": 2}).json()
    Book.objects.create(title="a")
    Book.objects.filter(title="b").delete()
    assert [each["title"] for each in alice_api.get(first["next"]).json()["results"]] == ["f"]


def test_a_page_costs_one_query_and_counts_nothing(alice_api, in_acme, django_assert_num_queries):
    Book.objects.bulk_create([Book(title=f"{n}") for n in range(60)])
    with django_assert_num_queries(2) as queries:
        assert len(alice_api.get(BOOKS).json()["results"]) == 50
    assert "COUNT(" not in str(queries.captured_queries)


def test_filters_go_on_through_the_pages(alice_api, in_acme):
    for number in range(4):
        Book.objects.create(title=f"{number}", year=number % 2)
    assert titles(alice_api, year=1, page_size=1, ordering="title") == ["1", "3"]


@pytest.mark.parametrize("size", ["0", "201", "-1", "many", "", "٣", "9" * 5000])
def test_a_page_size_out_of_bounds_is_refused(alice_api, size):
    response = alice_api.get(BOOKS, {"page_size": size})
    assert response.status_code == 400
    assert response.json()["errors"][0]["parameter"] == "page_size"


def test_a_cursor_of_ones_own_making_is_refused(alice_api, in_acme):
    Book.objects.bulk_create([Book(title=f"{n}") for n in range(3)])
    real = alice_api.get(BOOKS, {"page_size": 1}).json()["next"].split("cursor=")[1].split("&")[0]
    for cursor in ("nonsense", real[:-1], "A" + real, real.swapcase()):
        response = alice_api.get(BOOKS, {"cursor": cursor})
        assert (response.status_code, response.json()["code"]) == (400, "invalid")


def test_a_cursor_is_good_for_its_own_order_only(alice_api, in_acme):
    Book.objects.bulk_create([Book(title=f"{n}") for n in range(3)])
    link = alice_api.get(BOOKS, {"page_size": 1, "ordering": "title"}).json()["next"]
    assert alice_api.get(link.replace("ordering=title", "ordering=-title")).status_code == 400


@pytest.mark.parametrize("ordering", ["tenant", "password", "--title", "title,?"])
def test_an_unknown_order_is_refused_and_the_known_ones_are_told(alice_api, ordering):
    response = alice_api.get(BOOKS, {"ordering": ordering})
    assert response.status_code == 400
    assert "-shelf" in response.json()["errors"][0]["detail"]


def test_another_tenants_rows_are_on_no_page(alice_api, charlie_api, in_acme):
    Book.objects.create(title="ours")
    assert titles(charlie_api) == []
    assert titles(alice_api) == ["ours"]
