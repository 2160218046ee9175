"""At most three streams of a person, across all processes: the fourth takes the oldest's seat."""

import time
from collections.abc import Iterable
from typing import Any

from apps.events import keys
from apps.notifications.live.connection import Connection

SEATS = 3
LEASE_SECONDS = 30.0

# One atomic step: say that this process lives, forget the streams of processes that are gone, sit down, and send away those
# that are too many. A process has one lease for all its streams.
_SIT_DOWN = """
redis.call('ZADD', KEYS[2], 'GT', ARGV[5], ARGV[6])
for _, seat in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    local process = string.match(seat, '^[^:]+')
    local lease = redis.call('ZSCORE', KEYS[2], process)
    if not lease or tonumber(lease) < tonumber(ARGV[3]) then redis.call('ZREM', KEYS[1], seat) end
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('EXPIRE', KEYS[1], 86400)
local away = redis.call('ZRANGE', KEYS[1], 0, -1 - tonumber(ARGV[4]))
for _, seat in ipairs(away) do
    redis.call('ZREM', KEYS[1], seat)
    redis.call('PUBLISH', KEYS[3], seat)
end
return #away
"""


class Seats:
    """The seats as one process sees them."""

    def __init__(self, redis: Any, process: str) -> None:
        self._redis, self.process, self._taken = redis, process, 0
        self._script = redis.register_script(_SIT_DOWN)

    def next_id(self) -> str:
        self._taken += 1
        return f"{self.process}:{self._taken}"

    async def renew(self) -> None:
        """Say that this process lives; forget those that have not said so for long."""
        now = time.time()
        pipe = self._redis.pipeline(transaction=False)
        pipe.zadd(keys.LIVE_PROCESSES, {self.process: now + LEASE_SECONDS})
        pipe.zremrangebyscore(keys.LIVE_PROCESSES, "-inf", now - LEASE_SECONDS)
        await pipe.execute()

    async def sit_down(self, connection: Connection, client: Any = None) -> None:
        await self._script(
            keys=[connection.seats(), keys.LIVE_PROCESSES, keys.LIVE_DISCONNECT],
            args=[
                *(connection.id, connection.since, time.time(), SEATS),
                *(time.time() + LEASE_SECONDS, self.process),
            ],
            client=client,
        )

    async def sit_down_again(self, connections: Iterable[Connection]) -> None:
        """After Redis was away: it may have forgotten everybody."""
        await self.renew()
        pipe = self._redis.pipeline(transaction=False)
        for connection in connections:
            await self.sit_down(connection, pipe)
        await pipe.execute()

    async def stand_up(self, connection: Connection) -> None:
        await self._redis.zrem(connection.seats(), connection.id)


def too_many(connections: Iterable[Connection]) -> list[Connection]:
    """Who leaves when only this process can be asked, because Redis is away."""
    oldest_first = sorted(connections, key=lambda connection: connection.since)
    return oldest_first[:-SEATS]
