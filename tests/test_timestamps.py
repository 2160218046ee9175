"""Moments come out of the database as they went in, whatever reads them."""

from datetime import UTC, datetime

import pytest
from django.db import connection

from apps.events.statements import preparing_cursor
from axiom.timestamps import QuickLoader

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 1, 31, 12, 34, 56, 789012, tzinfo=UTC),
        datetime(2026, 1, 31, 12, 34, 56, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=UTC),
    ],
)
@pytest.mark.parametrize("cursor_of", [lambda: connection.cursor(), preparing_cursor])
def test_a_moment_is_read_as_it_was_written(moment, cursor_of):
    with cursor_of() as cursor:
        cursor.execute("SELECT %s::timestamptz", [moment])
        (read,) = cursor.fetchone()
    assert (read, read.tzinfo) == (moment, UTC)


def test_django_takes_this_loader_for_its_own():
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        loader = cursor.connection.adapters.get_loader(1184, 0)
    assert loader is QuickLoader
