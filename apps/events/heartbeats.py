"""Who is alive: each worker process says so every few seconds."""

import json
import os
import platform
import secrets
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import redis

from . import keys
from .connections import redis_client
from .timings import Timings

EVERY_SECONDS = 2.0
GONE_AFTER_SECONDS = 8
FORGOTTEN_AFTER_SECONDS = 600
"""Long enough for clocks that differ: whether a worker lives is said by a key that expires."""


def new_worker_name() -> str:
    """A name that no process had before: a reused one would hide that its owner died."""
    return f"{platform.node()}-{os.getpid()}-{secrets.token_hex(3)}"


@dataclass(frozen=True)
class Alive:
    """A worker process that was heard of lately."""

    name: str
    workers: Sequence[str]
    started_at: str
    pid: int


class Heart:
    """Beats in the background for as long as the process lives."""

    def __init__(self, name: str, workers: Sequence[str]) -> None:
        self.name = name
        self._timings = Timings()
        self._told = json.dumps(
            {"name": name, "workers": list(workers), "pid": os.getpid(),
             "started_at": datetime.now(UTC).isoformat()}
        )  # fmt: skip

    def beat(self) -> None:
        """Say that the process lives, and how long its handlers took lately."""
        self._timings.tell()
        now = time.time()
        pipe = redis_client().pipeline()
        pipe.set(keys.heartbeat(self.name), self._told, ex=GONE_AFTER_SECONDS)
        pipe.zadd(keys.WORKERS_HEARD, {self.name: now})
        pipe.zremrangebyscore(keys.WORKERS_HEARD, "-inf", now - FORGOTTEN_AFTER_SECONDS)
        pipe.execute()

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                self.beat()
            except redis.RedisError:
                # The workers meet the same trouble and say so.
                stop.wait(EVERY_SECONDS)
                continue
            stop.wait(EVERY_SECONDS)

    def stop(self) -> None:
        try:
            pipe = redis_client().pipeline()
            pipe.delete(keys.heartbeat(self.name)).zrem(keys.WORKERS_HEARD, self.name)
            pipe.execute()
        except redis.RedisError:
            return


def alive() -> list[Alive]:
    """Every worker process that was heard of in the last seconds."""
    client = redis_client()
    heard = [name.decode() for name in client.zrange(keys.WORKERS_HEARD, 0, -1)]
    told = client.mget([keys.heartbeat(name) for name in heard]) if heard else []
    return [Alive(**json.loads(value)) for value in told if value]


def silent(names: Iterable[str]) -> list[str]:
    """Those of these workers that nobody has heard of lately."""
    names = list(names)
    if not names:
        return []
    told = redis_client().mget([keys.heartbeat(name) for name in names])
    return [name for name, value in zip(names, told, strict=True) if value is None]
