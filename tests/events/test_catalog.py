"""The catalog: declared once, refused clearly, readable for ever."""

import pytest
from pydantic import create_model

from apps.events import catalog
from apps.events.catalog import Event, InEnvelope
from apps.events.errors import PayloadDoesNotFit, UnknownEventType


def test_an_unknown_type_is_refused_by_name():
    with pytest.raises(UnknownEventType, match="NEVER_DECLARED"):
        catalog.build("NEVER_DECLARED", {})


def test_a_payload_that_does_not_fit_is_refused_with_the_reasons(thing_happened):
    with pytest.raises(PayloadDoesNotFit, match=r"thing_id: Field required.*extra: Extra inputs"):
        catalog.build("TEST_THING_HAPPENED", {"extra": 1})


def test_an_event_cannot_be_changed_once_it_happened(thing_happened):
    event = thing_happened(thing_id="t1")
    with pytest.raises(ValueError, match="frozen"):
        event.number = 2


def test_a_field_of_the_envelope_travels_beside_the_payload(declared):
    class Extracted(
        Event, type="TEST_EXTRACTED", aggregate="source", key="name", aliases=("test.extracted",)
    ):
        name: str
        datasource_name: InEnvelope[str]

    declared(Extracted)
    event = Extracted(name="erp", datasource_name="erp_db")
    assert event.payload_json() == '{"name":"erp"}'
    assert event.envelope_values() == {"datasource_name": "erp_db"}
    assert "datasource_name" not in Extracted.payload_schema()["properties"]
    assert catalog.canonical("test.extracted") == "TEST_EXTRACTED"


def test_an_old_version_is_brought_up_to_date_when_read(declared):
    class Renamed(Event, type="TEST_RENAMED", aggregate="thing", key="thing_id", version=3):
        thing_id: str
        total: int

        upcasters = {
            1: lambda old: {"thing_id": old["id"], "amount": old["amount"]},
            2: lambda old: {"thing_id": old["thing_id"], "total": old["amount"]},
        }

    declared(Renamed)
    event = catalog.build("TEST_RENAMED", {"id": "t1", "amount": 5}, version=1)
    assert event == Renamed(thing_id="t1", total=5)


def test_a_version_from_the_future_is_refused(thing_happened):
    with pytest.raises(PayloadDoesNotFit, match="newer"):
        catalog.build("TEST_THING_HAPPENED", {"thing_id": "t1"}, version=2)


def test_a_new_version_without_an_upcaster_is_refused_at_declaration():
    with pytest.raises(TypeError, match="no upcaster from version 1"):

        class Forgetful(Event, type="TEST_FORGETFUL", aggregate="t", key="t", version=2):
            t: str


def test_two_declarations_of_one_type_are_refused():
    with pytest.raises(TypeError, match="declared twice"):

        class Impostor(Event, type="TEST_THING_HAPPENED", aggregate="t", key="t"):
            t: str


def test_an_alias_that_already_names_another_event_is_refused():
    with pytest.raises(TypeError, match=r"'case\.created' already names another event"):

        class Impostor(
            Event, type="TEST_IMPOSTOR", aggregate="t", key="t", aliases=("case.created",)
        ):
            t: str

    assert catalog.canonical("case.created") == "CASE_CREATED"
    with pytest.raises(UnknownEventType):
        catalog.canonical("TEST_IMPOSTOR")


def test_a_fingerprint_follows_the_schema_and_not_the_prose(declared):
    class First(Event, type="TEST_FIRST", aggregate="t", key="t"):
        t: str

    class Documented(Event, type="TEST_DOCUMENTED", aggregate="t", key="t"):
        """The same, with words."""

        t: str

    class Wider(Event, type="TEST_WIDER", aggregate="t", key="t"):
        t: str
        more: int = 0

    declared(First, Documented, Wider)
    assert catalog.fingerprint(First) == catalog.fingerprint(Documented)
    assert catalog.fingerprint(First) != catalog.fingerprint(Wider)


def test_a_field_called_title_is_not_prose(declared):
    class With(Event, type="TEST_WITH", aggregate="t", key="t"):
        t: str
        inner: create_model("Inner", type=(str, ""), title=(str, ""))

    class Without(Event, type="TEST_WITHOUT", aggregate="t", key="t"):
        t: str
        inner: create_model("Inner", type=(str, ""))

    declared(With, Without)
    assert catalog.fingerprint(With) != catalog.fingerprint(Without)
