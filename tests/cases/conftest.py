"""Cases to try things on, and what was said about them."""

import json

import pytest


@pytest.fixture
def dana(acme, member_of):
    """Manages: a manager of Acme."""
    return member_of(acme, "dana", "manager")


@pytest.fixture
def case(in_acme, alice):
    from apps.cases import services

    return services.open_case(title="Hanbit Textile", opened_by=alice)


@pytest.fixture
def said(db):
    """What was published: pairs of type and payload, the first first; of one type if given."""
    from apps.events.models import OutboxEvent

    def look(event_type=None):
        rows = OutboxEvent.objects.order_by("seq")
        rows = rows.filter(event_type=event_type) if event_type else rows
        told = [(row.event_type, _decoded(row.payload)) for row in rows]
        return [payload for _, payload in told] if event_type else told

    return look


def _decoded(payload):
    return json.loads(payload) if isinstance(payload, str) else payload
