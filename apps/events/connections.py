"""Connections of the backbone's own, outside Django's request cycle."""

import functools
import os
from typing import Any

import psycopg
import redis
from django.conf import settings
from django.db import connection

Redis = Any
"""A redis.Redis; its own types speak of bytes, text, futures and values all at once."""

_TIMEOUTS: dict[str, dict[str, float]] = {
    # A producer waits a moment at most; workers may block on a read for seconds.
    "nudge": {"socket_timeout": 0.5, "socket_connect_timeout": 0.5},
    "worker": {"socket_timeout": 30, "socket_connect_timeout": 5},
}


def redis_client(use: str = "worker") -> Redis:
    """The process's Redis client for this use."""
    return _redis_client(use, os.getpid())


@functools.cache
def _redis_client(use: str, pid: int) -> Redis:
    return redis.Redis.from_url(settings.REDIS_URL, **_TIMEOUTS[use])


def postgres_connection(**options: Any) -> "psycopg.Connection[Any]":
    """A plain autocommit connection to Django's database, for statements that must be lean."""
    params = connection.get_connection_params()
    wanted = {k: params[k] for k in ("dbname", "user", "password", "host", "port") if k in params}
    return psycopg.connect(
        **wanted, autocommit=True, keepalives_idle=10, keepalives_interval=5, keepalives_count=3,
        tcp_user_timeout=30_000, **options,
    )  # fmt: skip
