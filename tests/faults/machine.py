"""Any history of publishing, carrying, handling and misfortune, one step at a time.

Hypothesis chooses the steps; PostgreSQL is real, the bus is in memory. Relays may stand still
between claim, send and settle while anything else happens, and every worker may die anywhere.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)  # fmt: skip

from apps.events import catalog, failpoints, services
from apps.events.bus import BusUnavailable, Refusal, StreamsLost
from apps.events.bus.memory import MemoryBus
from apps.events.claims import Claim, EpochOver, Outbox
from apps.events.consumer import Consumer
from apps.events.context import acting
from apps.events.groups import GROUPS
from apps.events.handlers import GiveUp
from apps.events.keys import Stream
from apps.events.models import DeadLetter
from apps.events.outbox import publish_many
from apps.events.relay import Relay

from .verdict import overtaken
from .worker import ORDERED, SPREAD, TENANT

STEPPED = "TEST_STEPPED"
STREAM = str(Stream.EVENTS)
Key = tuple[str, int]

aggregates = st.sampled_from(["a", "b"])
relays = st.sampled_from([0, 1])
workers = st.sampled_from([0, 1, 2])
relay_deaths = st.sampled_from(["", "", "relay.claimed", "relay.sent", "relay.settled"])
consumer_deaths = st.sampled_from(
    ["", "", "consumer.read", "consumer.before_commit", "consumer.handled", "consumer.acked"]
)


class Killed(BaseException):
    """Nobody catches this, as nobody catches SIGKILL."""


class FussyBus(MemoryBus):
    """Refuses what belongs to some aggregates."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: set[str] = set()

    def append(self, entries: Any, identity: Any) -> Any:
        refused = [self._names(fields) & self.refused for _, fields in entries]
        taken = [entry for entry, no in zip(entries, refused, strict=True) if not no]
        ids = iter(super().append(taken, identity))
        return [Refusal("ERR", "not this one", True) if no else next(ids) for no in refused]

    @staticmethod
    def _names(fields: Any) -> set[str]:
        return {fields[fields.index("aggregate_id") + 1]}


@dataclass
class Flight:
    """What a relay holds while it stands still."""

    outbox: Outbox
    claim: Claim
    results: list[str | Refusal] = field(default_factory=list)


class Machine(RuleBasedStateMachine):
    """Checks after every step: no effect twice, none out of order; and at the end: none missing."""

    trouble: dict[Key, Exception]

    @initialize()
    def begin(self) -> None:
        for table in ("event_outbox", "event_inbox", "event_retry", "event_bus_state"):
            _run(f"DELETE FROM {table}")
        _run("SELECT pg_advisory_unlock_all()")
        _run('CREATE TEMP TABLE IF NOT EXISTS effect (id serial, "group" text, event_id uuid)')
        _run("DELETE FROM effect")
        self.bus, self.names = FussyBus(), iter(range(10**6))
        self.relays = [self._new_relay(), self._new_relay()]
        self.workers = [self._new_worker(g) for g in (ORDERED, SPREAD, SPREAD)]
        self.flights: dict[int, Flight] = {}
        self.published: dict[UUID, Key] = {}
        self.redriven: set[tuple[str, UUID]] = set()
        self.last: dict[str, int] = defaultdict(int)
        type(self).trouble = {}

    def _new_relay(self) -> Relay:
        return Relay(self.bus, f"relay-{next(self.names)}")

    def _new_worker(self, group: str) -> Consumer:
        return Consumer(GROUPS[group], self.bus, f"worker-{next(self.names)}", batch=3)

    # What happens

    @rule(aggregate=aggregates, count=st.integers(1, 3), taken_back=st.booleans())
    def publish(self, aggregate: str, count: int, taken_back: bool) -> None:
        keys = [(aggregate, self.last[aggregate] + n + 1) for n in range(count)]
        events = [catalog.event_class_of(STEPPED)(name=name, number=n) for name, n in keys]
        with acting(tenant_id=TENANT, actor="alice@example.com"), transaction.atomic():
            ids = publish_many(events)
            transaction.set_rollback(taken_back)
        if not taken_back:
            self.last[aggregate] += count
            self.published |= dict(zip(ids, keys, strict=True))

    @rule(who=relays, limit=st.integers(1, 4))
    def claim(self, who: int, limit: int) -> None:
        if who in self.flights:
            return
        relay = self.relays[who]
        try:
            outbox = relay._ready_outbox()
            claim = outbox.claim(limit)
        except (EpochOver, StreamsLost, BusUnavailable):
            relay._outbox = None
        else:
            if claim.rows:
                self.flights[who] = Flight(outbox, claim)

    @rule(who=relays)
    def send(self, who: int) -> None:
        flight = self.flights.get(who)
        if flight is None or flight.results:
            return
        try:
            flight.results = self.relays[who]._send(flight.claim)
        except (BusUnavailable, StreamsLost):
            del self.flights[who]
            self._unless_it_is_anothers(flight, "give_back")
            self.relays[who]._outbox = None

    @rule(who=relays)
    def settle(self, who: int) -> None:
        flight = self.flights.get(who)
        if flight is not None and flight.results:
            del self.flights[who]
            self._unless_it_is_anothers(flight, "settle", self.relays[who])

    def _unless_it_is_anothers(self, flight: Flight, act: str, relay: Any = None) -> None:
        others = self._held_by_others(flight.claim)
        if act == "settle":
            relay._settle(flight.outbox, flight.claim, flight.results)
        else:
            flight.outbox.give_back(flight.claim, flight.claim.rows)
        assert self._held_by_others(flight.claim) == others, "it ended the claim of another"

    def _held_by_others(self, claim: Claim) -> Any:
        return _ask(
            "SELECT event_id FROM event_outbox WHERE status = 'PROCESSING' AND claim_token <> %s"
            " ORDER BY seq", claim.token,
        )  # fmt: skip

    @rule(who=relays, dies_at=relay_deaths)
    def carry(self, who: int, dies_at: str) -> None:
        if who not in self.flights and self._survives(self._relay_batch, dies_at, who):
            return
        self.flights.pop(who, None)
        self.relays[who] = self._new_relay()

    def _relay_batch(self, who: int) -> None:
        try:
            self.relays[who].relay_batch()
        except BusUnavailable:
            self.relays[who]._outbox = None

    @rule(who=workers, dies_at=consumer_deaths)
    def consume(self, who: int, dies_at: str) -> None:
        if not self._survives(self._step, dies_at, who):
            # A connection dies with its process, and a lead with its connection.
            _run("SELECT pg_advisory_unlock_all()")
            self.workers[who] = self._new_worker(self.workers[who].group.name)

    def _step(self, who: int) -> None:
        try:
            self.workers[who].step()
        except (BusUnavailable, StreamsLost):
            return

    def _survives(self, work: Any, dies_at: str, who: int) -> bool:
        if dies_at:
            failpoints.arm(dies_at, _die)
        try:
            work(who)
        except Killed:
            return False
        finally:
            failpoints.disarm()
        return True

    @rule(who=st.sampled_from([1, 2]))
    def read_and_stand_still(self, who: int) -> None:
        worker = self.workers[who]
        if not worker._in_hand and not self.bus.away:
            try:
                worker._in_hand = worker._read(0)
            except StreamsLost:
                return

    @rule()
    def expire(self) -> None:
        _run("UPDATE event_outbox SET locked_until = now() WHERE status = 'PROCESSING'")

    @rule()
    def become_due(self) -> None:
        _run("UPDATE event_retry SET due_at = now()")
        _run("UPDATE event_outbox SET next_retry_at = now() WHERE next_retry_at > now()")

    @rule()
    def wipe(self) -> None:
        self.bus.wipe()

    @rule(losing=st.integers(1, 4))
    def forget_the_end(self, losing: int) -> None:
        self.bus.crash(losing)

    @rule(away=st.booleans())
    def lose_the_bus(self, away: bool) -> None:
        self.bus.away = away

    @rule(aggregate=aggregates, number=st.integers(1, 6), forever=st.booleans())
    def trouble_with(self, aggregate: str, number: int, forever: bool) -> None:
        self.trouble[aggregate, number] = GiveUp("never") if forever else RuntimeError("later")

    @rule(aggregate=aggregates)
    def refuse(self, aggregate: str) -> None:
        self.bus.refused = {aggregate}

    @rule()
    def mend(self) -> None:
        self.trouble.clear()
        self.bus.refused = set()

    @rule(which=st.integers(0, 5))
    @precondition(lambda self: bool(self.trouble) or bool(self.bus.refused) or self._letters())
    def redrive(self, which: int) -> None:
        letters = self._letters()
        if letters:
            letter = letters[which % len(letters)]
            services.redrive(letter, by="alice@example.com")
            self.redriven.add((letter.group, letter.event_id))

    def _letters(self) -> list[DeadLetter]:
        found = DeadLetter.objects.filter(event_id__in=list(self.published), status="open")
        return list(found.order_by("id"))

    # What must hold

    @invariant()
    def no_effect_comes_twice(self) -> None:
        assert not _ask(
            'SELECT event_id FROM effect GROUP BY "group", event_id HAVING count(*) > 1'
        )

    @invariant()
    def the_ordered_group_sees_every_aggregate_in_order(self) -> None:
        ids = _ask('SELECT event_id FROM effect WHERE "group" = %s ORDER BY id', ORDERED)
        assert not overtaken(self._in_turn(ids, ORDERED, DeadLetter.RELAY))

    @invariant()
    def the_stream_holds_every_aggregate_in_order(self) -> None:
        stream = self.bus._streams.get(STREAM) if hasattr(self, "bus") else None
        raw = stream.entries.values() if stream else ()
        ids = [UUID(fields[b"event_id"].decode()) for fields in raw]
        assert not overtaken(self._in_turn(ids, DeadLetter.RELAY))

    def _in_turn(self, ids: Iterable[UUID], *groups: str) -> list[Key]:
        """Without those that somebody sent again by hand: they come when they come."""
        late = {event_id for group, event_id in getattr(self, "redriven", ()) if group in groups}
        return [self.published[event_id] for event_id in ids if event_id not in late]

    def teardown(self) -> None:
        if hasattr(self, "bus"):
            self._come_to_an_end()
            missing = {
                (group, key) for group in (ORDERED, SPREAD) for event_id, key in
                self.published.items() if not self._has_an_end(group, event_id)
            }  # fmt: skip
            assert not missing, f"lost: {sorted(missing)}"
            self.no_effect_comes_twice()
            self.the_ordered_group_sees_every_aggregate_in_order()
            self.the_stream_holds_every_aggregate_in_order()

    def _come_to_an_end(self) -> None:
        self.mend()
        self.bus.away = False
        self.flights.clear()
        for _ in range(4 + len(self.published)):
            self.expire()
            self.become_due()
            self._relay_batch(0)
            for who in range(len(self.workers)):
                self._step(who)

    def _has_an_end(self, group: str, event_id: UUID) -> bool:
        effect = _ask('SELECT id FROM effect WHERE "group" = %s AND event_id = %s', group, event_id)
        letter = DeadLetter.objects.filter(
            event_id=event_id, group__in=(group, DeadLetter.RELAY), status="open"
        )
        return bool(effect) or letter.exists()


def leave_effect(group: str, message: Any) -> None:
    """The handler of both groups: an effect in the transaction, or what it was told to raise."""
    _run('INSERT INTO effect ("group", event_id) VALUES (%s, %s)', group, message.event_id)
    key = (message.payload["name"], message.payload["number"])
    if key in Machine.trouble:
        raise Machine.trouble[key]


def _die() -> None:
    raise Killed


def _run(query: str, *params: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query, params)


def _ask(query: str, *params: object) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        return [row[0] for row in cursor.fetchall()]
