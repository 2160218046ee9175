"""The OpenAPI document is true: no answer that it does not declare, and none that is a bug."""

import re
from contextlib import contextmanager

import pytest
import schemathesis
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from apps.events.context import acting
from tests.examples import BY_PATH, SHARED, Scene

pytestmark = pytest.mark.django_db

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# Answers that any path gives to anybody: they do not show that the view was ever asked.
AT_THE_DOOR = {401, 404, 405, 406, 415}

schema = schemathesis.openapi.from_wsgi("/api/schema/?format=json", get_wsgi_application())
OPERATIONS = list(schema.get_all_operations())


@pytest.fixture
def world(acme, alice, bob, api_of, streams):
    """Alice, her token, and one of everything that has an address."""
    client, scene = api_of(alice), Scene(acme, alice, bob)
    with acting(tenant_id=acme.pk, actor=alice.email):
        made = {path: each.make(scene) for path, each in BY_PATH.items()}
    values = {path: str(getattr(row, BY_PATH[path].lookup)) for path, row in made.items()} | SHARED
    with _connection_kept():
        world = World(client._credentials["HTTP_AUTHORIZATION"], values)
        yield world
    assert world.seen - AT_THE_DOOR or not world.seen, f"Only ever answered {world.seen}"


@contextmanager
def _connection_kept():
    """A web server gives the connection back after each request; the test goes on with it."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


class World:
    def __init__(self, token, values):
        self.token, self.values, self.seen = token, values, set()

    def ask(self, case):
        """Each request finds the world as it was at the beginning."""
        with transaction.atomic():
            response = case.call(headers={"Authorization": self.token})
            transaction.set_rollback(True)
        self.seen.add(response.status_code)
        case.validate_response(response, checks=CHECKS)

    def aimed(self, case):
        """The same request at a thing that exists, by someone who has seen it."""
        real = {name: self._value(case.path, name) for name in case.path_parameters}
        case.path_parameters.update(real)
        if "If-Match" in (case.headers or {}):
            case.headers["If-Match"] = "*"
        return case

    def _value(self, path, name):
        pattern = re.sub(r"\\{\w+\\}", r"<\\w+>", re.escape(path[: path.index(f"{{{name}}}")]))
        found = [key for key in self.values if re.fullmatch(pattern + r"<\w+>/", key)]
        assert found, f"There is no example for {{{name}}} of {path}: see tests/examples.py"
        return self.values[found[0]]


@schema.parametrize()
@settings(
    # Bounded, so that the whole document takes a minute however long it grows; and the same
    # requests every time, so that it fails for who broke it.
    max_examples=max(3, 200 // len(OPERATIONS)),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_declared(case, world):
    world.ask(case)
    if case.path_parameters:
        world.ask(world.aimed(case))


def test_the_document_is_made_without_a_warning(tmp_path):
    call_command(
        "spectacular", "--fail-on-warn", "--validate", "--file", str(tmp_path / "api.yaml")
    )


def test_every_operation_declares_its_problems():
    """By the views' own nature: nobody has to think of it."""
    document = schema.raw_schema
    operations = [
        (path, method, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]
    for path, method, operation in operations:
        answers = operation["responses"]
        assert {"400", "401", "403", "406", "429"} <= set(answers), f"{method} {path}"
        problems = [answer for status, answer in answers.items() if status >= "400"]
        assert all("application/problem+json" in answer["content"] for answer in problems)
