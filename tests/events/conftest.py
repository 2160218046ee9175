"""Events of the tests' own, and a tenant to publish them for."""

from typing import Any
from uuid import UUID

import pytest

from apps.events import catalog
from apps.events.catalog import Event
from apps.events.context import acting

TENANT = UUID("018f2d1c-0000-7000-8000-000000000001")


@pytest.fixture
def tenant():
    """A tenant to act for."""
    with acting(tenant_id=TENANT, actor="alice@example.com", trace_id="a" * 32):
        yield TENANT


@pytest.fixture(scope="session", autouse=True)
def thing_happened():
    class ThingHappened(Event, type="TEST_THING_HAPPENED", aggregate="thing", key="thing_id"):
        thing_id: str
        number: int = 0
        note: str = ""

        example = {"thing_id": "t1", "number": 1, "note": ""}

    yield ThingHappened
    catalog.forget(ThingHappened)


@pytest.fixture(scope="session")
def free_form():
    class FreeForm(Event, type="TEST_FREE_FORM", aggregate="thing", key="thing_id"):
        thing_id: str
        facts: dict[str, Any]

    yield FreeForm
    catalog.forget(FreeForm)


@pytest.fixture
def declared():
    """Forgets the event types that a test declares."""
    classes = []
    yield lambda *more: classes.extend(more)
    for event_class in classes:
        catalog.forget(event_class)
