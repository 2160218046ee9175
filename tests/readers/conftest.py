"""Readers of the catalog, and a bus to wake them with."""

import pytest
from django.db import connection

from apps.events.bus.memory import MemoryBus
from apps.events.consumer import Consumer
from apps.events.context import acting
from apps.events.groups import GROUPS
from apps.events.models import InboxEntry
from apps.events.relay import Relay
from tests.readers.catalog import Catalog

READERS = ("oracle-consumer", "synapse-consumer", "vision-consumer")


@pytest.fixture
def catalog(in_acme):
    found = Catalog()
    found.add("public.orders", id="integer", total="numeric(10,2)", customer_id="integer",
              placed_at="timestamp with time zone", status="varchar(20)")  # fmt: skip
    found.add("public.customers", id="integer", name="text", region="text")
    found.add("archive.orders", id="integer", total="numeric(10,2)")
    return found


class Readers:
    """The groups that read the catalog's events; nothing happens until they are let run."""

    def __init__(self, bus, *groups):
        self.groups = groups or READERS
        self.use(bus)

    def use(self, bus):
        self.bus, self.relay = bus, Relay(bus, "relay-1")
        self.consumers = [
            Consumer(GROUPS[name], bus, f"{name}-1", batch=100) for name in self.groups
        ]

    def run(self):
        """Let all that was published arrive."""
        while self.relay.relay_batch():
            pass
        for consumer in self.consumers:
            self._exhaust(consumer)

    def _exhaust(self, consumer):
        """Until nothing more is handled; the first step may only make the group."""
        idle = 0
        while idle < 3:
            before = self._handled(consumer)
            with acting(tenant_id=None):
                consumer.step()
            idle = 0 if self._handled(consumer) > before else idle + 1

    def end(self):
        """Who leads an ordered group leads it as long as its connection lives, and tests share one."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock_all()")

    def _handled(self, consumer):
        return InboxEntry.objects.filter(group=consumer.group.name).count()


@pytest.fixture
def readers(transactional_db, catalog):
    readers = Readers(MemoryBus())
    yield readers
    readers.end()
