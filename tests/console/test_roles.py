"""Viewers see, operators act, admins configure."""

import pytest
from django.contrib import admin
from django.core.exceptions import ImproperlyConfigured

from axiom.console.admin import RoleAdmin
from axiom.roles import OPERATORS, Role
from tests.library.models import Book

LIST = "/admin/library/book/"
pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("role", list(Role))
def test_what_a_role_may_do(role, acme, member_of, console_of, books):
    console = console_of(member_of(acme, "dora", role))
    book = f"{LIST}{books[0].pk}/"
    acts, configures = role in OPERATORS, role == Role.ADMIN
    assert console.get(LIST).status_code == 200
    assert console.get(f"{book}change/").status_code == 200
    assert console.get(f"{LIST}add/").status_code == (200 if acts else 403)
    assert console.post(f"{book}change/", {"title": "x"}).status_code == (302 if acts else 403)
    assert console.get(f"{book}delete/").status_code == (200 if configures else 403)


def test_a_role_taken_away_holds_from_the_next_request(alice, console_of, books):
    console = console_of(alice)
    alice.memberships.update(role="viewer")
    assert console.get(f"{LIST}add/").status_code == 403


def test_every_admin_of_the_console_asks_for_roles():
    assert admin.site._registry
    assert all(isinstance(each, RoleAdmin) for each in admin.site._registry.values())


def test_an_admin_of_ours_that_knows_no_roles_stops_the_start():
    class Careless(admin.ModelAdmin):
        __module__ = "apps.cases.admin"

    with pytest.raises(ImproperlyConfigured, match="Careless knows no roles"):
        admin.site.register(Book, Careless)


def test_the_sidebar_shows_what_the_person_may_see(alice, bob, console_of):
    def groups(console):
        sidebar = console.get("/admin/").context["sidebar_navigation"]
        return {
            str(group.get("title", "")): [str(item["title"]) for item in group["items"]]
            for group in sidebar
        }

    seen = groups(console_of(alice))
    assert seen["People"] == ["Memberships", "Users", "Logins", "Tenants"]
    assert "Books" in seen["Work"]
    assert groups(console_of(bob))["People"] == ["Memberships"]


def test_a_group_without_anything_is_not_shown(bob, console_of, monkeypatch):
    from django.contrib import admin

    from axiom.console.groups import Group

    for model_admin in admin.site._registry.values():
        if getattr(model_admin, "group", None) == Group.WORK:
            monkeypatch.setattr(model_admin, "group", None)
    titles = [
        str(group.get("title"))
        for group in console_of(bob).get("/admin/").context["sidebar_navigation"]
    ]
    assert "Work" not in titles


def test_the_start_page_tells_tenant_role_and_numbers(alice, bob, console_of, books):
    page = console_of(alice).get("/admin/")
    assert page.context["tenant"].name == "Acme"
    assert page.context["role"] == "Admin"
    numbers = {figure.title: figure.value for figure in page.context["figures"]}
    assert numbers["Memberships"] == 2
    assert numbers["Books"] == 1
