"""Roles: viewers look, operators act, and a view may say otherwise for an action."""

import pytest

from axiom.roles import EVERYONE, OPERATORS, Role
from tests.library.models import Book

pytestmark = [pytest.mark.urls("tests.library.urls"), pytest.mark.django_db]

BOOKS = "/api/v1/books/"


@pytest.mark.parametrize("role", sorted(EVERYONE))
def test_everyone_reads_and_operators_write(role, acme, member_of, api_of, in_acme):
    api = api_of(member_of(acme, "erin", role))
    assert api.get(BOOKS).status_code == 200
    made = api.post(BOOKS, {"title": "x"}).status_code
    assert made == (201 if role in OPERATORS else 403)


def test_a_view_may_let_others_do_a_single_action(bob_api, in_acme):
    book = Book.objects.create(title="x")
    assert bob_api.post(f"{BOOKS}{book.pk}/borrow/").status_code == 200
    assert bob_api.delete(f"{BOOKS}{book.pk}/", headers={"If-Match": "*"}).status_code == 403


def test_nobody_is_asked_to_log_in(api, db):
    response = api.get(BOOKS)
    assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")


def test_a_viewer_is_no_operator():
    assert Role.VIEWER not in OPERATORS


def test_an_unknown_field_of_another_tenant_cannot_be_named(charlie_api, in_acme):
    from tests.library.models import Shelf

    shelf = Shelf.objects.create(name="ours")
    response = charlie_api.post(BOOKS, {"title": "x", "shelf": shelf.pk})
    assert (response.status_code, response.json()["errors"][0]["pointer"]) == (400, "#/shelf")
