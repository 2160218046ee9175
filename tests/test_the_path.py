"""docs/the-path.md, walked for real: from a request to a group, and from a request to a browser."""

import re
from pathlib import Path

import pytest

from apps.accounts.events import UserCreated
from apps.events.bus.redis_streams import RedisStreams
from apps.events.consumer import Consumer
from apps.events.context import current
from apps.events.groups import GROUPS
from apps.events.handlers import forget, on
from apps.events.models import InboxEntry, OutboxEvent
from apps.events.relay import Relay
from apps.notifications.models import Notification
from tests.notifications.conftest import Listener, web_server
from tests.programs import ROOT, eventually

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


@pytest.mark.django_db(transaction=True)
def test_a_request_becomes_an_alert_that_reaches_a_browser_in_the_same_trace(
    alice_api, alice, redis_client
):
    bus = RedisStreams(redis_client)
    relay = Relay(bus, "relay-1")
    watch = Consumer(GROUPS[GROUP], bus, "watch-1")
    notify = Consumer(GROUPS["notification_group"], bus, "notify-1")

    def carry(consumer):
        while relay.relay_batch():
            continue
        consumer.step()

    mine = {"name": "New cases", "event_types": ["case.created"], "rule": {"type": "always"}}
    assert alice_api.post("/api/v1/subscriptions/", mine, format="json").status_code == 201
    with web_server() as address:
        token = alice_api._credentials["HTTP_AUTHORIZATION"]
        browser = Listener(address, Authorization=token)
        opened = alice_api.post(
            "/api/v1/cases/", {"title": "Hanbit Textile"}, format="json",
            headers={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"},
        )  # fmt: skip
        assert opened.status_code == 201, opened.content
        carry(watch)
        carry(notify)
        ((place, told),) = eventually(lambda: browser.of("notification"))
        browser.close()

    item = Notification.across_tenants.get(recipient=alice)
    assert (place, told["title"]) == (str(item.number), item.title)
    created = OutboxEvent.objects.get(event_type="CASE_CREATED")
    triggered = OutboxEvent.objects.get(event_type="ALERT_TRIGGERED")
    assert (triggered.causation_id, triggered.trace_id) == (created.event_id, TRACE)
    steps = alice_api.get(f"/api/v1/journey/{TRACE}/").json()["steps"]
    handled = [(s["event_type"], s["group"]) for s in steps if s["kind"] == "handled"]
    assert ("CASE_CREATED", GROUP) in handled
    assert ("ALERT_TRIGGERED", "notification_group") in handled


def test_what_the_page_names_is_there():
    page = (ROOT / "docs" / "the-path.md").read_text()
    for text, target in re.findall(r"\[(.+?)\]\((.+?)\)", page):
        assert (ROOT / "docs" / target).exists(), text
    named = re.findall(r"\]\((\S+\.py)\) `(?:(\w+)\.)?(\w+)\(\)`", page)
    assert len(named) > 8
    for path, owner, function in named:
        code = (Path(ROOT / "docs") / path).read_text()
        assert f"def {function}(" in code, (path, function)
        assert not owner or f"class {owner}" in code, (path, owner)
