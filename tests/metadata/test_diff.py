"""Differences between two states are told as what they are, and lead from one to the other."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.metadata.diff import apply, compare
from apps.metadata.structure import Column, ForeignKey, Index, Table
from apps.metadata.widening import judge

ORDERS = Table(
    "public", "orders",
    columns=(Column("id", "integer", False, number=1), Column("note", "varchar(10)", number=2)),
    primary_key=("id",), indexes=(Index("orders_note", ("note",)),), identity=100,
)  # fmt: skip
LINES = Table(
    "public", "lines", columns=(Column("order_id", "integer", number=1),), identity=101,
    foreign_keys=(ForeignKey("to_order", ("order_id",), "public", "orders", ("id",)),),
)  # fmt: skip


def told(old, new, **options):
    return [(c.kind, c.label, c.name, c.breaking) for c in compare(old, new, **options)]


def with_columns(*columns):
    return replace(ORDERS, columns=columns)


ID, NOTE = ORDERS.columns


def test_what_is_the_same_is_not_told():
    assert told([ORDERS, LINES], [LINES, ORDERS]) == []


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (with_columns(ID, replace(NOTE, dtype="varchar(20)")), ("type_changed", "note", False)),
        (with_columns(ID, replace(NOTE, dtype="varchar(5)")), ("type_changed", "note", True)),
        (with_columns(ID, replace(NOTE, nullable=False)), ("nullable_changed", "note", True)),
        (with_columns(replace(ID, nullable=True), NOTE), ("nullable_changed", "id", False)),
        (with_columns(ID, replace(NOTE, default="'x'")), ("default_changed", "note", False)),
        (with_columns(ID, replace(NOTE, comment="x")), ("comment_changed", "note", False)),
        (with_columns(ID, replace(NOTE, name="memo")), ("column_renamed", "memo", True)),
        (with_columns(ID, NOTE, Column("n", "text")), ("column_added", "n", False)),
        (with_columns(ID, NOTE, Column("n", "text", False)), ("column_added", "n", True)),
        (replace(ORDERS, kind="VIEW"), ("kind_changed", "", True)),
        (replace(ORDERS, comment="x"), ("comment_changed", "", False)),
        (replace(ORDERS, definition="SELECT"), ("definition_changed", "", False)),
        (replace(ORDERS, primary_key=()), ("primary_key_changed", "", True)),
        (replace(ORDERS, indexes=()), ("index_removed", "orders_note", False)),
        (
            replace(ORDERS, indexes=(Index("orders_note", ("note",), unique=True),)),
            ("index_changed", "orders_note", True),
        ),
        (replace(ORDERS, indexes=(Index("x", ("note",)),)), ("index_changed", "x", False)),
    ],
)
def test_a_change_is_told_as_what_it_is(new, expected):
    # A renamed column's index follows it, and is not told as changed.
    if new.columns[1].name == "memo":
        new = replace(new, indexes=(Index("orders_note", ("memo",)),))
    assert told([ORDERS], [new]) == [(expected[0], "public.orders", *expected[1:])]


def test_a_removed_column_is_told():
    old, new = replace(ORDERS, indexes=()), replace(with_columns(ID), indexes=())
    assert told([old], [new]) == [("column_removed", "public.orders", "note", True)]


def test_a_renamed_table_is_one_change_and_what_refers_to_it_none():
    moved = replace(ORDERS, schema="sales", name="purchases")
    link = replace(LINES.foreign_keys[0], schema="sales", table="purchases")
    new = [moved, replace(LINES, foreign_keys=(link,))]
    assert told([ORDERS, LINES], new) == [("table_renamed", "sales.purchases", "", True)]


def test_identities_of_another_database_mean_nothing():
    moved = replace(ORDERS, name="purchases")
    assert told([ORDERS], [moved], same_identities=False) == [
        ("table_added", "public.purchases", "", False),
        ("table_removed", "public.orders", "", True),
    ]


def test_a_column_that_was_dropped_and_came_back_is_the_same():
    assert told([ORDERS], [with_columns(ID, replace(NOTE, number=3))]) == []


def test_two_tables_may_exchange_their_names():
    old = [Table("s", "a", identity=1), Table("s", "b", identity=2)]
    new = [Table("s", "b", identity=1), Table("s", "a", identity=2)]
    changes = compare(old, new)
    assert [(c.before, c.after) for c in changes] == [
        (["s", "a"], ["s", "b"]), (["s", "b"], ["s", "a"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "widens"),
    [
        ("smallint", "integer", True), ("integer", "smallint", False),
        ("integer", "bigint", True), ("integer", "numeric", True),
        ("integer", "numeric(10,0)", True), ("integer", "numeric(10,2)", False),
        ("int unsigned", "bigint", True), ("int unsigned", "int", False),
        ("integer", "int unsigned", False), ("real", "double precision", True),
        ("double precision", "real", False), ("numeric(10,2)", "numeric(12,2)", True),
        ("numeric(10,2)", "numeric(12,4)", True), ("numeric(10,2)", "numeric(10,4)", False),
        ("numeric(10,2)", "numeric", True), ("numeric", "numeric(10,2)", False),
        ("character varying(10)", "character varying(20)", True),
        ("character varying(20)", "varchar(10)", False), ("varchar(10)", "text", True),
        ("text", "varchar(10)", False), ("varchar", "varchar(10)", False),
        ("varchar(10)", "character varying", True), ("char(5)", "char(9)", True),
        ("char(5)", "text", False), ("mediumtext", "longtext", True),
        ("longtext", "text", False), ("timestamp(3) without time zone",
                                      "timestamp without time zone", True),
        ("timestamp without time zone", "timestamp(0) without time zone", False),
        ("timestamp without time zone", "timestamp with time zone", False),
        ("text", "integer", False), ("integer", "text", False), ("integer[]", "bigint", False),
        ("int4", "integer", True), ("mood", "text", False), ("uuid", "uuid", True),
    ],
)  # fmt: skip
def test_wider_types_hold_what_narrower_ones_do(old, new, widens):
    assert judge(old, new).widens is widens


NAMES = st.sampled_from("abcd")
TYPES = st.sampled_from(["integer", "bigint", "text", "varchar(10)"])
COLUMNS = st.builds(
    Column, NAMES, TYPES, st.booleans(), st.sampled_from([None, "1"]), st.sampled_from(["", "c"]),
    st.integers(1, 6),
)  # fmt: skip


def unique_by(*keys):
    return tuple(lambda each, key=key: getattr(each, key) for key in keys)


INDEXES = st.builds(
    Index,
    st.sampled_from("ij"),
    st.tuples(NAMES),
    st.booleans(),
    where=st.sampled_from(["", "a > b"]),
)
LINKS = st.builds(
    ForeignKey, st.sampled_from("fg"), st.tuples(NAMES), st.just("s"), NAMES, st.tuples(NAMES)
)
TABLES = st.builds(
    Table, st.sampled_from("st"), NAMES, st.sampled_from(["BASE TABLE", "VIEW"]),
    st.lists(COLUMNS, max_size=4, unique_by=unique_by("name", "number")).map(tuple),
    st.lists(NAMES, max_size=2, unique=True).map(tuple),
    st.lists(LINKS, max_size=2, unique_by=unique_by("name")).map(tuple),
    st.lists(INDEXES, max_size=2, unique_by=unique_by("name")).map(tuple),
    st.sampled_from(["", "told"]), st.sampled_from(["", "SELECT 1"]), st.integers(1, 6),
)  # fmt: skip
STATES = st.lists(TABLES, max_size=5, unique_by=unique_by("key", "identity"))


def normal(tables):
    """The order of columns, keys and indexes is no difference."""
    return {
        table.key: (
            table.kind, frozenset(table.columns), table.primary_key,
            frozenset(table.foreign_keys), frozenset(table.indexes), table.comment,
            table.definition,
        )
        for table in tables
    }  # fmt: skip


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STATES, STATES, st.booleans())
def test_the_differences_lead_from_one_state_to_the_other(old, new, same_identities):
    changes = compare(old, new, same_identities=same_identities)
    assert normal(apply(old, changes)) == normal(new)
    if not changes:
        assert normal(old) == normal(new)
