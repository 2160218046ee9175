"""The bus on Kafka: a topic for each stream, and an aggregate's events in one of its partitions.

A group's committed offset says what it is done with. Kafka lends a partition to one worker at a
time, so only that worker knows what it was handed out and has not acknowledged; whoever gets the
partition next begins at the offset. An entry's id is its offset, counted from 1, and its partition.
"""

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from django.conf import settings

from .. import keys
from ..groups import GROUPS
from ..keys import Stream
from ..message import aggregate_key
from .errors import BusUnavailable, StreamsLost
from .protocol import Entry, Fields, GroupState, Identity, Refusal, StreamState

SECONDS = 10.0
LOOK_SECONDS = 5.0
_EPOCH = "axiom.epoch."
_Spec: Any = OffsetSpec
_LATEST, _EARLIEST = _Spec.latest(), _Spec.earliest()

# The entry's own fault; everything else is trouble of Kafka.
_REFUSALS = {
    KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE, KafkaError.INVALID_MSG,
    KafkaError.INVALID_RECORD, KafkaError.POLICY_VIOLATION,
}  # fmt: skip
# Another worker has the partition now: it will be handed these again, and its inbox knows them.
_NOT_OURS_ANY_MORE = {
    KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID, KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError._NO_OFFSET, KafkaError._ASSIGNMENT_LOST, KafkaError.FENCED_INSTANCE_ID,
}  # fmt: skip

_Place = tuple[str, int]
"""A topic, and the number of one of its partitions."""


@contextlib.contextmanager
def _trouble() -> Iterator[None]:
    """Turn what Kafka may throw at us into the bus's own words."""
    try:
        yield
    except KafkaException as error:
        raise BusUnavailable(str(error)) from error


@dataclass(frozen=True, slots=True)
class _View:
    """What the cluster holds of ours."""

    cluster: str
    partitions: Mapping[str, int]

    @property
    def epoch(self) -> str:
        """The newest; none while one of its topics is missing."""
        marks = sorted(name for name in self.partitions if name.startswith(_EPOCH))
        epoch = marks[-1].rpartition(".")[2] if marks else ""
        whole = all(_topic(stream, epoch) in self.partitions for stream in Stream)
        return epoch if whole else ""

    def places(self, topic: str) -> list[_Place]:
        return [(topic, number) for number in range(self.partitions[topic])]


@dataclass
class _Seat:
    """A group's member: what it may read, and what it was handed out."""

    consumer: Any
    group: str
    epoch: str
    streams: Mapping[str, str]
    """By topic."""
    held: dict[tuple[str, str], Entry] = field(default_factory=dict)
    """By stream and id: handed out and not acknowledged."""
    fresh: dict[_Place, tuple[int, int]] = field(default_factory=dict)
    """Partitions nothing was read from yet: where to begin, and how often others began there."""
    looked: float = field(default_factory=time.monotonic)

    def sit_down(self) -> None:
        self.consumer.subscribe(
            list(self.streams), on_assign=self._assigned, on_revoke=self._revoked
        )

    def _assigned(self, consumer: Any, partitions: list[TopicPartition]) -> None:
        for each in consumer.committed(partitions, timeout=SECONDS):
            tries = each.metadata or ""
            before = int(tries) if tries.isdecimal() else 0
            self.fresh[each.topic, each.partition] = each.offset, before

    def _revoked(self, consumer: Any, partitions: list[TopicPartition]) -> None:
        """What we hold lies behind the committed offset: it will be handed out again."""
        self.held.clear()
        self.fresh.clear()

    def read(self, count: int, seconds: float) -> list[Entry]:
        first = self.consumer.poll(seconds)
        if first is None:
            return []
        records = [first, *(self.consumer.consume(count - 1, timeout=0) if count > 1 else ())]
        sound = [record for record in records if record.error() is None]
        if not sound:
            _raise_of(first.error())
        tries = self._begun(sound)
        entries = [_entry(r, self.streams[r.topic()], tries.get(_place(r), 1)) for r in sound]
        self.held |= {(entry.stream, entry.entry_id): entry for entry in entries}
        return entries

    def _begun(self, records: Iterable[Any]) -> dict[_Place, int]:
        """Count that somebody begins here: who dies of an entry leaves nothing else behind."""
        tries: dict[_Place, int] = {}
        for record in records:
            if begin := self.fresh.pop(_place(record), None):
                offset, before = begin
                tries[_place(record)] = 1 + (before if offset == record.offset() else 0)
                self._commit([(*_place(record), record.offset(), tries[_place(record)])])
        return tries

    def ack(self, entries: Sequence[Entry]) -> None:
        topics = {stream: topic for topic, stream in self.streams.items()}
        done: dict[_Place, int] = {}
        for entry in entries:
            self.held.pop((entry.stream, entry.entry_id), None)
            number, partition = _parts(entry.entry_id)
            place = topics[entry.stream], partition
            done[place] = max(number, done.get(place, 0))
        self._commit([(*place, number, 0) for place, number in done.items()])

    def _commit(self, offsets: Iterable[tuple[str, int, int, int]]) -> None:
        try:
            self.consumer.commit(
                offsets=[
                    TopicPartition(topic, partition, offset, metadata=str(tries or ""))
                    for topic, partition, offset, tries in offsets
                ],
                asynchronous=False,
            )
        except KafkaException as error:
            if error.args[0].code() not in _NOT_OURS_ANY_MORE:
                raise


class Kafka:
    """Speaks to the Kafka of settings.KAFKA_BOOTSTRAP."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        named = {"bootstrap.servers": settings.KAFKA_BOOTSTRAP, **settings.KAFKA_OPTIONS}
        # Nobody's log fills while a broker is away: callers hear of it, and say so.
        self.options = {"log_level": 2, **(named if options is None else options)}
        self._admin = AdminClient(self.options)
        self._producer: Any = None
        self._seats: dict[str, _Seat] = {}

    def close(self) -> None:
        """Leave every group, so that others have our partitions at once."""
        for seat in self._seats.values():
            seat.consumer.close()
        self._seats.clear()

    def _view(self) -> _View:
        with _trouble():
            told = self._admin.list_topics(timeout=SECONDS)
        return _View(told.cluster_id or "", {n: len(t.partitions) for n, t in told.topics.items()})

    def identity(self) -> Identity:
        view = self._view()
        return view.cluster, view.epoch

    def begin_epoch(self, epoch: str, streams: Mapping[str, Sequence[str]]) -> None:
        """Topics of its own for every epoch: who writes late writes where nobody reads."""
        self._make([_topic(stream, epoch) for stream in streams], settings.KAFKA_PARTITIONS)
        self._make([_plain(keys.dead_letters(stream)) for stream in streams], 1)
        self._make([f"{_EPOCH}{time.time_ns():020d}.{epoch}"], 1)
        self._wait_for(epoch)

    def _wait_for(self, epoch: str) -> None:
        """Brokers hear of new topics one after the other."""
        until = time.monotonic() + SECONDS
        while self.identity()[1] != epoch:
            if time.monotonic() > until:
                raise BusUnavailable("the topics that were made are not seen")
            time.sleep(0.05)

    def _make(self, topics: Sequence[str], partitions: int) -> None:
        days = max(1.0, settings.EVENTS_INBOX_DAYS - 1)
        config = {"retention.ms": str(int(days * 86_400_000)), "retention.bytes": "-1"}
        made = self._admin.create_topics(
            [NewTopic(topic, partitions, config=config) for topic in topics],
            request_timeout=SECONDS,
        )
        for future in made.values():
            try:
                future.result()
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise BusUnavailable(str(error)) from error

    def append(
        self, entries: Sequence[tuple[str, Fields]], identity: Identity
    ) -> list[str | Refusal]:
        if self.identity() != identity or not identity[1]:
            raise StreamsLost("these are other data than they were")
        reports: list[tuple[Any, Any]] = []
        for stream, fields in entries:
            report = [None, None]
            reports.append(report)  # type: ignore[arg-type]
            self._produce(_topic(stream, identity[1]), fields, report)
        self._flush()
        try:
            return [_result(error, record) for error, record in reports]
        except BusUnavailable:
            self._hang_up()
            raise

    def _produce(self, topic: str, fields: Fields, report: list[Any]) -> None:
        if self._producer is None:
            # Idempotence keeps a partition in order, and free of repetitions, through retries.
            self._producer = Producer({**self.options, "enable.idempotence": True, "acks": "all"})

        def note(error: Any, record: Any) -> None:
            report[:] = error, record

        told = {str(n): str(v) for n, v in zip(fields[::2], fields[1::2], strict=True)}
        payload = told.pop("payload", "").encode()
        while True:
            try:
                self._producer.produce(
                    topic, payload, key=_key(told), on_delivery=note,
                    headers=[(name, value.encode()) for name, value in told.items()],
                )  # fmt: skip
            except BufferError:
                self._producer.poll(0.1)  # It is full: wait until some are gone.
            except KafkaException as error:
                report[0] = error.args[0]
                return
            else:
                return

    def _flush(self) -> None:
        if left := self._producer.flush(SECONDS):
            self._hang_up()
            raise BusUnavailable(f"no answer about {left} entries")

    def _hang_up(self) -> None:
        """Nothing that we give up may arrive after what is sent again."""
        self._producer.purge()
        self._producer = None

    def read(
        self, group: str, consumer: str, streams: Sequence[str], count: int, block_ms: int
    ) -> list[Entry]:
        with _trouble():
            return self._seat(group, streams).read(count, block_ms / 1000)

    def _seat(self, group: str, streams: Sequence[str]) -> _Seat:
        """Our place in the group, on the topics of the current epoch."""
        seat = self._seats.get(group)
        if seat and time.monotonic() - seat.looked < LOOK_SECONDS:
            return seat
        epoch = self.identity()[1]
        if not epoch:
            raise StreamsLost("the streams are not there")
        if seat and seat.epoch == epoch:
            seat.looked = time.monotonic()
            return seat
        if seat:
            seat.consumer.close()
        seat = self._seats[group] = self._new_seat(group, epoch, streams)
        return seat

    def _new_seat(self, group: str, epoch: str, streams: Sequence[str]) -> _Seat:
        topics = {_topic(stream, epoch): stream for stream in streams}
        seat = _Seat(self._consumer(group), group, epoch, topics)
        seat.sit_down()
        return seat

    def _consumer(self, group: str) -> Any:
        return Consumer(
            {
                **self.options, "group.id": group, "enable.auto.commit": False,
                "auto.offset.reset": "earliest", "allow.auto.create.topics": False,
            }
        )  # fmt: skip

    def ensure_group(self, stream: str, group: str) -> bool:
        """Kafka knows a group once it commits, and lets it begin at the beginning."""
        return bool(self.identity()[1])

    def ack(self, group: str, entries: Sequence[Entry]) -> None:
        if seat := self._seats.get(group):
            with _trouble():
                seat.ack(entries)

    def take_over(
        self, group: str, consumer: str, stream: str, min_idle_ms: int, owner: str = "",
        count: int = 100,
    ) -> list[Entry]:  # fmt: skip
        """Of our own only: Kafka itself hands on what others leave behind."""
        seat = self._seats.get(group)
        if seat is None or min_idle_ms or owner not in ("", consumer):
            return []
        mine = [entry for entry in seat.held.values() if entry.stream == stream][:count]
        again = [replace(entry, deliveries=entry.deliveries + 1) for entry in mine]
        seat.held |= {(stream, entry.entry_id): entry for entry in again}
        return again

    def first_held(self, group: str, stream: str) -> str | None:
        held = self._seats[group].held.values() if group in self._seats else ()
        return next((entry.entry_id for entry in held if entry.stream == stream), None)

    def forget_consumer(self, group: str, consumer: str, stream: str) -> None:
        """Kafka forgets them itself."""

    def state(self, stream: str) -> StreamState | None:
        view = self._view()
        if not view.epoch:
            return None
        places = view.places(_topic(stream, view.epoch))
        with _trouble():
            ends = self._offsets(places, _LATEST)
            begins = self._offsets(places, _EARLIEST)
            groups = [
                self._group_state(name, begins, ends)
                for name, group in GROUPS.items() if stream in group.streams
            ]  # fmt: skip
        added, gone = sum(ends.values()), sum(begins.values())
        return StreamState(stream, added - gone, added, f"{min(ends.values())}-0", groups)

    def _offsets(self, places: Iterable[_Place], which: Any) -> dict[_Place, int]:
        asked = self._admin.list_offsets(
            {TopicPartition(*place): which for place in places}, request_timeout=SECONDS
        )
        return {
            (place.topic, place.partition): future.result().offset
            for place, future in asked.items()
        }

    def _group_state(
        self, group: str, begins: Mapping[_Place, int], ends: Mapping[_Place, int]
    ) -> GroupState:
        done = self._done(group, begins)
        lag = sum(ends[place] - done[place] for place in ends)
        return GroupState(group, lag, 0, f"{min(done.values())}-0")

    def _done(self, group: str, begins: Mapping[_Place, int]) -> dict[_Place, int]:
        """Up to where a group is done with each partition."""
        asked = ConsumerGroupTopicPartitions(group, [TopicPartition(*place) for place in begins])
        answer = self._admin.list_consumer_group_offsets([asked], request_timeout=SECONDS)
        told = answer[group].result()
        known = {(each.topic, each.partition): each.offset for each in told.topic_partitions}
        return {place: max(begin, known.get(place, 0)) for place, begin in begins.items()}

    def oldest_waiting(self, stream: str, group: GroupState) -> Entry | None:
        view = self._view()
        if not view.epoch:
            return None
        places = view.places(_topic(stream, view.epoch))
        with _trouble():
            ends = self._offsets(places, _LATEST)
            done = self._done(group.group, self._offsets(places, _EARLIEST))
            behind = [TopicPartition(*p, done[p]) for p in places if done[p] < ends[p]]
            return self._first_of(stream, group.group, behind) if behind else None

    def _first_of(self, stream: str, group: str, places: list[TopicPartition]) -> Entry | None:
        """The oldest of the first entries there, looked at by somebody who is no member."""
        looker = self._consumer(group)
        found: dict[int, Entry] = {}
        try:
            looker.assign(places)
            until = time.monotonic() + SECONDS
            while len(found) < len(places) and time.monotonic() < until:
                record = looker.poll(0.2)
                if record is not None and record.error() is None:
                    found.setdefault(record.partition(), _entry(record, stream, 1))
        finally:
            looker.close()
        # Ids of events sort by time.
        return min(found.values(), key=lambda each: each.raw.get(b"event_id", b""), default=None)

    def trim(self, stream: str, before_id: str, *, exact: bool = False) -> int:
        """Kafka drops what is older than the inbox remembers; see _make()."""
        return 0

    def dead_letter(self, stream: str, fields: Mapping[str, str], max_length: int) -> None:
        report: list[Any] = [None, None]
        told = orjson.dumps(dict(fields)).decode()
        self._produce(_plain(keys.dead_letters(stream)), ("payload", told), report)
        self._flush()


def _plain(name: str) -> str:
    return name.replace(":", ".")


def _topic(stream: str, epoch: str) -> str:
    return f"{_plain(stream)}.{epoch}"


def _key(told: Mapping[str, str]) -> bytes | None:
    """What decides about the partition: an aggregate stays in one."""
    names = ("tenant_id", "aggregate_type", "aggregate_id")
    if any(name not in told for name in names):
        return None
    return aggregate_key(*(told[name] for name in names)).encode()


def _place(record: Any) -> _Place:
    return record.topic(), record.partition()


def _entry(record: Any, stream: str, deliveries: int) -> Entry:
    raw = {name.encode(): value or b"" for name, value in record.headers() or ()}
    entry_id = f"{record.offset() + 1}-{record.partition()}"
    return Entry(stream, entry_id, raw | {b"payload": record.value() or b""}, deliveries)


def _parts(entry_id: str) -> tuple[int, int]:
    number, _, partition = entry_id.partition("-")
    return int(number), int(partition)


def _result(error: Any, record: Any) -> str | Refusal:
    if error is None and record is not None:
        return f"{record.offset() + 1}-{record.partition()}"
    if error is not None and error.code() in _REFUSALS:
        return Refusal(error.name(), error.str())
    raise BusUnavailable(str(error or "no answer"))


def _raise_of(error: Any) -> None:
    if error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
        raise StreamsLost(error.str())
    if error.code() != KafkaError._PARTITION_EOF:
        raise BusUnavailable(error.str())
