"""How fast one consumer works through a stream, against a plain loop that does the same."""

import json
import time
from collections.abc import Callable, Iterator
from math import ceil
from uuid import UUID

import psycopg
from django.db import connection, transaction

from apps.events import bus
from apps.events.consumer import Consumer
from apps.events.ids import uuid7
from apps.events.message import Message

from . import servers
from .consumers import GROUP, INSERT_EFFECTS, check_claim
from .events import ClaimChecked, ClaimSorted, an_event
from .figure import Figure, Round, Size, faster
from .stage import STREAM, Stage, stage

PLAIN = "plain"
READ = 100
INSERT_INBOX = """
INSERT INTO event_inbox (event_id, "group", worker)
SELECT id, 'plain', 'plain' FROM unnest(%s::uuid[]) AS id ON CONFLICT DO NOTHING RETURNING event_id
"""
Entries = list[tuple[bytes, dict[bytes, bytes]]]
Loop = Callable[[Stage], None]


def consume_one(size: Size) -> Iterator[Figure]:
    """One event per call, one row by the ORM, against one transaction per message."""
    rounds = _rounds(ClaimChecked, size.of(1_000), size.rounds(5), transaction_per_message)
    yield faster("consume_one", rounds, against="one transaction per message", least=2.0)


def consume_batch(size: Size) -> Iterator[Figure]:
    """Handlers declared for batches, against the plain psycopg loop."""
    rounds = _rounds(ClaimSorted, size.of(20_000), size.rounds(5), psycopg_loop)
    yield faster("consume_batch", rounds, against="plain psycopg loop", least=0.5)


def _rounds(kind: type, count: int, rounds: int, plain: Loop) -> list[Round]:
    with stage("here", 0) as place:
        _speed(place, kind, 100, axiom_consumer), _speed(place, kind, 100, plain)
        return [
            (_speed(place, kind, count, axiom_consumer), _speed(place, kind, count, plain))
            for _ in range(rounds)
        ]


def _speed(place: Stage, kind: type, count: int, loop: Loop) -> float:
    """Events per second from the first read to the last acknowledgement."""
    _fill_stream(place, kind, count)
    servers.checkpoint()
    begin = time.monotonic()
    loop(place)
    elapsed = time.monotonic() - begin
    assert place.count("bench_effect") == place.count("event_inbox") == count
    return count / elapsed


def _fill_stream(place: Stage, kind: type, count: int) -> None:
    place.clear()
    place.client.delete(STREAM)
    for group in (GROUP.name, PLAIN):
        place.client.xgroup_create(STREAM, group, id="0", mkstream=True)
    pipe = place.client.pipeline(transaction=False)
    for number in range(count):
        pipe.xadd(STREAM, _entry(kind, number))
    pipe.execute()


def _entry(kind: type, number: int) -> dict[str, str | int]:
    event = an_event(kind, number, uuid7())
    return {
        "event_id": str(uuid7()), "event_type": event.type, "schema_version": 1,
        "aggregate_type": event.aggregate, "aggregate_id": event.aggregate_id,
        "tenant_id": "018f2d1c-0000-7000-8000-000000000001", "actor": "alice@example.com",
        "trace_id": uuid7().hex, "occurred_at": "2026-01-01T00:00:00+00:00",
        "payload": event.payload_json(),
    }  # fmt: skip


def axiom_consumer(place: Stage) -> None:
    consumer = Consumer(GROUP, bus.connect(), "bench-1", batch=READ)
    for _ in range(ceil(place.length() / READ)):
        consumer.step()


def transaction_per_message(place: Stage) -> None:
    while entries := _read(place):
        for entry_id, raw in entries:
            with transaction.atomic():
                _handle_alone(Message.parse(STREAM, entry_id.decode(), raw))
            place.client.xack(STREAM, PLAIN, entry_id)


def _handle_alone(message: Message) -> None:
    with connection.cursor() as cursor:
        cursor.execute(INSERT_INBOX, [[message.event_id]])
    check_claim(message)


def psycopg_loop(place: Stage) -> None:
    with psycopg.connect(place.database) as plain:
        while entries := _read(place):
            with plain.transaction():
                _handle_together(plain, entries)
            place.client.xack(STREAM, PLAIN, *[entry_id for entry_id, _ in entries])


def _handle_together(plain: psycopg.Connection, entries: Entries) -> None:
    numbers = {
        UUID(raw[b"event_id"].decode()): json.loads(raw[b"payload"])["number"]
        for _, raw in entries
    }  # fmt: skip
    new = [event_id for (event_id,) in plain.execute(INSERT_INBOX, [list(numbers)])]
    plain.execute(INSERT_EFFECTS, [new, [numbers[event_id] for event_id in new]])


def _read(place: Stage) -> Entries:
    reply = place.client.xreadgroup(PLAIN, PLAIN, {STREAM: ">"}, count=READ)
    return reply[0][1] if reply else []
