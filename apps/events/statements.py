"""Statements that are prepared once and run often, on the connection that Django opened."""

from types import SimpleNamespace
from typing import Any

import psycopg
from django.db import connection as django_connection
from django.db.backends.utils import CursorWrapper

Connection = psycopg.Connection[Any]

PREPARE_THRESHOLD = 5
"""As psycopg has it by itself: Django's own cursors bind on the client and are not touched by it."""


def execute(
    connection: Connection, query: str, params: Any = None, *, binary: bool = False
) -> "psycopg.Cursor[Any]":
    """Run a prepared statement; Django's own cursors bind on the client and prepare nothing."""
    cursor = psycopg.Cursor(connection)
    return cursor.execute(query.encode(), params, prepare=True, binary=binary)


class _Preparing(psycopg.Cursor[Any]):
    """A cursor whose statements are all prepared."""

    def execute(  # type: ignore[override]
        self, query: Any, params: Any = None, *, prepare: bool | None = True, **options: Any
    ) -> "psycopg.Cursor[Any]":
        super().execute(query, params, prepare=prepare, **options)
        if django_connection.queries_logged:
            # Django's query log asks for the text, which prepared statements do not leave here.
            ops: Any = django_connection.ops
            text = ops.compose_sql(query, params)
            self._query: Any = SimpleNamespace(query=text.encode())
        return self


def preparing_cursor() -> CursorWrapper:
    """A cursor that prepares, with all that Django's own do: errors, query log, broken blocks."""
    django_connection.ensure_connection()
    # Django switches prepared statements off, also those that are asked for.
    django_connection.connection.prepare_threshold = PREPARE_THRESHOLD
    return django_connection._prepare_cursor(_Preparing(django_connection.connection))  # type: ignore[no-any-return, attr-defined]
