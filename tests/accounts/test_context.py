"""Each request acts for its own person and tenant, and leaves nothing behind."""

import asyncio
import json
import threading

import pytest
import structlog
from asgiref.testing import ApplicationCommunicator
from django.core.asgi import get_asgi_application
from django.db import connection, connections
from django.test import Client

from apps.events.context import current
from tests.urls import context as views

pytestmark = [pytest.mark.urls("tests.urls.context"), pytest.mark.django_db]

NOBODY = {"tenant": "None", "actor": "system"}


def is_(user, tenant):
    return {"tenant": str(tenant.pk), "actor": user.email}


def test_a_request_acts_for_its_person_and_tenant(alice_api, alice, acme):
    assert alice_api.get("/api/plain/").json() == is_(alice, acme)


def test_a_browsers_request_does_too(client, alice, acme):
    client.force_login(alice)
    assert client.get("/api/plain/").json() == is_(alice, acme)


@pytest.mark.parametrize("path", ["/api/plain/", "/api/failing/", "/api/nowhere/"])
def test_nothing_is_left_behind_even_by_an_exception(alice_api, api, path):
    before = structlog.contextvars.get_contextvars()
    alice_api.get(path)
    assert (current().tenant_id, current().actor) == (None, "system")
    assert structlog.contextvars.get_contextvars() == before
    assert api.get("/api/plain/").json() == NOBODY


@pytest.mark.django_db(transaction=True)
def test_requests_in_two_threads_do_not_mix(alice_api, alice, acme, charlie_api, charlie, rival):
    answers = {}

    def ask(name, client):
        for _ in range(5):
            answers.setdefault(name, []).extend(client.get("/api/meeting/").json())
            client.get("/api/failing/")
        connection.close()

    people = {"alice": alice_api, "charlie": charlie_api}
    threads = [threading.Thread(target=ask, args=person) for person in people.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {"alice": [is_(alice, acme)] * 10, "charlie": [is_(charlie, rival)] * 10}


async def ask(path, token=""):
    """A request as the web server makes it: threads of its own for each."""
    scope = {
        "type": "http", "method": "GET", "path": path, "query_string": b"", "http_version": "1.1",
        "headers": [(b"host", b"testserver"), (b"authorization", token.encode())],
    }  # fmt: skip
    server = ApplicationCommunicator(get_asgi_application(), scope)
    await server.send_input({"type": "http.request", "body": b"", "more_body": False})
    await server.receive_output(timeout=10)
    return json.loads((await server.receive_output(timeout=10))["body"])


@pytest.mark.django_db(transaction=True)
def test_interleaved_async_requests_do_not_mix(
    alice_api, alice, acme, charlie_api, charlie, rival, monkeypatch
):
    # The threads of these requests end with them: so must their connections.
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    tokens = [api._credentials["HTTP_AUTHORIZATION"] for api in (alice_api, charlie_api)]

    async def all_at_once():
        views.crowd = asyncio.Barrier(3)
        asked = [ask("/api/crowded/", token) for token in (*tokens, "")]
        failing = [ask("/api/failing-async/", token) for token in tokens]
        answers = await asyncio.gather(*asked, *failing)
        return answers[:3], await ask("/api/plain/")

    answers, left = asyncio.run(all_at_once())
    assert answers == [[is_(alice, acme)] * 2, [is_(charlie, rival)] * 2, [NOBODY] * 2]
    assert left == NOBODY


def test_the_log_line_of_a_request_names_its_actor(alice_api, caplog):
    alice_api.get("/api/plain/")
    (line,) = [each.msg for each in caplog.records if each.name == "axiom.middleware"]
    assert line["actor"] == "alice@acme.example"


def test_one_client_may_log_out_and_another_in(client, alice, charlie, rival):
    client.force_login(alice)
    client.get("/api/plain/")
    client.logout()
    assert client.get("/api/plain/").json() == NOBODY
    client.force_login(charlie)
    assert client.get("/api/plain/").json() == is_(charlie, rival)
    assert Client().get("/api/plain/").json() == NOBODY
