"""A bus in memory with the same manners as Redis Streams, for tests that need thousands of runs."""

import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..keys import Stream
from .errors import BusUnavailable, StreamsLost
from .protocol import Entry, Fields, GroupState, Identity, Refusal, StreamState


@dataclass
class _Held:
    consumer: str
    since: float
    deliveries: int


@dataclass
class _Group:
    last_delivered: int = 0
    held: dict[int, _Held] = field(default_factory=dict)


@dataclass
class _Stream:
    entries: dict[int, Mapping[bytes, bytes]] = field(default_factory=dict)
    groups: dict[str, _Group] = field(default_factory=dict)
    added: int = 0

    def lose(self, numbers: set[int]) -> None:
        """Be as before these entries, and before groups read or acknowledged them."""
        self.entries = {n: raw for n, raw in self.entries.items() if n not in numbers}
        newest = max(self.entries, default=0)
        for group in self.groups.values():
            group.last_delivered = min(group.last_delivered, newest)
            group.held = {n: held for n, held in group.held.items() if n <= newest}


class MemoryBus:
    """Streams in dictionaries. `wipe()` loses everything, `away` refuses everything."""

    def __init__(self) -> None:
        self.away = False
        self.dead: dict[str, list[Mapping[str, str]]] = {}
        self._lock = threading.RLock()
        self._runs = itertools.count(1)
        self._ids = itertools.count(1)
        self.wipe()

    def wipe(self) -> None:
        """Come back empty, as another run of the server."""
        self._run_id, self._epoch = f"run-{next(self._runs)}", ""
        self._streams: dict[str, _Stream] = {}

    def crash(self, losing: int) -> None:
        """Come back as another run that never heard of its last so many entries."""
        self._run_id = f"run-{next(self._runs)}"
        newest = sorted(n for stream in self._streams.values() for n in stream.entries)
        lost = set(newest[len(newest) - losing :])
        for stream in self._streams.values():
            stream.lose(lost)

    def forget_stream(self, name: str) -> None:
        del self._streams[name]

    def identity(self) -> Identity:
        self._check()
        whole = all(stream in self._streams for stream in Stream)
        return self._run_id, self._epoch if whole else ""

    def begin_epoch(self, epoch: str, streams: Mapping[str, Sequence[str]]) -> None:
        self._check()
        with self._lock:
            for name, groups in streams.items():
                stream = self._streams.setdefault(name, _Stream())
                for group in groups:
                    stream.groups.setdefault(group, _Group())
            self._epoch = epoch

    def append(
        self, entries: Sequence[tuple[str, Fields]], identity: Identity
    ) -> list[str | Refusal]:
        self._check()
        with self._lock:
            if self.identity() != identity or any(s not in self._streams for s, _ in entries):
                raise StreamsLost("a stream is missing")
            return [self._add(self._streams[stream], fields) for stream, fields in entries]

    def _add(self, stream: _Stream, fields: Fields) -> str:
        number = next(self._ids)
        names, values = fields[::2], fields[1::2]
        stream.entries[number] = {
            str(name).encode(): str(value).encode()
            for name, value in zip(names, values, strict=True)
        }
        stream.added += 1
        return f"{number}-0"

    def read(
        self, group: str, consumer: str, streams: Sequence[str], count: int, block_ms: int
    ) -> list[Entry]:
        self._check()
        with self._lock:
            if any(group not in self._groups(stream) for stream in streams):
                raise StreamsLost("NOGROUP")
            return [e for s in streams for e in self._deliver(s, group, consumer, count)]

    def _groups(self, stream: str) -> dict[str, _Group]:
        return self._streams[stream].groups if stream in self._streams else {}

    def _deliver(self, stream: str, name: str, consumer: str, count: int) -> list[Entry]:
        group = self._groups(stream)[name]
        entries = self._streams[stream].entries
        new = [number for number in entries if number > group.last_delivered][:count]
        for number in new:
            group.held[number] = _Held(consumer, time.monotonic(), 1)
            group.last_delivered = number
        return [Entry(stream, f"{number}-0", entries[number]) for number in new]

    def ensure_group(self, stream: str, group: str) -> bool:
        self._check()
        if stream not in self._streams:
            return False
        self._streams[stream].groups.setdefault(group, _Group())
        return True

    def ack(self, group: str, entries: Sequence[Entry]) -> None:
        self._check()
        with self._lock:
            for entry in entries:
                known = self._groups(entry.stream).get(group)
                if known:
                    known.held.pop(_number(entry.entry_id), None)

    def take_over(
        self, group: str, consumer: str, stream: str, min_idle_ms: int, owner: str = "",
        count: int = 100,
    ) -> list[Entry]:  # fmt: skip
        self._check()
        with self._lock:
            known = self._groups(stream).get(group)
            held = sorted(known.held.items()) if known else ()
            mine = [
                (number, h) for number, h in held
                if (not owner or h.consumer == owner)
                and (time.monotonic() - h.since) * 1000 >= min_idle_ms
            ][:count]  # fmt: skip
            return [self._hand_on(stream, consumer, number, h) for number, h in mine]

    def _hand_on(self, stream: str, consumer: str, number: int, held: _Held) -> Entry:
        held.consumer, held.since = consumer, time.monotonic()
        held.deliveries += 1
        raw = self._streams[stream].entries.get(number, {})
        return Entry(stream, f"{number}-0", raw, held.deliveries)

    def first_held(self, group: str, stream: str) -> str | None:
        self._check()
        with self._lock:
            known = self._groups(stream).get(group)
            return f"{min(known.held)}-0" if known and known.held else None

    def forget_consumer(self, group: str, consumer: str, stream: str) -> None:
        self._check()

    def state(self, stream: str) -> StreamState | None:
        self._check()
        with self._lock:
            if stream not in self._streams:
                return None
            found = self._streams[stream]
            last = max(found.entries, default=0)
            groups = [self._group_state(found, n, g) for n, g in found.groups.items()]
            return StreamState(stream, len(found.entries), found.added, f"{last}-0", groups)

    @staticmethod
    def _group_state(stream: _Stream, name: str, group: _Group) -> GroupState:
        lag = sum(1 for number in stream.entries if number > group.last_delivered)
        oldest = f"{min(group.held)}-0" if group.held else None
        consumers = sorted({held.consumer for held in group.held.values()})
        return GroupState(
            name, lag, len(group.held), f"{group.last_delivered}-0", oldest, consumers
        )

    def oldest_waiting(self, stream: str, group: GroupState) -> Entry | None:
        self._check()
        last = _number(group.last_delivered_id)
        first = _number(group.oldest_pending_id) if group.oldest_pending_id else last + 1
        with self._lock:
            entries = self._streams[stream].entries
            found = min((number for number in entries if number >= first), default=None)
            return Entry(stream, f"{found}-0", entries[found]) if found else None

    def trim(self, stream: str, before_id: str, *, exact: bool = False) -> int:
        self._check()
        with self._lock:
            entries = self._streams[stream].entries
            old = [number for number in entries if number < _number(before_id)]
            for number in old:
                del entries[number]
            return len(old)

    def dead_letter(self, stream: str, fields: Mapping[str, str], max_length: int) -> None:
        self._check()
        letters = self.dead.setdefault(stream, [])
        letters.append(fields)
        del letters[:-max_length]

    def _check(self) -> None:
        if self.away:
            raise BusUnavailable("the bus is away")


def _number(entry_id: str) -> int:
    return int(entry_id.split("-")[0])
