"""Fixtures that every test may use."""

import pytest
from django.conf import settings


@pytest.fixture
def redis_client():
    """An empty Redis database of this test worker's own."""
    import redis

    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()
        yield client
