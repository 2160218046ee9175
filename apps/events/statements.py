"""Statements that are prepared once and run often, on the connection that Django opened."""

from typing import Any

import psycopg

Connection = psycopg.Connection[Any]


def execute(
    connection: Connection, query: str, params: Any = None, *, binary: bool = False
) -> "psycopg.Cursor[Any]":
    """Run a prepared statement; Django's own cursors bind on the client and prepare nothing."""
    cursor = psycopg.Cursor(connection)
    return cursor.execute(query.encode(), params, prepare=True, binary=binary)
