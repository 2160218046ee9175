"""Data sources: passwords stay inside, files stay in their directory, SQLite is read for real."""

import contextlib
import socket
import sqlite3

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from apps.events.context import acting
from apps.metadata import credentials, introspection, services
from apps.metadata.errors import FileOutside, PasswordNeeded, SecretUnreadable, SourceUnreachable
from apps.metadata.introspection import Address
from apps.metadata.models import CatalogChange, CatalogTable, DataSource
from tests.metadata.conftest import public_schema

pytestmark = pytest.mark.django_db


@pytest.fixture
def files(settings, tmp_path):
    settings.METADATA_FILES_DIR = tmp_path / "sqlite"
    settings.METADATA_FILES_DIR.mkdir()
    return settings.METADATA_FILES_DIR


@pytest.fixture
def shop(files, add_source):
    """An SQLite database."""
    _run(files / "shop.db", """
        CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL);
        CREATE TABLE orders (
            id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id) ON DELETE CASCADE,
            total NUMERIC(10, 2) DEFAULT 0, parent_id INTEGER,
            FOREIGN KEY (parent_id) REFERENCES orders (id) ON UPDATE SET NULL);
        CREATE INDEX by_customer ON orders (customer_id);
        CREATE VIEW big AS SELECT id, total FROM orders WHERE total > 100;
    """)  # fmt: skip
    return add_source({"engine": "sqlite", "database": "shop.db"}, name="shop")


def _run(path, statements):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(statements)


def test_sqlite_is_read(shop, extract, said):
    run = extract(shop)
    assert (run.state, run.tables_count, run.columns_count) == ("DONE", 3, 8)
    orders = CatalogTable.objects.get(name="orders")
    assert [(k["table"], k["referred"], k["on_delete"], k["on_update"]) for k in orders.foreign_keys
            ] == [("customers", ["id"], "CASCADE", ""), ("orders", ["id"], "", "SET NULL")]  # fmt: skip
    assert [index["columns"] for index in orders.indexes] == [["customer_id"]]
    total = orders.columns.get(name="total")
    assert (total.dtype, total.default, orders.primary_key) == ("NUMERIC(10, 2)", "0", ["id"])
    assert CatalogTable.objects.get(name="big").kind == "VIEW"
    assert said("metadata.extracted")[0]["engine"] == "sqlite"


def test_sqlite_has_no_identities_and_so_no_renames(shop, files, extract):
    extract(shop)
    _run(files / "shop.db", "ALTER TABLE customers RENAME COLUMN name TO title")
    changes = {(c.kind, c.name) for c in extract(shop).changes.all()}
    assert changes == {("column_removed", "name"), ("column_added", "title")}


def test_chinook_in_sqlite(files, add_source, extract):
    _run(files / "chinook.db", public_schema("chinook", "sqlite.sql"))
    run = extract(add_source({"engine": "sqlite", "database": "chinook.db"}, name="chinook"))
    assert (run.state, run.tables_count, run.columns_count) == ("DONE", 11, 64)


def test_a_file_that_is_not_there_is_told_and_not_made(files, add_source, extract):
    run = extract(add_source({"engine": "sqlite", "database": "gone.db"}, name="gone"))
    assert (run.state, run.error_code) == ("FAILED", "source_unreachable")
    assert list(files.iterdir()) == []


@pytest.mark.parametrize("path", ["../secret.db", "/etc/passwd", "a/../../x"])
def test_files_elsewhere_are_nobodys_business(files, add_source, path):
    with pytest.raises(FileOutside):
        add_source({"engine": "sqlite", "database": path}, name="elsewhere")


def test_a_files_name_carries_no_settings(files, add_source, extract):
    run = extract(add_source({"engine": "sqlite", "database": "x?mode=rwc"}, name="rwc"))
    assert (run.error_code, list(files.iterdir())) == ("source_unreachable", [])


@pytest.mark.parametrize("engine", ["postgresql", "mysql"])
@pytest.mark.parametrize("host", ["a..b", "x" * 100, "no such host"])
def test_a_host_that_is_none_is_told(engine, host):
    with pytest.raises(SourceUnreachable):
        introspection.read(Address(engine, "x", host, 1, "u", "p"))


def test_mysql_that_is_not_there_is_told():
    with pytest.raises(SourceUnreachable):
        introspection.read(Address("mysql", "x", "127.0.0.1", 1, "u", "p"))


def test_a_mysql_that_never_answers_is_given_up_and_loses_nothing(shop, extract, settings):
    extract(shop)
    settings.METADATA_STATEMENT_SECONDS = 0.3
    shop.engine, shop.host = "mysql", "127.0.0.1"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        shop.port = silent.getsockname()[1]
        shop.save()
        run = extract(shop)
    assert (run.state, run.error_code) == ("FAILED", "source_too_slow")
    assert CatalogTable.objects.count() == 3


def test_an_sqlite_file_that_is_broken_loses_nothing(shop, files, extract):
    extract(shop)
    (files / "shop.db").write_bytes(b"no database at all" * 100)
    run = extract(shop)
    assert (run.state, run.error_code) == ("FAILED", "source_failed")
    assert CatalogTable.objects.count() == 3


def test_a_password_is_sealed(add_source):
    source = add_source({"engine": "postgresql", "database": "x", "password": "s3cret"})
    assert "s3cret" not in str(DataSource.objects.values().get())
    address = Address.of(source)
    assert (address.password, "s3cret" in repr(address)) == ("s3cret", False)


def test_the_key_can_be_changed(settings):
    sealed = credentials.seal("s3cret")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key"
    assert credentials.unseal(sealed) == "s3cret"
    renewed = credentials.resealed(sealed)
    settings.SECRET_KEY_FALLBACKS = []
    assert credentials.unseal(renewed) == "s3cret"
    with pytest.raises(SecretUnreadable):
        credentials.unseal(sealed)


def test_all_passwords_are_sealed_anew(add_source, settings):
    source = add_source({"engine": "postgresql", "database": "x", "password": "s3cret"})
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key"
    assert services.reseal_passwords() == 1
    settings.SECRET_KEY_FALLBACKS = []
    source.refresh_from_db()
    assert Address.of(source).password == "s3cret"


def test_a_password_does_not_follow_to_another_server(add_source):
    source = add_source({"engine": "postgresql", "database": "x", "host": "a", "password": "y"})
    with pytest.raises(PasswordNeeded):
        services.change_datasource(datasource=source, host="evil.example")
    changed = services.change_datasource(datasource=source, host="b", password="z")
    assert (changed.host, Address.of(changed).password) == ("b", "z")


def test_the_same_title_needs_no_password(add_source):
    source = add_source({"engine": "postgresql", "database": "x", "host": "a", "password": "y"})
    changed = services.change_datasource(datasource=source, host="a", title="ERP")
    assert (changed.title, Address.of(changed).password) == ("ERP", "y")


def test_two_sources_of_a_tenant_have_two_names(add_source, rival):
    add_source({"engine": "postgresql", "database": "x"})
    with pytest.raises(ValidationError, match="called that"):
        add_source({"engine": "postgresql", "database": "y"})
    with acting(tenant_id=rival.pk):
        services.add_datasource(name="erp_db", engine="postgresql", database="x")


def test_a_source_that_is_forgotten_tells_its_readers(shop, extract, said, hush):
    extract(shop)
    hush()
    services.remove_datasource(datasource=shop)
    assert sorted(event["table_name"] for event in said("metadata.table.removed")) == [
        "big", "customers", "orders",
    ]  # fmt: skip
    assert CatalogTable.across_tenants.count() == 0


def test_the_command_reads_and_tells(shop, capsys):
    call_command("extract_metadata", "shop")
    told = capsys.readouterr().out
    assert "3 tables, 8 columns; 3 added" in told
    assert CatalogTable.objects.count() == 3


def test_the_command_ends_with_an_error_when_it_failed(shop, files, capsys):
    (files / "shop.db").unlink()
    with pytest.raises(SystemExit) as ended:
        call_command("extract_metadata", "shop")
    assert ended.value.code == 1
    assert "does not answer" in " ".join(capsys.readouterr().out.split())


def test_the_command_names_what_it_does_not_find(db):
    with pytest.raises(CommandError, match="No data source is called nothing"):
        call_command("extract_metadata", "nothing")


def test_the_demo_shows_a_catalog_that_changed(files, db):
    from apps.accounts import demo as people
    from apps.metadata import demo, selectors

    people.load()
    for _ in range(2):
        demo.load()
    sources = DataSource.across_tenants.order_by("title")
    assert [each.title for each in sources] == ["Harbor ERP", "한빛 ERP"]
    with acting(tenant_id=sources[1].tenant_id):
        names = [table.name for table in selectors.known_tables("demo_erp")]
        assert names == [
            "customers", "monthly_sales", "order_lines", "orders", "payments", "products",
        ]  # fmt: skip
        assert [term.term for term in selectors.glossary("demo_erp")] == ["거래처", "매출"]
        changed = CatalogChange.objects.filter(breaking=True).values_list("kind", flat=True)
        assert {"table_removed", "column_removed"} <= set(changed)
    assert len(list(files.iterdir())) == 2
    demo.clear()
    assert list(files.iterdir()) == []
