"""The catalog as people read it."""

from types import SimpleNamespace

import pytest
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse

from apps.events import schemas
from axiom.console import navigation
from axiom.console.groups import Group
from axiom.roles import ADMINS

pytestmark = pytest.mark.django_db
LIST = "/admin/event-types/"


def test_every_type_is_listed_below_its_stream(bob, console_of):
    page = console_of(bob).get(LIST)
    listed = {kind: stream for stream, rows in page.context["streams"] for kind, _groups in rows}
    assert {kind: kind.stream for kind in schemas.declared()}.items() <= listed.items()
    assert all(kind.type in page.content.decode() for kind in schemas.declared())


def test_every_type_has_a_page_with_its_fields_and_an_example(bob, console_of):
    console = console_of(bob)
    for kind in schemas.declared():
        page = console.get(f"{LIST}{kind.type}/").content.decode()
        assert kind.happening().replace("'", "&#x27;") in page
        assert all(f">{name}<" in page for name in kind.payload_schema()["properties"])


def test_the_search_finds_by_words_and_says_when_it_finds_nothing(bob, console_of):
    console = console_of(bob)
    found = console.get(LIST, {"q": "running low"}).content.decode()
    assert "CASH_LOW" in found
    assert "CASE_CREATED" not in found
    nothing = console.get(LIST, {"q": "<script>"}).content.decode()
    assert "No event type is called or described like this." in nothing
    assert 'value="&lt;script&gt;"' in nothing


def test_the_page_speaks_the_language_of_the_person(bob, console_of):
    bob.language = "ko"
    page = console_of(bob).get(f"{LIST}DEADLINE_APPROACHING/").content.decode()
    assert "페이로드" in page
    assert "이 시각이 지나면 늦습니다." in page
    assert "Payload" not in page


def test_the_page_names_the_groups_that_read_the_type(bob, console_of, handled):
    page = console_of(bob).get(f"{LIST}CHAT_MESSAGE_SENT/").content.decode()
    assert "chat_fanout" in page


@pytest.fixture
def handled():
    """A handler of chat messages, if chat has none yet."""
    from apps.events.handlers import forget, handler_of, on

    def react(message):
        """See it."""

    if not handler_of("chat_fanout", "CHAT_MESSAGE_SENT"):
        on("CHAT_MESSAGE_SENT", group="chat_fanout")(react)
    yield
    forget(react)


def test_an_unknown_type_is_not_found_and_an_alias_is(bob, console_of):
    console = console_of(bob)
    assert console.get(f"{LIST}NEVER_DECLARED/").status_code == 404
    assert console.get(f"{LIST}case.created/").context["kind"].type == "CASE_CREATED"


def test_the_page_is_in_the_sidebar_and_only_for_people_of_the_console(bob, console_of, client):
    assert LIST in console_of(bob).get("/admin/").content.decode()
    assert client.get(LIST).status_code == 302
    assert console_of(bob, staff=False).get(LIST).status_code == 302


def test_a_page_is_only_for_its_roles(alice, bob, acme, rf, monkeypatch):
    secret = navigation.View("secret/", lambda request: HttpResponse("told"), "secret")
    page = navigation.Page(
        Group.EVENTS, "Secret", "admin:secret", "lock", roles=ADMINS, views=(secret,)
    )
    monkeypatch.setattr(navigation, "_pages", [page])
    (url,) = navigation.page_urls(admin.site)

    def asked_by(user, role):
        request = rf.get("/admin/secret/")
        user.is_staff, request.user, request.login = True, user, SimpleNamespace(role=role)
        return url.callback(request)

    assert asked_by(alice, "admin").content == b"told"
    with pytest.raises(PermissionDenied):
        asked_by(bob, "viewer")
