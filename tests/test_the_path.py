"""docs/the-path.md, walked for real: a request becomes an event, and the event reaches a group."""

import pytest

from apps.accounts.events import UserCreated
from apps.events.bus.redis_streams import RedisStreams
from apps.events.consumer import Consumer
from apps.events.context import current
from apps.events.groups import GROUPS
from apps.events.handlers import forget, on
from apps.events.models import InboxEntry, OutboxEvent
from apps.events.relay import Relay

TRACE = "0af7651916cd43dd8448eb211c80319c"
GROUP = "watch_cep_group"


@pytest.fixture
def seen():
    """What the group's handler saw: the event, and on whose behalf it acted."""
    seen = []

    def watch(message):
        seen.append((message, current()))

    on(UserCreated, group=GROUP)(watch)
    yield seen
    forget(watch)


@pytest.mark.django_db(transaction=True)
def test_a_request_becomes_an_event_that_reaches_a_group_in_the_same_trace(
    alice_api, acme, redis_client, seen
):
    bus = RedisStreams(redis_client)
    answer = alice_api.post(
        "/api/v1/members/",
        {"email": "dora@acme.example", "name": "Dora", "role": "analyst"},
        format="json",
        headers={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01", "X-Request-ID": "walk-0001"},
    )
    assert answer.status_code == 201, answer.content

    row = OutboxEvent.objects.get(event_type="USER_CREATED")
    assert (row.tenant_id, row.actor, row.trace_id) == (acme.pk, "alice@acme.example", TRACE)
    assert (row.request_id, row.source) == ("walk-0001", "POST /api/v1/members/")

    Relay(bus, "relay-1").relay_batch()
    row.refresh_from_db()
    ((entry_id, _),) = redis_client.xrange("axiom:events")
    assert (row.status, row.entry_id) == ("PUBLISHED", entry_id.decode())

    Consumer(GROUPS[GROUP], bus, "worker-1").step()
    ((message, circumstances),) = seen
    assert (message.event.email, message.event.role) == ("dora@acme.example", "analyst")
    assert (circumstances.tenant_id, circumstances.trace_id) == (acme.pk, TRACE)
    assert circumstances.causation_id == row.event_id
    assert InboxEntry.objects.get(event_id=row.event_id).outcome == "done"
