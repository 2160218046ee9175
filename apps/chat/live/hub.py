"""One hub per process: it hears once what is said in all rooms, and tells its sockets.

What is said comes through Pub/Sub, numbered. A socket that sees number 9 after 7 knows that one is
missing; it is found among the room's newest in Redis or, persisted, in PostgreSQL. Once a second
the hub looks into the database for all sockets together: who may no longer listen, and which room
has more than was told.
"""

import asyncio
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from uuid import UUID

import orjson
import structlog
from redis.exceptions import RedisError

from apps.accounts.services import ENDED_CHANNEL
from apps.chat import selectors, services
from apps.chat.accepting import RECENT, Accepted, Saying, a_saying, outcome, said
from apps.chat.errors import ChatAway, MessageRefused, TooFast
from apps.chat.live.acceptance import Acceptance
from apps.chat.live.connection import ChatConnection
from apps.events import keys
from apps.events.context import acting
from apps.notifications.selectors import truth_about
from apps.notifications.services.streams import (
    LEASE_SECONDS,
    LOOK_SECONDS,
    PING_SECONDS,
    STREAM_SECONDS,
    Seats,
    a_client,
    always,
    an_ear,
    if_redis_is_there,
    in_database,
    too_many,
)
from axiom.errors import AxiomError
from axiom.metrics import LIVE_CONNECTIONS

log = structlog.get_logger(__name__)

Told = tuple[int, bytes]
"""A message's number and its frame."""

LARGEST_FRAME = 32 * 1024
_ROOM_ID_LENGTH = 36


class ChatHub:
    """The open sockets of this process and what feeds them."""

    def __init__(self) -> None:
        self._redis, self._ears = a_client(), an_ear()
        self._acceptance = Acceptance(self._redis)
        self.seats = Seats(self._redis, secrets.token_hex(8))
        self.connections: dict[str, ChatConnection] = {}
        self._rooms: dict[UUID, dict[str, ChatConnection]] = {}
        self._behind: set[UUID] = set()
        self._look_now, self._occupied = asyncio.Event(), asyncio.Event()
        self._pinged_at = self._renewed_at = 0.0
        self._duties: list[asyncio.Task[None]] = []

    def start(self) -> None:
        for duty in (self._listen, self._look, self._tick):
            self._duties.append(asyncio.create_task(always(duty), name=f"chat:{duty.__name__}"))

    def until(self) -> float:
        """When a socket that opens now is ended: not all that opened together at once."""
        return time.time() + STREAM_SECONDS * random.uniform(0.9, 1.1)

    async def serve(
        self, connection: ChatConnection, receive: Callable[[], Awaitable[Any]], after: int | None
    ) -> None:
        """Carry one socket from its first frame until either side ends it."""
        self._enter(connection)
        try:
            await self._seat(connection)
            await self._begin(connection, after)
            await self._converse(connection, receive)
        finally:
            await self._leave(connection)

    def _enter(self, connection: ChatConnection) -> None:
        """Before anything else: what is said from now on is kept for after the replay."""
        self.connections[connection.id] = connection
        self._rooms.setdefault(connection.room_id, {})[connection.id] = connection
        self._occupied.set()
        LIVE_CONNECTIONS.inc()

    async def _leave(self, connection: ChatConnection) -> None:
        self.connections.pop(connection.id, None)
        there = self._rooms[connection.room_id]
        there.pop(connection.id, None)
        if not there:
            del self._rooms[connection.room_id]
        LIVE_CONNECTIONS.dec()
        await if_redis_is_there(self.seats.stand_up(connection))

    async def _seat(self, connection: ChatConnection) -> None:
        if not await if_redis_is_there(self.seats.sit_down(connection)):
            member = connection.viewer.member
            beside = self._rooms[connection.room_id].values()
            for surplus in too_many(each for each in beside if each.viewer.member == member):
                surplus.end("evicted")

    async def _begin(self, connection: ChatConnection, after: int | None) -> None:
        """Say what was said before, from PostgreSQL and, not persisted yet, from Redis."""
        rows, newest = await in_database(selectors.replay_of_room, connection.room_id, after)
        known = _merged(rows, await self._recent(connection.room_id))
        if after is None:
            connection.last_number = rows[0].seq - 1 if rows else 0
        else:
            # A number from elsewhere must not silence the room until it is reached.
            connection.last_number = min(after, max([newest, *(seq for seq, _ in known)]))
        _tell_all([connection], known, cut=len(rows) > selectors.LONGEST_REPLAY)
        if not connection.go_live():
            self._missed(connection.room_id)

    async def _recent(self, room_id: UUID) -> list[bytes]:
        """The room's newest, as Redis has them; none when it is away."""
        try:
            newest = await self._redis.lrange(keys.chat_recent(str(room_id)), 0, RECENT - 1)
        except (RedisError, OSError):
            return []
        return list(newest)

    async def _converse(
        self, connection: ChatConnection, receive: Callable[[], Awaitable[Any]]
    ) -> None:
        """One after the other: who sends faster than it is taken waits in the server's buffer."""
        while (message := await receive())["type"] != "websocket.disconnect":
            await self._take(connection, message.get("text") or "")

    async def _take(self, connection: ChatConnection, text: str) -> None:
        wanted = _read(text)
        client_id = wanted.get("client_id")
        try:
            if wanted.get("type") == "read":
                return await self._mark_read(connection, wanted.get("up_to"))
            accepted = await self._say(connection, client_id, wanted.get("text"))
        except AxiomError as error:
            told = {"client_id": client_id, "code": error.code, "detail": error.message}
            return connection.say("refused", orjson.dumps(told))
        connection.say("accepted", orjson.dumps({"client_id": client_id, "seq": accepted.seq}))
        return None

    async def _say(self, connection: ChatConnection, client_id: object, text: object) -> Accepted:
        if not connection.may_speak():
            raise TooFast
        tenant_id, user_id = connection.viewer.member
        saying = a_saying(
            tenant_id=tenant_id, room_id=connection.room_id, sender_id=user_id,
            client_id=client_id, text=text,
        )  # fmt: skip
        return await self._accepted(saying)

    async def _accepted(self, saying: Saying) -> Accepted:
        for _ in range(3):
            if accepted := outcome(await self._acceptance.of(saying)):
                return accepted
            await in_database(services.grant_numbers, saying.room_id)
        raise ChatAway(retry_after=2)

    async def _mark_read(self, connection: ChatConnection, up_to: object) -> None:
        if not isinstance(up_to, int) or not 0 <= up_to < 2**63:
            raise MessageRefused
        await in_database(_mark_read, connection.viewer.member, connection.room_id, up_to)

    async def _listen(self) -> None:
        """Hear what is said, who has to go, and when to look at once."""
        try:
            async with self._ears.pubsub(ignore_subscribe_messages=True) as heard:
                await heard.subscribe(
                    keys.CHAT_SAID, keys.CHAT_LOOK, keys.LIVE_DISCONNECT, ENDED_CHANNEL
                )
                await self._sit_down_again()
                self._behind.update(self._rooms)
                self._look_now.set()
                async for message in heard.listen():
                    self._hear(message)
        except (RedisError, OSError) as error:
            log.warning("chat hears nothing", error=str(error))
            await asyncio.sleep(0.5)

    async def _sit_down_again(self) -> None:
        there = list(self.connections.values())
        await self.seats.sit_down_again(there)
        for gone in [each for each in there if each.id not in self.connections]:
            await self.seats.stand_up(gone)

    def _hear(self, message: dict[str, Any]) -> None:
        channel, data = message["channel"].decode(), message["data"]
        if channel == keys.CHAT_SAID:
            self._deliver(UUID(data[:_ROOM_ID_LENGTH].decode()), data[_ROOM_ID_LENGTH:])
        elif channel != keys.LIVE_DISCONNECT:
            self._look_now.set()
        elif connection := self.connections.get(data.decode()):
            connection.end("evicted")

    def _deliver(self, room_id: UUID, frame: bytes) -> None:
        there = self._rooms.get(room_id)
        if not there:
            return
        seq = _number(frame)
        told = [each.tell(seq, "message", frame) for each in there.values()]
        if not all(told):
            self._missed(room_id)

    def _missed(self, room_id: UUID) -> None:
        self._behind.add(room_id)
        self._look_now.set()

    async def _look(self) -> None:
        try:
            # Not wait_for(): in Python 3.11 it loses a cancellation that comes with the word.
            async with asyncio.timeout(LOOK_SECONDS):
                await self._look_now.wait()
        except TimeoutError:
            await self._occupied.wait()
        self._look_now.clear()
        if not self.connections:
            return self._occupied.clear()
        # First what is missing: it is awaited, while nobody waits to be sent away.
        await self._catch_up()
        await self._look_at_truth()
        await self._catch_up()
        return None

    async def _look_at_truth(self) -> None:
        open_now = list(self.connections.values())
        logins = {(each.viewer.login_id, each.viewer.stamp) for each in open_now}
        pairs = {(each.room_id, each.viewer.member[1]) for each in open_now}
        truth = await in_database(truth_about, logins, {})
        still, newest = await in_database(selectors.truth_about_rooms, pairs)
        for each in open_now:
            in_room = (each.room_id, each.viewer.member[1]) in still
            if not in_room or (each.viewer.login_id, each.viewer.stamp) in truth.ended:
                each.end("revoked")
            elif each.early is None and each.last_number < newest.get(each.room_id, 0):
                self._behind.add(each.room_id)

    async def _catch_up(self) -> None:
        """Tell what was missed, in order, to all who missed some."""
        behind, self._behind = self._behind & self._rooms.keys(), set()
        for room_id in behind:
            there = [each for each in self._rooms[room_id].values() if each.early is None]
            if there:
                await self._catch_up_in(room_id, min(each.last_number for each in there))

    async def _catch_up_in(self, room_id: UUID, after: int) -> None:
        rows = await in_database(selectors.said_after, room_id, after)
        known = _merged(rows, await self._recent(room_id))
        there = [each for each in self._rooms.get(room_id, {}).values() if each.early is None]
        _tell_all(there, known, cut=len(rows) > selectors.LONGEST_REPLAY)

    async def _tick(self) -> None:
        """One timer for all sockets."""
        await asyncio.sleep(1)
        await self.keep_time(time.time())

    async def keep_time(self, now: float) -> None:
        """Renew the lease of this process, ping, and end what has lasted long enough."""
        if now - self._renewed_at > LEASE_SECONDS / 3:
            self._renewed_at = now
            await if_redis_is_there(self.seats.renew())
        if now - self._pinged_at > PING_SECONDS:
            self._pinged_at = now
            for each in list(self.connections.values()):
                each.say("ping")
        for each in [each for each in self.connections.values() if each.until < now]:
            each.end("time")


def _tell_all(to: Iterable[ChatConnection], known: list[Told], *, cut: bool) -> None:
    """In order, and only what is new to each. Where too much was missed, say so: read the history."""
    for each in to:
        if cut:
            each.say("resync")
        for seq, frame in known:
            each.tell_missed(seq, "message", frame)


def _merged(rows: Iterable[Any], recent: Iterable[bytes]) -> list[Told]:
    """What both know, in order and once."""
    known = {row.seq: _frame(row) for row in rows}
    known |= {_number(frame): frame for frame in recent}
    return sorted(known.items())


def _frame(row: Any) -> bytes:
    return orjson.dumps(
        {"seq": row.seq, **said(row.sender_id, row.client_id, row.text, row.sent_at)}
    )


def _number(frame: bytes) -> int:
    """The number stands first: the script put it there."""
    return int(frame[len(b'{"seq":') : frame.index(b",")])


def _read(text: str) -> dict[str, Any]:
    """What a client sent; nothing when it cannot be read, which is then refused."""
    try:
        wanted = orjson.loads(text) if len(text) <= LARGEST_FRAME else None
    except orjson.JSONDecodeError:
        return {}
    return wanted if isinstance(wanted, dict) else {}


def _mark_read(member: tuple[UUID, UUID], room_id: UUID, up_to: int) -> None:
    tenant_id, user_id = member
    with acting(tenant_id=tenant_id):
        services.mark_read(room_id=room_id, user_id=user_id, up_to=up_to)


_hubs: dict[int, ChatHub] = {}


def hub() -> ChatHub:
    """The hub of the running event loop, started when the first socket asks for it."""
    loop = asyncio.get_running_loop()
    if id(loop) not in _hubs:
        _hubs[id(loop)] = ChatHub()
        _hubs[id(loop)].start()
    return _hubs[id(loop)]
