"""The bus on Redis Streams (Redis or Valkey)."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import hiredis
import redis
from redis.exceptions import ResponseError

from .. import keys
from ..connections import Redis, redis_client
from ..keys import Stream
from .errors import BusUnavailable, StreamsLost
from .protocol import Entry, Fields, GroupState, Identity, Refusal, StreamState

# The server's trouble, not the event's: wait and repeat, and blame nobody.
_TROUBLE = (
    "OOM", "READONLY", "LOADING", "MISCONF", "CLUSTERDOWN", "MASTERDOWN", "NOREPLICAS",
    "BUSY", "TRYAGAIN", "NOAUTH", "WRONGPASS", "NOPERM", "MOVED", "ASK", "UNBLOCKED",
)  # fmt: skip

_PAGE = 1_000

_pack: Any = hiredis.pack_command
_MULTI, _EXEC = _pack(("MULTI",)), _pack(("EXEC",))
# Watched first, read after: what was read cannot change unnoticed.
_WATCH = _pack(("WATCH", keys.EPOCH)) + _pack(("GET", keys.EPOCH))
_LOOK = b"".join(
    (_pack(("UNWATCH",)), _pack(("INFO", "server")), _WATCH, _pack(("EXISTS", *Stream)))
)


@contextlib.contextmanager
def _trouble() -> Iterator[None]:
    """Turn what Redis may throw at us into the bus's own words."""
    try:
        yield
    except ResponseError as error:
        if _is_trouble(error):
            raise BusUnavailable(str(error)) from error
        raise
    except (redis.RedisError, OSError) as error:
        raise BusUnavailable(str(error) or type(error).__name__) from error


def _is_trouble(error: ResponseError) -> bool:
    # redis-py strips the code of errors it has classes for, such as READONLY and LOADING.
    return str(error).split(" ", 1)[0] in _TROUBLE or type(error) is not ResponseError


class RedisStreams:
    """Speaks to the Redis of settings.REDIS_URL."""

    def __init__(self, client: Redis | None = None) -> None:
        self.client = client or redis_client()
        self._wire: Any = None
        self._seen: Identity | None = None

    def identity(self) -> Identity:
        with _trouble():
            pipe = self.client.pipeline(transaction=False)
            info, epoch, there = pipe.info("server").get(keys.EPOCH).exists(*Stream).execute()
        return _identity(info["run_id"], epoch, there)

    def begin_epoch(self, epoch: str, streams: Mapping[str, Sequence[str]]) -> None:
        for stream, groups in streams.items():
            for group in groups:
                self._create_group(stream, group, mkstream=True)
            if not groups:
                self._create_bare_stream(stream)
        with _trouble():
            self.client.set(keys.EPOCH, epoch)

    def append(
        self, entries: Sequence[tuple[str, Fields]], identity: Identity
    ) -> list[str | Refusal]:
        if self._seen != identity and self._look() != identity:
            raise StreamsLost("these are other data than they were")
        # One transaction: were the server to refuse one entry for want of memory and take the
        # next, an aggregate's events would change places. NOMKSTREAM: after a loss nothing may
        # be added before what was lost is sent again.
        xadds = [_pack(("XADD", s, "NOMKSTREAM", "*", *fields)) for s, fields in entries]
        command = b"".join((_MULTI, *xadds, _EXEC, _WATCH))
        *queued, results, _, epoch = self._exchange(command, len(entries) + 4)
        for reply in (*queued, results, epoch):
            if isinstance(reply, ResponseError):
                raise BusUnavailable(str(reply))
        self._seen = _identity(identity[0], epoch, len(Stream))
        if results is None:
            raise StreamsLost("the data were lost meanwhile")
        return [_result(reply) for reply in results]

    def _look(self) -> Identity:
        """Whose data our connection writes to, watched from now on: once they change, EXEC is void.

        Of the server's run there is no second look: a connection does not outlive it.
        """
        self._connect()
        _, info, _, epoch, there = replies = self._exchange(_LOOK, 5)
        for reply in replies:
            if isinstance(reply, ResponseError):
                raise BusUnavailable(str(reply))
        run_id = dict(line.split(b":", 1) for line in info.splitlines() if b":" in line)[b"run_id"]
        self._seen = _identity(run_id.decode(), epoch, there)
        return self._seen

    def _connect(self) -> None:
        if self._wire is None:
            with _trouble():
                wire = self.client.connection_pool.make_connection()
                wire.connect()
            self._wire = wire

    def _exchange(self, command: bytes, replies: int) -> list[Any]:
        """One write, one wait: our own connection, because a pipeline object costs twice as much."""
        try:
            with _trouble():
                self._wire.send_packed_command([command], check_health=False)
                return [_reply(self._wire) for _ in range(replies)]
        except BaseException:
            # Unread replies would be taken for those of the next batch.
            self._hang_up()
            raise

    def _hang_up(self) -> None:
        wire, self._wire, self._seen = self._wire, None, None
        if wire is not None:
            wire.disconnect()

    def read(
        self, group: str, consumer: str, streams: Sequence[str], count: int, block_ms: int
    ) -> list[Entry]:
        with _trouble():
            try:
                reply = self.client.xreadgroup(
                    group, consumer, dict.fromkeys(streams, ">"), count=count, block=block_ms or None
                )  # fmt: skip
            except ResponseError as error:
                if str(error).startswith("NOGROUP"):
                    raise StreamsLost(str(error)) from error
                raise
        return [
            Entry(stream.decode(), entry_id.decode(), raw or {})
            for stream, entries in _pairs(reply)
            for entry_id, raw in entries
        ]

    def ensure_group(self, stream: str, group: str) -> bool:
        with _trouble():
            if not self.client.exists(stream):
                return False
        return self._create_group(stream, group, mkstream=False)

    def _create_group(self, stream: str, group: str, *, mkstream: bool) -> bool:
        with _trouble():
            try:
                self.client.xgroup_create(stream, group, id="0", mkstream=mkstream)
            except ResponseError as error:
                # BUSYGROUP: there already. "ERR The XGROUP subcommand requires the key": gone again.
                return str(error).startswith("BUSYGROUP")
        return True

    def _create_bare_stream(self, stream: str) -> None:
        with _trouble():
            if not self.client.exists(stream):
                self.client.xgroup_create(stream, "bare", id="0", mkstream=True)
                self.client.xgroup_destroy(stream, "bare")

    def ack(self, group: str, entries: Sequence[Entry]) -> None:
        by_stream: dict[str, list[str]] = {}
        for entry in entries:
            by_stream.setdefault(entry.stream, []).append(entry.entry_id)
        with _trouble():
            pipe = self.client.pipeline(transaction=False)
            for stream, ids in by_stream.items():
                pipe.xack(stream, group, *ids)
            pipe.execute()

    def take_over(
        self, group: str, consumer: str, stream: str, min_idle_ms: int, owner: str = "",
        count: int = 100,
    ) -> list[Entry]:  # fmt: skip
        with _trouble():
            held = self._held(group, stream, min_idle_ms, owner, count)
            if not held:
                return []
            claimed = self.client.xclaim(
                stream, group, consumer, min_idle_ms, [row["message_id"] for row in held]
            )
        deliveries = {row["message_id"]: row["times_delivered"] + 1 for row in held}
        return [
            Entry(stream, entry_id.decode(), raw or {}, deliveries[entry_id])
            for entry_id, raw in claimed
        ]

    def _held(
        self, group: str, stream: str, min_idle_ms: int, owner: str, count: int
    ) -> list[dict[str, Any]]:
        try:
            return list(
                self.client.xpending_range(
                    stream, group, "-", "+", count, owner or None, min_idle_ms or None
                )
            )
        except ResponseError as error:
            if str(error).startswith("NOGROUP"):
                return []
            raise

    def first_held(self, group: str, stream: str) -> str | None:
        with _trouble():
            try:
                first = self.client.xpending(stream, group)["min"]
            except ResponseError as error:
                if str(error).startswith("NOGROUP"):
                    return None
                raise
        return first.decode() if first else None

    def forget_consumer(self, group: str, consumer: str, stream: str) -> None:
        with _trouble(), contextlib.suppress(ResponseError):
            self.client.xgroup_delconsumer(stream, group, consumer)

    def state(self, stream: str) -> StreamState | None:
        with _trouble():
            try:
                info = self.client.xinfo_stream(stream)
                groups = [self._group(stream, row) for row in self.client.xinfo_groups(stream)]
            except ResponseError as error:
                if "no such key" in str(error):
                    return None
                raise
        return StreamState(
            stream=stream,
            length=info["length"],
            entries_added=info.get("entries-added", info["length"]),
            last_id=info["last-generated-id"].decode(),
            groups=groups,
        )

    def _group(self, stream: str, row: dict[str, Any]) -> GroupState:
        name = row["name"].decode()
        pending = self.client.xpending(stream, name)
        consumers = self.client.xinfo_consumers(stream, name)
        return GroupState(
            group=name,
            lag=self._lag(stream, row),
            pending=int(row["pending"]),
            last_delivered_id=row["last-delivered-id"].decode(),
            oldest_pending_id=pending["min"].decode() if pending["min"] else None,
            consumers=[c["name"].decode() for c in consumers],
        )

    def _lag(self, stream: str, row: dict[str, Any]) -> int:
        """How many entries the group was not given yet; counted when the server does not know.

        It does not after an entry was deleted or a group was moved, and "none" would hide trouble.
        """
        if row.get("lag") is not None:
            return int(row["lag"])
        count, after = 0, row["last-delivered-id"]
        while page := self.client.xrange(stream, min=b"(" + after, count=_PAGE):
            count, after = count + len(page), page[-1][0]
        return count

    def oldest_waiting(self, stream: str, group: GroupState) -> Entry | None:
        oldest = group.oldest_pending_id
        with _trouble():
            # A parenthesis excludes the entry itself.
            found = self.client.xrange(stream, oldest or f"({group.last_delivered_id}", count=1)
        return next((Entry(stream, entry_id.decode(), raw) for entry_id, raw in found), None)

    def trim(self, stream: str, before_id: str, *, exact: bool = False) -> int:
        with _trouble():
            return int(self.client.xtrim(stream, minid=before_id, approximate=not exact))

    def dead_letter(self, stream: str, fields: Mapping[str, str], max_length: int) -> None:
        with _trouble():
            self.client.xadd(
                keys.dead_letters(stream), dict(fields), maxlen=max_length, approximate=True
            )


def _identity(run_id: str, epoch: bytes | None, there: int) -> Identity:
    # Without one of its streams the data are not whole, whatever the epoch says.
    return run_id, (epoch or b"").decode() if there == len(Stream) else ""


def _reply(wire: Any) -> Any:
    try:
        return wire.read_response()
    except ResponseError as error:
        return error


def _result(reply: Any) -> str | Refusal:
    if isinstance(reply, bytes):
        return reply.decode()
    if reply is None:
        raise StreamsLost("a stream is missing")
    if _is_trouble(reply):
        raise BusUnavailable(str(reply))
    return Refusal(code=str(reply).split(" ", 1)[0], message=str(reply))


def _pairs(reply: Any) -> Any:
    return reply.items() if isinstance(reply, dict) else (reply or ())
