"""Looking into streams without taking part: nothing is claimed, acknowledged or moved."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import redis
from redis.exceptions import ResponseError

from ..connections import Redis, redis_client
from .errors import BusUnavailable
from .protocol import Entry


@dataclass(frozen=True, slots=True)
class ConsumerSeen:
    """One reader of a group: what it holds, and when it last asked and last got something."""

    name: str
    pending: int
    idle_seconds: float
    """Since it last asked for entries."""
    inactive_seconds: float | None
    """Since it last got one; None: it never did, or the server is too old to know."""


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """How far a group is, as the server itself says."""

    group: str
    lag: int | None
    """None: the server lost count, as it does when entries were deleted."""
    pending: int
    last_delivered_id: str
    consumers: Sequence[ConsumerSeen] = ()


@dataclass(frozen=True, slots=True)
class StreamSeen:
    """What a stream holds, from its first entry to its last."""

    stream: str
    length: int = 0
    first_id: str = ""
    last_id: str = ""
    groups: Sequence[GroupSeen] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Holding:
    """That a group was given an entry and is not done with it."""

    consumer: str
    idle_seconds: float
    deliveries: int


@contextlib.contextmanager
def _answered() -> Iterator[None]:
    try:
        yield
    except (redis.RedisError, OSError) as error:
        raise BusUnavailable(str(error) or type(error).__name__) from error


class StreamBrowser:
    """Reads streams of the Redis of settings.REDIS_URL."""

    def __init__(self, client: Redis | None = None) -> None:
        self.client = client or redis_client()

    def look(self, streams: Sequence[str]) -> list[StreamSeen]:
        """All of these streams in two round trips; one that is missing is empty."""
        with _answered():
            infos, groups = self._infos(streams)
            consumers = self._consumers(groups)
        return [_seen(each, infos[each], groups[each], consumers) for each in streams]

    def _infos(self, streams: Sequence[str]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
        pipe = self.client.pipeline(transaction=False)
        for stream in streams:
            pipe.xinfo_stream(stream).xinfo_groups(stream)
        replies = [_unless_missing(reply) for reply in pipe.execute(raise_on_error=False)]
        infos = dict(zip(streams, replies[::2], strict=True))
        return infos, dict(zip(streams, (rows or [] for rows in replies[1::2]), strict=True))

    def _consumers(self, groups: dict[str, list[Any]]) -> dict[tuple[str, str], list[Any]]:
        places = [(stream, row["name"].decode()) for stream in groups for row in groups[stream]]
        pipe = self.client.pipeline(transaction=False)
        for stream, group in places:
            pipe.xinfo_consumers(stream, group)
        replies = [_unless_missing(reply) for reply in pipe.execute(raise_on_error=False)]
        return dict(zip(places, (rows or [] for rows in replies), strict=True))

    def older(self, stream: str, below: str, count: int) -> list[Entry]:
        """Entries from this id downward: the newest first. "(" before the id leaves it out."""
        with _answered():
            found = self.client.xrevrange(stream, max=below, count=count)
        return _entries(stream, found)

    def newer(self, stream: str, above: str, count: int) -> list[Entry]:
        """Entries from this id upward: the oldest first."""
        with _answered():
            found = self.client.xrange(stream, min=above, count=count)
        return _entries(stream, found)

    def holding(self, stream: str, entry_id: str, groups: Sequence[str]) -> dict[str, Holding]:
        """Which of these groups were given this entry and are not done with it."""
        with _answered():
            pipe = self.client.pipeline(transaction=False)
            for group in groups:
                pipe.xpending_range(stream, group, entry_id, entry_id, 1)
            replies = [_unless_missing(reply) for reply in pipe.execute(raise_on_error=False)]
        found = zip(groups, replies, strict=True)
        return {group: _holding(rows[0]) for group, rows in found if rows}


def _unless_missing(reply: Any) -> Any:
    """None for a stream or a group that does not exist."""
    if isinstance(reply, ResponseError) and (
        "no such key" in str(reply) or "NOGROUP" in str(reply)
    ):
        return None
    if isinstance(reply, Exception):
        raise reply
    return reply


def _seen(
    stream: str, info: Any, groups: list[Any], consumers: dict[tuple[str, str], list[Any]]
) -> StreamSeen:
    if info is None:
        return StreamSeen(stream)
    return StreamSeen(
        stream, int(info["length"]), _id_of(info["first-entry"]), _id_of(info["last-entry"]),
        [_group(row, consumers[stream, row["name"].decode()]) for row in groups],
    )  # fmt: skip


def _id_of(entry: Any) -> str:
    return entry[0].decode() if entry else ""


def _group(row: dict[str, Any], consumers: list[dict[str, Any]]) -> GroupSeen:
    lag = row.get("lag")
    return GroupSeen(
        row["name"].decode(), None if lag is None else int(lag), int(row["pending"]),
        row["last-delivered-id"].decode(), [_consumer(each) for each in consumers],
    )  # fmt: skip


def _consumer(row: dict[str, Any]) -> ConsumerSeen:
    inactive = row.get("inactive", -1)
    return ConsumerSeen(
        row["name"].decode(), int(row["pending"]), int(row["idle"]) / 1000,
        None if inactive < 0 else inactive / 1000,
    )  # fmt: skip


def _holding(row: dict[str, Any]) -> Holding:
    return Holding(
        row["consumer"].decode(), row["time_since_delivered"] / 1000, row["times_delivered"]
    )


def _entries(stream: str, found: Any) -> list[Entry]:
    return [Entry(stream, entry_id.decode(), raw or {}) for entry_id, raw in found]
