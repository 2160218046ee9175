"""One hub per process: it hears Redis once and tells all its connections.

Redis makes it fast, the database makes it true. Frames come from the tenants' streams as soon as
they are pushed; once a second the hub looks into the database, for all connections together:
who may no longer listen, who wants no notifications, and whose inbox has more than was told.
So whatever Redis forgets, drops or never got is told a second later.
"""

import asyncio
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from uuid import UUID

import orjson
import redis.asyncio
import structlog
from django.conf import settings
from django.db import Error as AnyDatabaseError
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from apps.accounts.services import ENDED_CHANNEL
from apps.events import keys
from apps.notifications.live.connection import Connection
from apps.notifications.live.handshake import in_database
from apps.notifications.live.seats import LEASE_SECONDS, Seats, too_many
from apps.notifications.selectors import (
    Member,
    Replay,
    Standing,
    Truth,
    replay_for,
    since,
    truth_about,
)
from axiom.metrics import LIVE_CONNECTIONS
from axiom.startup import settle_garbage

log = structlog.get_logger(__name__)

PING_SECONDS = 20.0
LOOK_SECONDS = 1.0
STREAM_SECONDS = 30 * 60.0
# How long a tenant that was just joined may wait for its first frame.
_BLOCK_MS = 200
_GONE = {"http.disconnect", "websocket.disconnect"}


class Hub:
    """The connections of this process and what feeds them."""

    def __init__(self) -> None:
        self._redis, self._ears = a_client(), an_ear()
        self.seats = Seats(self._redis, secrets.token_hex(8))
        self.connections: dict[str, Connection] = {}
        self._members: dict[Member, dict[str, Connection]] = {}
        # By the text of a person's id, as frames name them: five thousand need not be parsed.
        self._tenants: dict[UUID, dict[str, Member]] = {}
        self._positions: dict[UUID, bytes | str] = {}
        self._behind: set[Member] = set()
        self._look_now, self._occupied = asyncio.Event(), asyncio.Event()
        self.degraded = False
        self._pinged_at = self._renewed_at = 0.0
        self._duties: list[asyncio.Task[None]] = []

    def start(self) -> None:
        if settings.LIVE_TUNES_GARBAGE:
            settle_garbage()
        for duty in (self._read, self._listen, self._look, self._tick):
            self._duties.append(asyncio.create_task(always(duty), name=f"live:{duty.__name__}"))

    async def stop(self) -> None:
        for duty in self._duties:
            duty.cancel()
        await asyncio.gather(*self._duties, return_exceptions=True)
        await self._redis.aclose()
        await self._ears.aclose()

    def until(self) -> float:
        """When a stream that begins now is ended: not all that began together at once."""
        return time.time() + STREAM_SECONDS * random.uniform(0.9, 1.1)

    async def serve(
        self, connection: Connection, receive: Callable[[], Awaitable[Any]], after: int | None
    ) -> None:
        """Carry one stream from its first frame until either side ends it."""
        self._enter(connection)
        try:
            await self._seat(connection)
            self._begin(connection, await in_database(replay_for, connection.viewer.member, after))
            while (await receive())["type"] not in _GONE:
                continue
        finally:
            await self._leave(connection)

    def _enter(self, connection: Connection) -> None:
        """Before anything else: whatever is pushed from now on is kept for after the replay."""
        member = connection.viewer.member
        self.connections[connection.id] = connection
        self._members.setdefault(member, {})[connection.id] = connection
        self._tenants.setdefault(member[0], {})[str(member[1])] = member
        self._occupied.set()
        LIVE_CONNECTIONS.inc()

    async def _leave(self, connection: Connection) -> None:
        member = connection.viewer.member
        self.connections.pop(connection.id, None)
        there = self._members[member]
        there.pop(connection.id, None)
        if not there:
            del self._members[member]
            self._tenants[member[0]].pop(str(member[1]), None)
        LIVE_CONNECTIONS.dec()
        if not self.degraded:
            await if_redis_is_there(self.seats.stand_up(connection))

    async def _seat(self, connection: Connection) -> None:
        tenant_id = connection.viewer.member[0]
        followed = await if_redis_is_there(self._follow(tenant_id))
        seated = followed and await if_redis_is_there(self.seats.sit_down(connection))
        if not seated:
            self._positions.setdefault(tenant_id, f"{int(time.time() * 1000)}-0")
            self._send_away(too_many(self._members[connection.viewer.member].values()))

    async def _follow(self, tenant_id: UUID) -> None:
        """Remember where the tenant's stream ends now, before the replay is read."""
        if tenant_id not in self._positions:
            newest = await self._redis.xrevrange(keys.notifications(tenant_id), count=1)
            self._positions.setdefault(tenant_id, newest[0][0] if newest else "0-0")

    def _begin(self, connection: Connection, replay: Replay) -> None:
        connection.muted = replay.muted
        for number, told in replay.numbered:
            connection.tell_missed(number, "notification", orjson.dumps(told))
        connection.last_number = replay.last_number
        if replay.cut:
            connection.say("resync")
        if self.degraded:
            connection.say("degraded")
        if not connection.go_live():
            self._missed(connection.viewer.member)

    async def _read(self) -> None:
        """Take what was pushed to the tenants that have connections here."""
        await self._occupied.wait()
        streams = {keys.notifications(tenant): place for tenant, place in self._positions.items()}
        if not streams:
            await asyncio.sleep(_BLOCK_MS / 1000)
            return
        try:
            answer = await self._redis.xread(streams, count=500, block=_BLOCK_MS)
        except (RedisError, OSError) as error:
            return await self._degrade(error)
        if self.degraded:
            await self._recover()
        tenants = {keys.notifications(tenant).encode(): tenant for tenant in self._positions}
        for name, entries in answer:
            for entry_id, fields in entries:
                self._positions[tenants[name]] = entry_id
                self._deliver(tenants[name], fields)

    def _deliver(self, tenant_id: UUID, fields: dict[bytes, bytes]) -> None:
        event, data, to = fields[b"event"].decode(), fields[b"data"], orjson.loads(fields[b"to"])
        here = self._tenants.get(tenant_id, {})
        if to is None:
            to = dict.fromkeys(here)
        for user_id in to.keys() & here.keys():
            member, number = here[user_id], to[user_id]
            for connection in self._members[member].values():
                if number is None:
                    connection.say(event, data)
                elif not connection.tell(number, event, data):
                    self._missed(member)

    def _missed(self, member: Member) -> None:
        self._behind.add(member)
        self._look_now.set()

    async def _degrade(self, error: Exception) -> None:
        if not self.degraded:
            log.warning("live is degraded", error=str(error))
            self.degraded = True
            self._say_to_all("degraded")
        await asyncio.sleep(0.5)

    async def _recover(self) -> None:
        """Redis is back, perhaps empty: take the seats again, repair the gap, then say so."""
        if not await if_redis_is_there(self._sit_down_again()):
            return
        self.degraded = False
        await self._look_at_truth()
        self._say_to_all("resync")
        log.info("live has recovered")

    async def _listen(self) -> None:
        """Hear who has to go, and when to look at once."""
        try:
            async with self._ears.pubsub(ignore_subscribe_messages=True) as heard:
                await heard.subscribe(keys.LIVE_DISCONNECT, keys.LIVE_LOOK, ENDED_CHANNEL)
                # Who lost a seat while we did not listen asks for it again, and hears the answer.
                await self._sit_down_again()
                self._look_now.set()
                async for message in heard.listen():
                    self._hear(message)
        except (RedisError, OSError):
            await asyncio.sleep(0.5)

    async def _sit_down_again(self) -> None:
        there = list(self.connections.values())
        await self.seats.sit_down_again(there)
        for gone in [each for each in there if each.id not in self.connections]:
            await self.seats.stand_up(gone)

    def _hear(self, message: dict[str, Any]) -> None:
        if message["channel"].decode() != keys.LIVE_DISCONNECT:
            self._look_now.set()
        elif connection := self.connections.get(message["data"].decode()):
            self._send_away([connection])

    def _send_away(self, connections: Iterable[Connection]) -> None:
        for connection in connections:
            connection.end("evicted")

    async def _look(self) -> None:
        try:
            # Not wait_for(): in Python 3.11 it loses a cancellation that comes with the word.
            async with asyncio.timeout(LOOK_SECONDS):
                await self._look_now.wait()
        except TimeoutError:
            await self._occupied.wait()
        self._look_now.clear()
        if self.connections:
            await self._look_at_truth()

    async def _look_at_truth(self) -> None:
        open_now = list(self.connections.values())
        logins = {(each.viewer.login_id, each.viewer.stamp) for each in open_now}
        truth = await in_database(truth_about, logins, self._standings())
        for connection in open_now:
            self._hold_to(truth, connection)
        await self._catch_up()

    def _standings(self) -> dict[Member, Standing]:
        """How far each member's streams are: the one that is the furthest behind speaks."""
        return {
            member: (
                min(each.last_number for each in there.values()),
                any(each.muted for each in there.values()),
            )
            for member, there in self._members.items()
        }

    def _hold_to(self, truth: Truth, connection: Connection) -> None:
        viewer = connection.viewer
        if (viewer.login_id, viewer.stamp) in truth.ended:
            return connection.end("revoked")
        if connection.early is not None or viewer.member not in truth.mailboxes:
            return None
        last_number, connection.muted = truth.mailboxes[viewer.member]
        if connection.muted:
            connection.last_number = max(connection.last_number, last_number)
        elif connection.last_number < last_number:
            self._behind.add(viewer.member)
        return None

    async def _catch_up(self) -> None:
        """Tell what was missed, in order, to all who missed some."""
        behind, self._behind = self._behind & self._members.keys(), set()
        places = {
            member: min(each.last_number for each in self._members[member].values())
            for member in behind
        }
        if not places:
            return
        for member, number, told in await in_database(since, places):
            data = orjson.dumps(told)
            for connection in self._members.get(member, {}).values():
                if connection.early is None:
                    connection.tell_missed(number, "notification", data)

    async def _tick(self) -> None:
        """One timer for all connections."""
        await asyncio.sleep(1)
        await self.keep_time(time.time())

    async def keep_time(self, now: float) -> None:
        """Renew the lease of this process, ping, and end what has lasted long enough."""
        if now - self._renewed_at > LEASE_SECONDS / 3:
            self._renewed_at = now
            await if_redis_is_there(self.seats.renew())
        if now - self._pinged_at > PING_SECONDS:
            self._pinged_at = now
            self._say_to_all("ping")
        for connection in [each for each in self.connections.values() if each.until < now]:
            connection.end("time")
        self._forget_empty_tenants()

    def _forget_empty_tenants(self) -> None:
        for tenant_id in [t for t, members in self._tenants.items() if not members]:
            del self._tenants[tenant_id]
            self._positions.pop(tenant_id, None)
        if not self._tenants:
            self._occupied.clear()

    def _say_to_all(self, event: str) -> None:
        for connection in list(self.connections.values()):
            connection.say(event)


# Its own types speak of bytes, text and futures all at once.
def a_client() -> Any:
    """A client of Redis for one event loop. Many who come at once wait; it is not away then."""
    pool = redis.asyncio.BlockingConnectionPool.from_url(
        settings.REDIS_URL, max_connections=20, timeout=10
    )
    return redis.asyncio.Redis(connection_pool=pool)


def an_ear() -> Any:
    """A client that never reconnects by itself: what was said meanwhile has to be found out."""
    return redis.asyncio.Redis.from_url(settings.REDIS_URL, retry=Retry(NoBackoff(), 0))


async def always(duty: Callable[[], Awaitable[None]]) -> None:
    """Do a duty again and again; a failure is logged and does not end it."""
    while True:
        try:
            await duty()
        except AnyDatabaseError as error:
            log.warning("live waits for the database", duty=duty.__name__, error=str(error))
            await asyncio.sleep(1)
        except Exception:
            log.exception("live duty failed", duty=duty.__name__)
            await asyncio.sleep(1)


async def if_redis_is_there(step: Awaitable[Any]) -> bool:
    try:
        await step
    except (RedisError, OSError):
        return False
    return True


_hubs: dict[int, Hub] = {}


def hub() -> Hub:
    """The hub of the running event loop, started when the first stream asks for it."""
    loop = asyncio.get_running_loop()
    if id(loop) not in _hubs:
        _hubs[id(loop)] = Hub()
        _hubs[id(loop)].start()
    return _hubs[id(loop)]
