"""In the console one sees one tenant's rows, and acts for one tenant."""

import pytest

from tests.library.models import Book

LIST = "/admin/library/book/"
pytestmark = pytest.mark.django_db


def page(book):
    return f"{LIST}{book.pk}/change/"


def titles(answer):
    return {book.title for book in answer.context["cl"].result_list}


def test_a_member_sees_the_rows_of_their_tenant_and_no_others(alice, console_of, books):
    ours, theirs = books
    console = console_of(alice)
    assert titles(console.get(LIST)) == {"Ours"}
    assert titles(console.get(LIST, {"q": "Theirs"})) == set()
    assert console.get(page(ours)).status_code == 200
    assert console.get(page(theirs)).status_code == 302
    assert console.get(f"{LIST}{theirs.pk}/history/").status_code == 302
    assert console.get(f"{LIST}{theirs.pk}/delete/").status_code == 302


def test_a_member_cannot_change_or_delete_another_tenants_row(alice, console_of, books):
    _, theirs = books
    console = console_of(alice)
    console.post(page(theirs), {"title": "Taken"})
    console.post(f"{LIST}{theirs.pk}/delete/", {"post": "yes"})
    console.post(
        LIST, {"action": "delete_selected", "_selected_action": str(theirs.pk), "post": "yes"}
    )
    assert Book.across_tenants.get(pk=theirs.pk).title == "Theirs"


def test_a_new_row_belongs_to_the_tenant_one_acts_for(alice, console_of, acme):
    console_of(alice).post(f"{LIST}add/", {"title": "New"})
    assert Book.across_tenants.get(title="New").tenant == acme


def test_who_runs_the_platform_sees_all_tenants_but_changes_nothing_there(root, console_of, books):
    console = console_of(root)
    assert titles(console.get(LIST)) == {"Ours", "Theirs"}
    assert console.post(f"{LIST}add/", {"title": "Nobody's"}).status_code == 403
    assert console.post(page(books[0]), {"title": "Changed"}).status_code == 403
    assert "Acme" in console.get(LIST).content.decode()


def test_who_runs_the_platform_acts_for_the_tenant_they_chose(root, console_of, books, rival):
    console = console_of(root)
    console.post("/admin/tenant/", {"tenant": str(rival.pk)})
    assert titles(console.get(LIST)) == {"Theirs"}
    console.post(page(books[1]), {"title": "Changed"})
    assert Book.across_tenants.get(pk=books[1].pk).title == "Changed"
    console.post("/admin/tenant/", {"tenant": "all"})
    assert titles(console.get(LIST)) == {"Ours", "Changed"}


def test_a_choice_in_the_console_does_not_reach_the_api(root, console_of, rival):
    console = console_of(root)
    console.post("/admin/tenant/", {"tenant": str(rival.pk)})
    assert console.get("/api/v1/tenant/").status_code in {403, 404}


def test_a_member_of_two_tenants_switches(alice, console_of, books, rival):
    from apps.accounts.models import Membership

    console = console_of(alice)
    assert not console.get("/admin/").context["may_switch"]
    Membership.objects.create(tenant=rival, user=alice, role="viewer")
    assert console.get("/admin/").context["may_switch"]
    assert "Rival" in console.get("/admin/tenant/").content.decode()
    console.post("/admin/tenant/", {"tenant": str(rival.pk)})
    assert titles(console.get(LIST)) == {"Theirs"}
    assert console.post(page(books[1]), {"title": "Changed"}).status_code == 403


def test_nobody_switches_to_a_tenant_that_is_not_theirs(alice, console_of, books, rival):
    console = console_of(alice)
    for wish in (str(rival.pk), "all", "", "nonsense"):
        assert console.post("/admin/tenant/", {"tenant": wish}).status_code == 403
    assert titles(console.get(LIST)) == {"Ours"}


def test_staff_without_a_tenant_see_nothing(db, django_user_model, console_of, books):
    console = console_of(django_user_model.objects.create_user("dora@nowhere.example"))
    assert console.get(LIST).status_code == 403
    assert "not a member of any tenant" in console.get("/admin/").content.decode()


def test_a_member_who_is_not_staff_is_sent_to_the_login(alice, console_of):
    answer = console_of(alice, staff=False).get("/admin/")
    assert answer.status_code == 302
    assert "/admin/login/" in answer["Location"]
