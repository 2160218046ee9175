"""Real databases to read, and what was said about them."""

import json
import os
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError, connection

from tests.environment import ROOT, WORKER

SCHEMAS = Path(os.environ.get("AXIOM_SCHEMAS_DIR", ROOT.parent / "shared" / "schemas"))


class Source:
    """A PostgreSQL database of a test's own."""

    def __init__(self, name):
        self.name, self.given = name, settings.DATABASES["default"]

    @property
    def address(self):
        """What a data source needs to find it."""
        given = self.given
        return {
            "engine": "postgresql", "host": given["HOST"], "port": int(given["PORT"]),
            "database": self.name, "username": given["USER"], "password": given["PASSWORD"],
        }  # fmt: skip

    def connect(self):
        given = self.given
        return psycopg.connect(
            host=given["HOST"], port=given["PORT"], dbname=self.name, user=given["USER"],
            password=given["PASSWORD"], autocommit=True,
        )  # fmt: skip

    def run(self, statements):
        """One transaction, as whoever changes a schema would do it."""
        with self.connect() as connection:
            connection.execute(statements)


@pytest.fixture
def erp(db):
    """An empty database that is gone after the test."""
    name = f"axiom_source_{WORKER or 'main'}"
    _drop(name)
    _run(f'CREATE DATABASE "{name}" TEMPLATE template0')
    yield Source(name)
    _drop(name)


def _drop(name):
    """Without force first: that sends autovacuum away, whom we may not throw out."""
    try:
        _run(f'DROP DATABASE IF EXISTS "{name}"')
    except OperationalError:
        _run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _run(statement):
    with connection._nodb_cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture
def add_source(in_acme):
    """Names a database to the catalog of Acme."""
    from apps.metadata import services

    def add(address, name="erp_db", **facts):
        return services.add_datasource(name=name, **{**address, **facts})

    return add


@pytest.fixture
def extract(in_acme):
    """Reads a data source now, as a worker would; returns the run."""
    from apps.metadata import services

    def extract(datasource, watcher=None):
        run = services.request_extraction(datasource=datasource)
        done = services.run_extraction(run.pk, watcher)
        datasource.refresh_from_db()
        return done

    return extract


@pytest.fixture
def said(db):
    """What was published: pairs of type and payload, the first first; of one type if given."""
    from apps.events.models import OutboxEvent

    def look(event_type=None):
        rows = OutboxEvent.objects.order_by("seq")
        rows = rows.filter(event_type=event_type) if event_type else rows
        told = [(row.event_type, _decoded(row.payload)) for row in rows]
        return [payload for _, payload in told] if event_type else told

    return look


@pytest.fixture
def hush(db):
    """Forgets what was published until now."""
    from apps.events.models import OutboxEvent

    return lambda: OutboxEvent.objects.all().delete()


def _decoded(payload):
    return json.loads(payload) if isinstance(payload, str) else payload


def public_schema(*parts):
    """The text of a public schema, where this machine has them."""
    path = SCHEMAS.joinpath(*parts)
    if not path.exists():
        pytest.skip("the public schemas are not here: set AXIOM_SCHEMAS_DIR")
    return path.read_text()
