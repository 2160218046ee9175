"""How often a client may call, counted in Redis so that all processes agree."""

import time
from typing import Any

import structlog
from django.conf import settings
from django_redis import get_redis_connection
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from axiom.api.client import client_ip

log = structlog.get_logger(__name__)

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Throttle(BaseThrottle):
    """Counts calls per window of the scope's rate in settings.API_THROTTLES.

    The scope is the view's `throttle_scope`, else `user` or `anon`. Without Redis nobody is
    throttled: an API that answers is worth more than one that counts.
    """

    def __init__(self) -> None:
        self.seconds_left = 0.0

    def allow_request(self, request: Request, view: Any) -> bool:
        scope, who = _caller(request, view)
        limit, window = parse_rate(settings.API_THROTTLES[scope])
        now = time.time()
        self.seconds_left = window - now % window
        return _count(f"axiom:throttle:{scope}:{who}:{int(now // window)}", window) <= limit

    def wait(self) -> float:
        return self.seconds_left


def parse_rate(rate: str) -> tuple[int, int]:
    """`20/min` as (20, 60)."""
    number, _, period = rate.partition("/")
    return int(number), _SECONDS[period[0]]


def _caller(request: Request, view: Any) -> tuple[str, str]:
    scope = getattr(view, "throttle_scope", None)
    if request.user and request.user.is_authenticated:
        return scope or "user", str(request.user.pk)
    return scope or "anon", client_ip(request._request)


def _count(key: str, window: int) -> int:
    try:
        with get_redis_connection("default").pipeline() as pipe:
            return int(pipe.incr(key).expire(key, window).execute()[0])
    except RedisError as error:
        log.warning("throttle is off: Redis is away", error=str(error))
        return 0
