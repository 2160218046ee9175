"""A tenant with somebody in every role, and processes that are started in one line."""

import json
from datetime import UTC, datetime

import pytest
from django.db import connection

from apps.events.handlers import handler_of
from apps.events.message import Message
from apps.events.models import OutboxEvent
from apps.processes import services
from apps.processes.services import Doer

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.fixture
def people(acme, member_of):
    """One Doer per role, by name of the role."""
    roles = ("admin", "manager", "attorney", "analyst", "engineer")
    return {role: Doer(member_of(acme, f"the-{role}", role), role) for role in roles}


@pytest.fixture
def start(in_acme, people):
    """Publishes a diagram and starts it: `start(decision(), amount=5)`."""

    def begin(text, *, now=NOON, case_id=None, **variables):
        definition = services.upload_definition(text=text)
        services.publish_version(version=definition.versions.get())
        return services.start_process(
            definition=definition,
            case_id=case_id,
            variables=variables,
            by=people["attorney"].user,
            now=now,
        )

    return begin


@pytest.fixture
def case(in_acme, people):
    from apps.cases import services as cases

    return cases.open_case(title="Hanbit Textile", opened_by=people["manager"].user)


def told(*types):
    """What was published, oldest first: (type, payload) of these types, or of all."""
    rows = OutboxEvent.objects.order_by("seq")
    rows = rows.filter(event_type__in=types) if types else rows
    return [(row.event_type, json.loads(row.payload)) for row in rows]


def names_told():
    return [name for name, _payload in told()]


@pytest.fixture
def engine():
    """Gives the engine what it has not heard yet, as its worker would."""
    heard = set()

    def listen():
        for row in list(OutboxEvent.objects.order_by("seq")):
            handler = handler_of("bpm_engine", row.event_type)
            if handler and row.event_id not in heard:
                heard.add(row.event_id)
                handler.function(message_of(row))

    return listen


def message_of(row):
    names = (
        "event_id", "event_type", "schema_version", "aggregate_type", "aggregate_id",
        "tenant_id", "actor", "trace_id", "payload",
    )  # fmt: skip
    fields = {name: str(getattr(row, name)) for name in names}
    fields["occurred_at"] = row.occurred_at.isoformat()
    return Message.of_fields(row.stream, "1-0", fields)


def item_of(instance, activity, **which):
    found = instance.work_items.filter(activity_id=activity, **which)
    return found.order_by("-created_at", "-attempt").first()


def queries_of(function):
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        function()
    return len(captured)
