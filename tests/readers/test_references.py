"""Whether a type is still of the kind it was."""

import pytest

from axiom.references import Use, _troubles, kind_of


@pytest.mark.parametrize(
    ("was", "now", "same"),
    [
        ("integer", "bigint", True),
        ("numeric(10,2)", "double precision", True),
        ("varchar(10)", "text", True),
        ("character varying(10)", "varchar(20)", True),
        ("timestamp without time zone", "timestamptz", True),
        ("timestamp", "date", False),
        ("integer", "text", False),
        ("text", "text[]", False),
        ("uuid", "uuid", True),
        ("uuid", "text", False),
        ("geometry(Point,4326)", "geometry", True),
        ("jsonb", "json", True),
        ("int[]", "bigint[]", True),
    ],
)
def test_a_reader_of_a_type_can_read_another_of_its_kind(was, now, same):
    assert (kind_of(was) == kind_of(now)) is same


class Used:
    def __init__(self, dtype, *use):
        self.dtype, self.use = dtype, Use(*use)


ORDERS = {("sales", "orders"): {"id": "integer", "total": "text"}}


@pytest.mark.parametrize(
    ("used", "renames", "codes"),
    [
        (Used("", "sales", "orders"), {}, []),
        (Used("integer", "sales", "orders", "id"), {}, []),
        (Used("", "public", "orders"), {}, ["table_missing"]),
        (Used("", "public", "orders"), {("public", "orders"): "sales.orders"}, ["table_renamed"]),
        (Used("date", "sales", "orders", "day"), {}, ["column_missing"]),
        (
            Used("date", "sales", "orders", "day"),
            {("sales", "orders", "day"): "placed_on"},
            ["column_renamed"],
        ),
        (Used("numeric", "sales", "orders", "total"), {}, ["type_changed"]),
        (Used("", "sales", "orders", "total"), {}, []),
    ],
)
def test_what_is_wrong_is_told(used, renames, codes):
    assert [trouble["code"] for trouble in _troubles([used], ORDERS, renames)] == codes
