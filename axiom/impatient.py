"""Connections for probes, which want a quick no rather than a late yes."""

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


def redis_client(url: str, seconds: float) -> redis.Redis:
    """A client that asks once; the usual one tries again for many seconds."""
    return redis.Redis.from_url(
        url,
        socket_connect_timeout=seconds,
        socket_timeout=seconds,
        retry=Retry(NoBackoff(), 0),
    )
