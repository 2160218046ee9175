"""Of every route, today's and tomorrow's: strangers get nothing, and nobody less."""

import uuid

import pytest
from django.test import Client
from django.urls import reverse

from apps.events.context import acting
from axiom.api.views import Conventions
from tests import routes
from tests.examples import BY_MODEL, BY_PATH, MARK, SHARED, Example, Scene

pytestmark = pytest.mark.django_db

# Whoever is not logged in may come here. A new entry deserves a second look.
PUBLIC = {
    "/api/docs/",
    "/api/schema/",
    "/api/v1/auth/password/forgotten/",
    "/api/v1/auth/password/set/",
    "/api/v1/auth/session/",
    "/api/v1/auth/token/",
    "/api/v1/auth/token/refresh/",
}
PUBLIC_PAGES = {
    "/",
    "/favicon.ico",
    "/accounts/password/<uidb64>/<token>/",  # the link of a mail; shows nothing without it
    "/alerts/acknowledge/<token>/",  # the link of a message; shows nothing without its signature
    "/healthz",
    "/metrics",  # figures without names; asks for METRICS_TOKEN where one is set
    "/readyz",
}
CONSOLE_FOR_ALL = {"/admin/login/", "/admin/logout/", "/admin/jsi18n/"}

API = routes.below("/api/")
CONSOLE = routes.below("/admin/")


@pytest.fixture
def scene(acme, alice, bob):
    return Scene(acme, alice, bob)


def test_there_are_routes_to_prove():
    assert len(API) > 10
    assert len(CONSOLE) > 10


@pytest.mark.parametrize("route", [each for each in API if each.path not in PUBLIC], ids=str)
def test_nobody_is_asked_to_log_in(route, api):
    url = route.filled(dict.fromkeys(route.parameters, uuid.uuid4()))
    for method in route.methods:
        assert routes.ask(api, method, url).status_code in {401, 403}, f"{method} {url}"


@pytest.mark.parametrize("route", [each for each in API if not routes.is_shared(each)], ids=str)
def test_another_tenants_user_cannot_reach_a_thing(route, scene, alice_api, charlie_api):
    routes.prove_out_of_reach(route, scene, charlie_api, alice_api)


@pytest.mark.parametrize("route", [each for each in API if not each.parameters], ids=str)
def test_another_tenants_user_learns_nothing(route, scene, alice_api, charlie_api):
    routes.prove_silent(route, scene, charlie_api, alice_api)


@pytest.mark.parametrize("route", routes.below("/api/v1/"), ids=str)
def test_every_view_keeps_the_conventions(route):
    assert route.view_class, f"{route} is a function: derive a view from axiom.api.views.ApiView"
    assert issubclass(route.view_class, Conventions), (
        f"{route.view_class.__name__} at {route} is not built on axiom.api.views: without it "
        "there are no roles, no Idempotency-Key, no ETag. Derive it from Resource or ApiView."
    )


def test_a_page_is_not_for_everybody_unless_it_is_said_to_be(client):
    known = {*PUBLIC_PAGES, *(route.path for route in API + CONSOLE)}
    for route in [each for each in routes.all_routes() if each.path not in known]:
        response = client.get(route.filled(dict.fromkeys(route.parameters, "1")))
        assert response.status_code in {302, 401, 403, 404}, f"{route} answers anybody"


def test_what_is_said_to_be_public_or_shared_exists():
    assert {*PUBLIC, *SHARED} - {route.path for route in API} == set()


@pytest.mark.parametrize(
    "route", [each for each in CONSOLE if each.path not in CONSOLE_FOR_ALL], ids=str
)
def test_the_console_is_closed_to_people_who_are_no_staff(route, client, charlie):
    client.force_login(charlie)
    values = dict.fromkeys(route.parameters, "1")
    for each in (Client(), client):
        response = each.get(route.filled(values))
        refused = response.status_code in {302, 403, 404}
        assert refused, f"{route} answers {response.status_code}"


@pytest.fixture
def stranger(client, charlie):
    """Charlie uses the console too, in his own tenant."""
    charlie.is_staff = True
    charlie.save()
    client.force_login(charlie)
    return client


@pytest.mark.parametrize("route", [each for each in CONSOLE if each.parameters], ids=str)
def test_staff_of_another_tenant_cannot_reach_a_thing_in_the_console(route, scene, stranger):
    model = routes.model_of(route)
    row = _console_example(model, scene, stranger) if model else None
    page = route.filled(dict.fromkeys(route.parameters, row.pk if row else "1"))
    for response in (stranger.get(page), stranger.post(page, {"post": "yes"})):
        assert response.status_code in {302, 403, 404}, page
        assert MARK not in response.content.decode()
    assert row is None or type(row)._base_manager.filter(pk=row.pk).exists()


@pytest.mark.parametrize("route", [each for each in CONSOLE if not each.parameters], ids=str)
def test_staff_of_another_tenant_learn_nothing_in_the_console(route, scene, stranger):
    with acting(tenant_id=scene.acme.pk):
        rows = [make(scene) for make in BY_MODEL.values()]
    text = stranger.get(route.path).content.decode()
    assert MARK not in text
    assert [row for row in rows if f"/{row.pk}/change/" in text] == []


def _console_example(model, scene, stranger):
    name, label = f"admin:{model._meta.app_label}_{model._meta.model_name}", model._meta.label
    if label not in BY_MODEL:
        closed = stranger.get(reverse(f"{name}_changelist")).status_code == 403
        assert closed, (
            f"The console shows {label} to tenants' staff, and there is no example of it. Add to "
            f'tests/examples.py a function marked @example(model="{label}") that makes one.'
        )
        return None
    with acting(tenant_id=scene.acme.pk):
        return BY_MODEL[label](scene)


class TestTheProofItself:
    """What would be wrong is found: the same checks on routes that are wrong on purpose."""

    pytestmark = pytest.mark.urls("tests.urls.leaky")

    @pytest.fixture
    def example_of(self, monkeypatch):
        from tests.library.models import Book

        def register(path):
            make = lambda scene: Book.objects.create(title=MARK)
            monkeypatch.setitem(BY_PATH, path, Example(path, "pk", make))

        return register

    def route(self, path):
        (found,) = [each for each in routes.all_routes("tests.urls.leaky") if each.path == path]
        return found

    def test_a_route_without_an_example_says_what_to_do(self, scene, alice_api, charlie_api):
        route = self.route("/api/v1/open/<pk>/")
        with pytest.raises(AssertionError, match=r'@example\("/api/v1/open/<pk>/"\)'):
            routes.prove_out_of_reach(route, scene, charlie_api, alice_api)

    def test_an_open_door_is_found(self, scene, alice_api, charlie_api, example_of):
        example_of("/api/v1/open/<pk>/")
        with pytest.raises(AssertionError, match="answers a stranger"):
            routes.prove_out_of_reach(
                self.route("/api/v1/open/<pk>/"), scene, charlie_api, alice_api
            )

    def test_a_list_of_everyones_rows_is_found(self, scene, alice_api, charlie_api, example_of):
        example_of("/api/v1/open/<pk>/")
        with pytest.raises(AssertionError, match="tells a stranger"):
            routes.prove_silent(self.route("/api/v1/open/"), scene, charlie_api, alice_api)

    def test_a_door_that_is_shut_to_its_owner_proves_nothing(
        self, scene, alice_api, charlie_api, example_of
    ):
        example_of("/api/v1/shut/<pk>/")
        with pytest.raises(AssertionError, match="a wrong example"):
            routes.prove_out_of_reach(
                self.route("/api/v1/shut/<pk>/"), scene, charlie_api, alice_api
            )

    def test_an_honest_resource_passes(self, scene, alice_api, charlie_api, example_of):
        example_of("/api/v1/books/<pk>/")
        for path in ("/api/v1/books/<pk>/", "/api/v1/books/<pk>/borrow/"):
            routes.prove_out_of_reach(self.route(path), scene, charlie_api, alice_api)
        routes.prove_silent(self.route("/api/v1/books/"), scene, charlie_api, alice_api)
