"""Databases that hang, drop, refuse or are huge: a clear state, and nothing is deleted."""

import contextlib
import os
import socket
import threading

import psycopg
import pytest
from django.db import connection

from apps.metadata import services
from apps.metadata.models import CatalogTable, ExtractionRun
from axiom import embedded
from tests.environment import DIRECTORY, OURS
from tests.metadata.conftest import public_schema

pytestmark = pytest.mark.django_db


@pytest.fixture
def read(erp, add_source, extract):
    """A source that was read once: two tables."""
    erp.run("CREATE TABLE a (x int); CREATE TABLE b (y int)")
    datasource = add_source(erp.address)
    assert extract(datasource).state == "DONE"
    return datasource


def nothing_is_lost(run, code):
    assert (run.state, run.error_code) == ("FAILED", code)
    assert run.error
    assert CatalogTable.objects.count() == 2


class Line:
    """A telephone line to a server, which can fall silent or break after so many bytes."""

    def __init__(self, host, port, silent_after=None, cut_after=None):
        self.target, self.silent_after, self.cut_after = (host, port), silent_after, cut_after
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.open = []
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self):
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self.listener.accept()
                server = socket.create_connection(self.target)
                self.open += [caller, server]
                for pair in ((caller, server, False), (server, caller, True)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source, target, from_server):
        carried = 0
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                carried += len(data)
                if from_server and self.silent_after is not None and carried > self.silent_after:
                    continue
                target.sendall(data)
                if from_server and self.cut_after is not None and carried > self.cut_after:
                    break
            for each in (source, target):
                each.shutdown(socket.SHUT_RDWR)

    def close(self):
        for each in (self.listener, *self.open):
            each.close()


@pytest.fixture
def line_to(erp):
    lines = []

    def make(**trouble):
        host = erp.address["host"]
        lines.append(
            Line("127.0.0.1" if host.startswith("/") else host, erp.address["port"], **trouble)
        )
        return {"host": "127.0.0.1", "port": lines[-1].port, "ssl_mode": "disable"}

    yield make
    for line in lines:
        line.close()


def moved(datasource, **address):
    for name, value in address.items():
        setattr(datasource, name, value)
    datasource.save()
    return datasource


def test_a_server_that_never_answers_is_given_up(read, extract, settings):
    settings.METADATA_CONNECT_SECONDS = 2  # The least that libpq knows.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        run = extract(moved(read, host="127.0.0.1", port=silent.getsockname()[1]))
    nothing_is_lost(run, "source_unreachable")


def test_a_server_that_is_not_there_is_told(read, extract):
    nothing_is_lost(extract(moved(read, host="127.0.0.1", port=1)), "source_unreachable")


def test_a_line_that_falls_silent_is_hung_up(read, extract, line_to, settings):
    settings.METADATA_READ_SECONDS = 1
    run = extract(moved(read, **line_to(silent_after=2_000)))
    nothing_is_lost(run, "source_too_slow")


def test_a_line_that_breaks_is_told(read, extract, line_to):
    nothing_is_lost(extract(moved(read, **line_to(cut_after=2_000))), "source_dropped")


def test_a_slow_query_is_cancelled(read, extract, settings):
    settings.METADATA_STATEMENT_SECONDS = 0.001
    nothing_is_lost(extract(read), "source_too_slow")


def _as_dsn(erp):
    given = erp.given
    return {"host": given["HOST"], "port": given["PORT"], "dbname": erp.name,
            "user": given["USER"], "password": given["PASSWORD"]}  # fmt: skip


def test_a_wrong_password_is_told_and_never_logged(read, extract, caplog, capsys):
    services.change_datasource(datasource=read, username="nobody_here", password="s3cret-pa55")
    run = extract(read)
    nothing_is_lost(run, "source_refused")
    told = caplog.text + "".join(capsys.readouterr()) + run.error + repr(vars(read))
    assert "s3cret-pa55" not in told


def test_a_role_that_may_not_connect_is_told(read, erp, extract):
    if OURS not in os.environ:
        pytest.skip("making a role takes a superuser, which a given server has not")
    erp.run(f'REVOKE CONNECT ON DATABASE "{erp.name}" FROM PUBLIC')
    server = embedded.Postgres(DIRECTORY).superuser_url()
    with psycopg.connect(server, autocommit=True) as superuser:
        superuser.execute("DROP ROLE IF EXISTS axiom_stranger")
        superuser.execute("CREATE ROLE axiom_stranger LOGIN PASSWORD 'x'")
        services.change_datasource(datasource=read, username="axiom_stranger", password="x")
        try:
            nothing_is_lost(extract(read), "source_refused")
        finally:
            superuser.execute("DROP ROLE axiom_stranger")


def test_a_database_that_takes_nobody_in_is_told(read, erp, extract):
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{erp.name}" ALLOW_CONNECTIONS false')
    nothing_is_lost(extract(read), "source_refused")


def test_ten_thousand_partitions_are_one_table(erp, add_source, extract):
    """A hundred of a hundred each; made in portions, for each holds a lock until it is made."""
    erp.run("CREATE TABLE log (year int, day int) PARTITION BY LIST (year)")
    with erp.connect() as server:
        for year in range(100):
            days = (
                f"CREATE TABLE log_{year}_{day} PARTITION OF log_{year} FOR VALUES IN ({day});"
                for day in range(100)
            )
            server.execute(
                f"CREATE TABLE log_{year} PARTITION OF log FOR VALUES IN ({year})"
                f" PARTITION BY LIST (day);{''.join(days)}"
            )
    run = extract(add_source(erp.address))
    assert (run.state, run.tables_count, run.columns_count) == ("DONE", 1, 2)
    log = CatalogTable.objects.get()
    assert (log.kind, log.partitions_count) == ("PARTITIONED TABLE", 10_100)


def test_a_run_stops_when_somebody_asks(read, erp, extract):
    def ask(progress):
        run = ExtractionRun.objects.get(state="RUNNING")
        if not run.cancel_asked:
            services.cancel(run=run)

    run = extract(read, ask)
    assert (run.state, run.error_code) == ("CANCELLED", "extraction_stopped")
    assert CatalogTable.objects.count() == 2


def test_a_run_in_line_is_cancelled_at_once(read):
    run = services.request_extraction(datasource=read)
    assert services.cancel(run=run).state == "CANCELLED"
    assert services.run_extraction(run.pk).state == "CANCELLED"


def test_a_run_whose_process_is_gone_is_ended_and_can_be_repeated(read, extract, now):
    run = services.request_extraction(datasource=read)
    ExtractionRun.objects.filter(pk=run.pk).update(state="RUNNING")
    services.start_due(now)
    run.refresh_from_db()
    assert (run.state, run.error_code) == ("FAILED", "crashed")
    assert extract(read).state == "DONE"


def test_a_run_whose_process_lives_goes_on(read, erp, now):
    run = services.request_extraction(datasource=read)
    ExtractionRun.objects.filter(pk=run.pk).update(state="RUNNING")
    number = int.from_bytes(read.pk.bytes[-8:], signed=True)
    with psycopg.connect(**_as_dsn(erp) | {"dbname": connection.settings_dict["NAME"]}) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [number])
        services.start_due(now)
        assert services.run_extraction(run.pk).state == "RUNNING"
    run.refresh_from_db()
    assert run.state == "RUNNING"


@pytest.fixture
def now():
    from django.utils import timezone

    return timezone.now()


def test_sources_are_read_when_their_time_has_come(read, now):
    from datetime import timedelta

    services.change_datasource(datasource=read, every_minutes=60)
    assert services.start_due(now) == 0
    later = now + timedelta(minutes=61)
    assert services.start_due(later) == 1
    assert services.start_due(later) == 0
    run = ExtractionRun.objects.get(state="QUEUED")
    assert (run.trigger, run.requested_by) == ("schedule", "alice@acme.example")
    read.refresh_from_db()
    assert read.next_run_at == later + timedelta(minutes=60)


def test_no_reading_while_somebody_has_to_decide(read, erp, extract, now):
    from datetime import timedelta

    services.change_datasource(datasource=read, every_minutes=60)
    erp.run("DROP TABLE a, b")
    assert extract(read).state == "HELD"
    assert services.start_due(now + timedelta(minutes=61)) == 0


class TestPublicSchemas:
    """Schemas that the world uses, as the world changes them."""

    def test_chinook_is_read_and_changed(self, erp, add_source, extract):
        text = public_schema("chinook", "postgresql.sql")
        erp.run(text[text.index("CREATE TABLE") :])
        datasource = add_source(erp.address)
        run = extract(datasource)
        assert (run.state, run.tables_count, run.columns_count) == ("DONE", 11, 64)
        album = CatalogTable.objects.get(name="album")
        assert [link["table"] for link in album.foreign_keys] == ["artist"]
        erp.run("ALTER TABLE album RENAME COLUMN title TO name; DROP TABLE playlist CASCADE;"
                "ALTER TABLE invoice ALTER total TYPE numeric(12, 2)")  # fmt: skip
        run = extract(datasource)
        told = {(c.kind, c.table, c.name) for c in run.changes.all()}
        assert told == {
            ("column_renamed", "album", "name"), ("table_removed", "playlist", ""),
            ("type_changed", "invoice", "total"),
            ("foreign_key_removed", "playlist_track", "playlist_track_playlist_id_fkey"),
        }  # fmt: skip

    def test_omop_evolves_from_5_3_to_5_4(self, erp, add_source, extract):
        old, new = public_schema("omop", "5.3.sql"), public_schema("omop", "5.4.sql")
        erp.run("CREATE SCHEMA cdm;" + old.replace("@cdmDatabaseSchema", "cdm"))
        datasource = add_source(erp.address, schemas=["cdm"])
        assert extract(datasource).state == "DONE"
        erp.run("DROP SCHEMA cdm CASCADE; CREATE SCHEMA cdm;"
                + new.replace("@cdmDatabaseSchema", "cdm"))  # fmt: skip
        run = extract(datasource)
        assert run.state == "DONE"
        told = {(c.kind, c.table, c.name): c.breaking for c in run.changes.all()}
        tables = {key[:2] for key in told if key[0].startswith("table")}
        assert tables == {
            ("table_added", "episode"), ("table_added", "episode_event"),
            ("table_added", "cohort"), ("table_removed", "attribute_definition"),
        }  # fmt: skip
        assert told["type_changed", "device_exposure", "unique_device_id"] is False
        assert told["nullable_changed", "cdm_source", "cdm_holder"] is True
        assert told["nullable_changed", "vocabulary", "vocabulary_reference"] is False
        assert told["column_added", "metadata", "metadata_id"] is True
        assert told["primary_key_changed", "metadata", ""] is False
        # Made anew, nothing has the identity of before: no rename is claimed.
        assert told["column_removed", "visit_occurrence", "admitting_source_value"] is True
        assert told["column_added", "visit_occurrence", "admitted_from_source_value"] is False

    def test_the_same_evolution_by_alter_tells_the_renames(self, erp, add_source, extract):
        old = public_schema("omop", "5.3.sql")
        erp.run("CREATE SCHEMA cdm;" + old.replace("@cdmDatabaseSchema", "cdm"))
        datasource = add_source(erp.address, schemas=["cdm"])
        extract(datasource)
        erp.run("ALTER TABLE cdm.visit_occurrence RENAME admitting_source_value"
                " TO admitted_from_source_value")  # fmt: skip
        (change,) = extract(datasource).changes.all()
        assert (change.kind, change.before, change.after) == (
            "column_renamed", "admitting_source_value", "admitted_from_source_value",
        )  # fmt: skip
