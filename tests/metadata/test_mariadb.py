"""A real MariaDB, read through SQLAlchemy: every change is told as what it is."""

import os
import shutil
import subprocess

import pymysql
import pytest

from apps.metadata import services
from apps.metadata.models import CatalogTable
from axiom.embedded.state import free_port
from tests.programs import eventually

pytestmark = pytest.mark.django_db

SHOP = """
CREATE TABLE customers (
    id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20) NOT NULL COMMENT 'As they sign',
    UNIQUE KEY by_name (name)) COMMENT 'Who buys';
CREATE TABLE orders (
    id INT PRIMARY KEY, customer_id INT, total DECIMAL(10, 2) DEFAULT 0.00,
    KEY by_customer (customer_id),
    CONSTRAINT bought FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE);
CREATE VIEW big AS SELECT id, total FROM orders WHERE total > 100;
"""


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory):
    """A server of the tests' own. Without one they are skipped on a laptop, and fail in CI."""
    if not (shutil.which("mariadbd") and shutil.which("mariadb-install-db")):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "No MariaDB here: install mariadb-server-core and mariadb-client-core to run these."
        )
    folder, port = tmp_path_factory.mktemp("mariadb"), free_port()
    # Its own settings only, whatever the machine has; and whoever runs the tests runs the server.
    common = [
        "--no-defaults",
        f"--datadir={folder}/data",
        f"--user={os.environ.get('USER', 'root')}",
    ]
    subprocess.run(
        ["mariadb-install-db", *common, "--auth-root-authentication-method=normal"],
        check=True, capture_output=True, timeout=100,
    )  # fmt: skip
    server = subprocess.Popen(
        ["mariadbd", *common, f"--port={port}", "--bind-address=127.0.0.1",
         f"--socket={folder}/s", f"--pid-file={folder}/pid", "--skip-log-bin"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        eventually(lambda: _answers(port))
        yield port
    finally:
        server.terminate()
        server.wait(30)


def _answers(port):
    try:
        pymysql.connect(host="127.0.0.1", port=port, user="root").close()
    except pymysql.Error:
        return False
    return True


@pytest.fixture
def run(mariadb):
    """Runs statements in a database of this test's own."""

    def run(statements, database="shop"):
        link = pymysql.connect(
            host="127.0.0.1", port=mariadb, user="root", database=database, autocommit=True
        )
        with link, link.cursor() as cursor:
            for statement in filter(str.strip, statements.split(";")):
                cursor.execute(statement)

    run("DROP DATABASE IF EXISTS shop; CREATE DATABASE shop", database=None)
    run(SHOP)
    return run


@pytest.fixture
def shop(mariadb, run, add_source):
    run(
        "CREATE OR REPLACE USER reader@localhost IDENTIFIED BY 'x'; GRANT SELECT, SHOW VIEW ON shop.* TO reader@localhost"
    )
    return add_source(
        {"engine": "mysql", "host": "127.0.0.1", "port": mariadb, "database": "shop",
         "username": "reader", "password": "x"}, name="shop",
    )  # fmt: skip


def test_mariadb_is_read(shop, extract, said):
    done = extract(shop)
    assert (done.state, done.error, done.tables_count, done.columns_count) == ("DONE", "", 3, 7)
    orders, customers = (CatalogTable.objects.get(name=n) for n in ("orders", "customers"))
    (key,) = orders.foreign_keys
    assert (key["table"], key["columns"], key["referred"], key["on_delete"]) == (
        "customers", ["customer_id"], ["id"], "CASCADE",
    )  # fmt: skip
    assert [index["name"] for index in orders.indexes] == ["by_customer"]
    assert orders.primary_key == ["id"]
    assert orders.columns.get(name="total").dtype == "DECIMAL(10, 2)"
    assert customers.comment == "Who buys"
    name = customers.columns.get(name="name")
    assert (name.comment, name.nullable) == ("As they sign", False)
    assert CatalogTable.objects.get(name="big").kind == "VIEW"
    assert said("metadata.extracted")[0]["engine"] == "mysql"


def test_what_changes_in_mariadb_is_told_as_what_it_is(shop, run, extract):
    extract(shop)
    assert not extract(shop).changes.exists()
    run("""
        ALTER TABLE customers MODIFY name VARCHAR(60) NOT NULL COMMENT 'As they sign';
        ALTER TABLE orders MODIFY total DECIMAL(6, 2) DEFAULT 0.00, ADD COLUMN note TEXT;
        DROP VIEW big;
        CREATE TABLE returns (id INT PRIMARY KEY)
    """)
    told = {(c.kind, c.table, c.name, c.breaking) for c in extract(shop).changes.all()}
    assert told == {
        ("type_changed", "customers", "name", False),
        ("type_changed", "orders", "total", True),
        ("column_added", "orders", "note", False),
        ("table_removed", "big", "", True),
        ("table_added", "returns", "", False),
    }


def test_a_database_that_is_not_there_is_told_and_nothing_is_deleted(shop, run, extract):
    extract(shop)
    run("DROP DATABASE shop", database=None)
    failed = extract(shop)
    assert failed.state == "FAILED"
    assert failed.error
    assert CatalogTable.objects.count() == 3


def test_who_may_no_longer_look_is_told_and_nothing_is_deleted(shop, run, extract):
    extract(shop)
    run("REVOKE SELECT, SHOW VIEW ON shop.* FROM reader@localhost")
    assert extract(shop).state == "FAILED"
    assert CatalogTable.objects.count() == 3


def test_a_connection_to_mariadb_is_tested(shop):
    assert services.try_connection(datasource=shop)
