"""A POST that is sent twice acts once."""

import threading
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.utils import timezone

from apps.events.context import acting
from axiom.api import idempotency
from axiom.models import StoredAnswer
from tests.library.models import Book

pytestmark = [pytest.mark.urls("tests.library.urls"), pytest.mark.django_db]

BOOKS = "/api/v1/books/"


def post(api, title="one", key="key-1", path=BOOKS, **more):
    return api.post(path, {"title": title, **more}, headers={"Idempotency-Key": key})


def count():
    return Book.across_tenants.count()


def test_the_same_key_and_body_get_the_same_answer_and_one_effect(alice_api):
    first, second = post(alice_api), post(alice_api)
    assert (first.status_code, second.status_code, count()) == (201, 201, 1)
    assert first.content == second.content
    for header in ("Location", "ETag", "Content-Type"):
        assert first[header] == second[header]
    assert ("Idempotency-Replayed" in first, second["Idempotency-Replayed"]) == (False, "true")


def test_the_answer_stays_the_same_when_the_thing_has_changed(alice_api):
    first = post(alice_api)
    Book.across_tenants.update(title="changed")
    assert post(alice_api).content == first.content


def test_spaces_and_order_make_no_other_body(alice_api):
    bodies = ('{"title": "one", "year": 1}', '{ "year":1,"title":"one" }')
    for body in bodies:
        response = alice_api.post(
            BOOKS, body, content_type="application/json", headers={"Idempotency-Key": "k"}
        )
        assert response.status_code == 201
    assert count() == 1


def test_the_same_key_with_another_body_is_refused(alice_api):
    post(alice_api)
    response = post(alice_api, title="two")
    assert (response.status_code, response.json()["code"]) == (422, "idempotency_key_reused")
    assert count() == 1


def test_another_key_another_person_and_another_path_are_other_requests(
    alice_api, charlie_api, acme, member_of, api_of
):
    erin_api = api_of(member_of(acme, "erin", "analyst"))
    for response in (
        post(alice_api),
        post(alice_api, key="key-2"),
        post(erin_api),
        post(charlie_api),
        post(alice_api, path=f"{BOOKS}?again"),
    ):
        assert (response.status_code, "Idempotency-Replayed" in response) == (201, False)
    assert count() == 5


def test_the_same_person_in_another_tenant_is_another_request(alice, rival, api_of, alice_api):
    from apps.accounts.models import Membership

    Membership.objects.create(tenant=rival, user=alice, role="admin")
    post(alice_api)
    post(api_of(alice, rival))
    assert sorted(Book.across_tenants.values_list("tenant__slug", flat=True)) == ["acme", "rival"]


def test_without_a_key_each_request_acts(alice_api):
    for _ in range(2):
        alice_api.post(BOOKS, {"title": "one"})
    assert count() == 2


def test_an_error_had_no_effect_and_may_be_tried_again(alice_api):
    torn = post(alice_api, title="torn")
    assert (torn.status_code, count(), StoredAnswer.objects.count()) == (409, 0, 0)
    assert post(alice_api, title="mended").status_code == 201


def test_an_invalid_request_is_not_remembered(alice_api):
    assert post(alice_api, title="x" * 51).status_code == 400
    assert post(alice_api).status_code == 201


def test_actions_are_idempotent_too(alice_api, in_acme):
    book = Book.objects.create(title="one")
    url = f"{BOOKS}{book.pk}/borrow/"
    first = alice_api.post(url, {}, headers={"Idempotency-Key": "k"})
    book.delete()
    assert alice_api.post(url, {}, headers={"Idempotency-Key": "k"}).content == first.content


@pytest.mark.parametrize("key", ["", "two words", "한글", "x" * 256, "tab\t"])
def test_a_key_that_is_none_is_refused(alice_api, key):
    response = post(alice_api, key=key.encode().decode("latin-1"))
    assert (response.status_code, response.json()["code"]) == (400, "invalid_idempotency_key")


def test_a_key_is_free_again_after_a_day(alice_api):
    post(alice_api)
    StoredAnswer.objects.update(created_at=timezone.now() - timedelta(hours=24, seconds=1))
    assert "Idempotency-Replayed" not in post(alice_api, title="two")
    assert count() == 2


def test_old_answers_are_purged(alice_api):
    post(alice_api)
    assert idempotency.purge_answers() == 0
    assert idempotency.purge_answers(now=timezone.now() + timedelta(hours=25)) == 1


def test_who_may_not_act_learns_no_stored_answer(alice_api, bob_api):
    post(alice_api)
    assert post(bob_api).status_code == 403


def test_uploads_are_compared_by_their_content():
    files = [SimpleUploadedFile("a.txt", text) for text in (b"one", b"one", b"two")]
    hashes = [idempotency._body_hash({"file": file}) for file in files]
    assert (hashes[0] == hashes[1], hashes[0] == hashes[2]) == (True, False)
    assert files[0].read() == b"one"


@pytest.mark.django_db(transaction=True)
def test_a_repeat_during_the_first_is_told_to_come_back(alice_api, acme):
    """Another connection is in the middle of answering the same request."""
    first = post(alice_api)
    scope = StoredAnswer.objects.get().scope
    StoredAnswer.objects.all().delete()
    holding, release = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            idempotency._hold(scope)
            holding.set()
            release.wait(10)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    holding.wait(10)
    busy = post(alice_api)
    release.set()
    thread.join()
    assert (busy.status_code, busy.json()["code"], busy["Retry-After"]) == (
        409, "request_in_progress", "1",
    )  # fmt: skip
    assert post(alice_api).status_code == first.status_code == 201


@pytest.mark.django_db(transaction=True)
def test_the_answer_and_the_effect_are_one_transaction(alice_api, acme, monkeypatch):
    """A crash after the effect, before the answer is stored, leaves neither."""

    def crash(*args):
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(idempotency, "_content", crash)
        assert post(alice_api).status_code == 500
    assert (count(), StoredAnswer.objects.count()) == (0, 0)
    assert post(alice_api).status_code == 201
    assert count() == 1


@pytest.mark.django_db(transaction=True)
def test_many_at_once_act_once(alice_api, acme):
    start, statuses = threading.Barrier(6), []

    def send():
        start.wait()
        statuses.append(post(alice_api).status_code)
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {201, 409}
    assert count() == 1
    with acting(tenant_id=acme.pk):
        assert Book.objects.count() == 1
