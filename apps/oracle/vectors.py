"""Vectors in PostgreSQL where it has pgvector; `manage.py migrate` looks, every time it runs."""

from functools import cache
from typing import Any

import structlog
from django.db import Error, connection, transaction

from apps.oracle.embedding import Vector

log = structlog.get_logger(__name__)

_AVAILABLE = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
_THERE = """
SELECT 1 FROM pg_attribute
WHERE attrelid = 'oracle_indexentry'::regclass AND attname = 'embedding' AND NOT attisdropped
"""
_ADD = "ALTER TABLE oracle_indexentry ADD COLUMN IF NOT EXISTS embedding sparsevec"


def add_where_possible(**kwargs: Any) -> None:
    """Give the index its column of vectors, unless this PostgreSQL cannot or may not."""
    with connection.cursor() as cursor:
        cursor.execute(_AVAILABLE)
        if cursor.fetchone() is None:
            return
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
            cursor.execute(_ADD)
    except Error as error:
        log.warning("no vectors, full text instead", error=str(error))
    are_here.cache_clear()


@cache
def are_here() -> bool:
    """Whether the index has vectors."""
    with connection.cursor() as cursor:
        cursor.execute(_THERE)
        return cursor.fetchone() is not None


def literal(vector: Vector, dimensions: int) -> str:
    """A vector as pgvector reads it; its dimensions are counted from one."""
    parts = ",".join(f"{at + 1}:{weight:.5g}" for at, weight in sorted(vector.items()))
    return f"{{{parts}}}/{dimensions}"
