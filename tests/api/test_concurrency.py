"""Nobody overwrites what they have not seen."""

import threading
import time

import pytest
from django.db import connection, transaction

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
def test_a_change_waits_for_one_that_is_under_way_and_is_then_refused(alice_api, acme):
    """Between looking and writing nobody can slip in: the row is locked before it is looked at."""
    with acting(tenant_id=acme.pk):
        book = Book.objects.create(title="first")
    url = f"/api/v1/books/{book.pk}/"
    seen, answers = alice_api.get(url)["ETag"], []

    def change():
        answers.append(alice_api.patch(url, {"title": "mine"}, headers={"If-Match": seen}))
        connection.close()

    thread = threading.Thread(target=change)
    with transaction.atomic():
        Book.across_tenants.update(title="theirs")
        thread.start()
        _wait_until_someone_waits_for_a_lock()
    thread.join()
    book.refresh_from_db()
    assert (answers[0].status_code, book.title) == (412, "theirs")


def _wait_until_someone_waits_for_a_lock():
    deadline = time.monotonic() + 10
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                return
    raise AssertionError("Nobody waited: the row was not locked, and not written either.")
