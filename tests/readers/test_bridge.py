"""Changes of the catalog reach the tenant's browsers; a storm does not drown them."""

from datetime import UTC, datetime

import orjson
import pytest
from django.db import transaction

from apps.events import keys
from apps.events.message import Message
from apps.notifications.services.bridge import MOST_IN_A_SECOND, bridge
from tests.events.conftest import TENANT

pytestmark = pytest.mark.django_db(transaction=True)


def change(number, source="erp_db", tenant_id=TENANT):
    fields = {
        "event_id": f"018f2d1c-0000-7000-8000-{number:012d}", "event_type": "metadata.table.added",
        "aggregate_type": "datasource", "aggregate_id": source, "tenant_id": str(tenant_id),
        "trace_id": "", "occurred_at": "2026-01-05T09:00:00+00:00", "actor": "system",
        "payload": orjson.dumps({"schema": "public", "table_name": f"t{number}"}).decode(),
    }  # fmt: skip
    return Message.of_fields("axiom:metadata_changes", f"1-{number}", fields)


def say(*changes, second=1000):
    with transaction.atomic():
        bridge(changes, now=datetime.fromtimestamp(second, UTC))


def said(client, tenant_id=TENANT):
    rows = client.xrange(keys.notifications(tenant_id))
    return [(row[b"event"].decode(), orjson.loads(row[b"data"])) for _id, row in rows]


def test_a_change_is_said_with_what_it_was(redis_client):
    say(change(1))
    ((event, data),) = said(redis_client)
    assert event == "metadata.table.added"
    assert (data["datasource_name"], data["payload"]["table_name"]) == ("erp_db", "t1")


def test_a_storm_becomes_one_word_a_second(redis_client):
    for start in range(0, 17_000, 1000):
        say(*(change(number) for number in range(start, start + 1000)))
    frames = [event for event, _data in said(redis_client)]
    assert len(frames) == MOST_IN_A_SECOND + 1
    assert frames[-1] == "resync"
    assert said(redis_client)[-1][1] == {"datasource_name": "erp_db", "in_ms": 1000}
    say(change(1), second=1001)
    assert said(redis_client)[-1][0] == "metadata.table.added"


def test_the_last_of_a_storm_is_never_left_unsaid(redis_client):
    say(*(change(number) for number in range(MOST_IN_A_SECOND)))
    assert said(redis_client)[-1][0] == "metadata.table.added"
    say(change(99))
    assert said(redis_client)[-1][0] == "resync"


def test_another_source_is_not_hushed(redis_client):
    say(*(change(number) for number in range(100)), change(200, source="crm"))
    assert ("metadata.table.added", "crm") in [
        (event, data["datasource_name"]) for event, data in said(redis_client)
    ]


def test_what_is_rolled_back_is_not_said(redis_client):
    with transaction.atomic():
        bridge([change(1)], now=datetime.fromtimestamp(1000, UTC))
        transaction.set_rollback(True)
    assert said(redis_client) == []
