"""Nobody overwrites what they have not seen."""

import threading

import pytest
from django.db import connection

from apps.events.context import acting
from tests.library.models import Book

pytestmark = [pytest.mark.urls("tests.library.urls"), pytest.mark.django_db]


@pytest.fixture
def book(in_acme):
    return Book.objects.create(title="first")


@pytest.fixture
def url(book):
    return f"/api/v1/books/{book.pk}/"


def test_a_change_by_who_has_seen_it_is_made_and_gets_a_new_etag(alice_api, url, book):
    seen = alice_api.get(url)["ETag"]
    response = alice_api.patch(url, {"title": "second"}, headers={"If-Match": seen})
    assert (response.status_code, response.json()["title"]) == (200, "second")
    assert response["ETag"] == alice_api.get(url)["ETag"] != seen


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_a_change_without_if_match_is_refused(alice_api, url, book, method):
    response = getattr(alice_api, method)(url, {"title": "second"})
    assert (response.status_code, response.json()["code"]) == (428, "precondition_required")
    book.refresh_from_db()
    assert book.title == "first"


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_a_change_of_what_others_changed_is_refused(alice_api, url, book, method):
    seen = alice_api.get(url)["ETag"]
    Book.objects.update(title="theirs")
    response = getattr(alice_api, method)(url, {"title": "mine"}, headers={"If-Match": seen})
    assert (response.status_code, response.json()["code"]) == (412, "changed_meanwhile")
    book.refresh_from_db()
    assert book.title == "theirs"


def test_who_does_not_care_says_so(alice_api, url):
    assert alice_api.delete(url, headers={"If-Match": "*"}).status_code == 204


def test_a_weak_etag_never_matches_for_a_change(alice_api, url):
    weak = "W/" + alice_api.get(url)["ETag"]
    assert alice_api.patch(url, {}, headers={"If-Match": weak}).status_code == 412


def test_one_of_several_etags_is_enough(alice_api, url):
    tags = f'"other", {alice_api.get(url)["ETag"]}'
    assert alice_api.patch(url, {}, headers={"If-Match": tags}).status_code == 200


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', "*"])
def test_who_has_it_already_is_not_sent_it_again(alice_api, url, form):
    etag = alice_api.get(url)["ETag"]
    response = alice_api.get(url, headers={"If-None-Match": form.format(etag)})
    assert (response.status_code, response.content, response["ETag"]) == (304, b"", etag)


def test_who_has_an_old_state_is_sent_the_new_one(alice_api, url):
    etag = alice_api.get(url)["ETag"]
    Book.objects.update(title="second")
    assert alice_api.get(url, headers={"If-None-Match": etag}).json()["title"] == "second"


def test_a_created_thing_comes_with_its_etag_and_its_place(alice_api, in_acme):
    made = alice_api.post("/api/v1/books/", {"title": "new"})
    shown = alice_api.get(made["Location"])
    assert (made.status_code, made["ETag"], made.json()) == (201, shown["ETag"], shown.json())


def test_answers_are_not_kept_by_shared_caches(alice_api, url):
    assert alice_api.get(url)["Cache-Control"] == "private, no-cache"


def test_an_etag_of_another_tenants_thing_helps_nobody(alice_api, charlie_api, url):
    headers = {"If-Match": alice_api.get(url)["ETag"]}
    assert charlie_api.patch(url, {"title": "x"}, headers=headers).status_code == 404
    assert charlie_api.delete(url, headers=headers).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_of_two_who_change_at_the_same_moment_one_is_told(alice_api, acme):
    with acting(tenant_id=acme.pk):
        book = Book.objects.create(title="0")
    url, start, statuses = f"/api/v1/books/{book.pk}/", threading.Barrier(2), []

    def change(number):
        seen = alice_api.get(url)["ETag"]
        start.wait()
        response = alice_api.patch(url, {"title": f"{number}"}, headers={"If-Match": seen})
        statuses.append(response.status_code)
        connection.close()

    threads = [threading.Thread(target=change, args=[number]) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 412]
