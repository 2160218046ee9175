"""The catalog as programs read it."""

import jsonschema
import pytest
from django.utils.translation import gettext_lazy

from apps.events import catalog, schemas
from apps.events.catalog import Event
from axiom.api.schema import Generator

pytestmark = pytest.mark.django_db


def test_every_declared_type_is_listed(bob_api):
    listed = bob_api.get("/api/v1/event-types/").json()
    assert {kind.type for kind in schemas.declared()} <= {row["type"] for row in listed["results"]}
    assert (listed["next"], listed["previous"]) == (None, None)


def test_a_type_is_told_in_full(bob_api):
    told = bob_api.get("/api/v1/event-types/CASH_LOW/").json()
    assert told["label"] == "Cash running low"
    assert told["description"] == "The cash of a case fell below its threshold."
    assert (told["stream"], told["aggregate"], told["key"]) == ("axiom:watches", "case", "case_id")
    assert (told["version"], told["versions"]) == (1, [1])
    assert told["aliases"] == ["watch.cash_low"]
    assert told["example"]["threshold"] == 10000000
    assert told["schema"]["properties"]["cash_balance"]["type"] == "number"


def test_every_example_fits_the_schema_that_is_told(bob_api):
    for kind in schemas.declared():
        told = bob_api.get(f"/api/v1/event-types/{kind.type}/").json()
        checker = jsonschema.FormatChecker()
        jsonschema.validate(told["example"], told["schema"], format_checker=checker)


def test_who_consumes_it_is_told(bob_api, handle, thing_happened):
    handle(lambda message: None, thing_happened, group="notification_group")
    # A group that does not read the type's stream never sees it, whatever it registered for.
    handle(print, thing_happened, group="chat_fanout")
    told = bob_api.get("/api/v1/event-types/TEST_THING_HAPPENED/").json()
    # The watch takes every event.
    assert told["consumers"] == ["watch_cep_group", "notification_group"]


def test_an_alias_finds_its_type(bob_api):
    assert bob_api.get("/api/v1/event-types/case.created/").json()["type"] == "CASE_CREATED"


def test_a_change_of_metadata_names_what_is_in_the_envelope(bob_api):
    told = bob_api.get("/api/v1/event-types/metadata.table.added/").json()
    assert told["envelope"] == ["case_id", "datasource_name"]
    assert set(told["schema"]["required"]) == {
        "schema", "table_name", "table_type", "columns_count",
    }  # fmt: skip


def test_labels_are_in_the_language_of_the_reader(bob, api_of, declared):
    class Agreed(Event, type="TEST_AGREED", aggregate="t", key="t", label=gettext_lazy("Yes")):
        """No"""

        t: str

    declared(Agreed)
    bob.language = "ko"
    bob.save()
    told = api_of(bob).get("/api/v1/event-types/TEST_AGREED/").json()
    assert (told["label"], told["description"]) == ("예", "아니오")


def test_an_unknown_type_is_not_found(bob_api):
    for name in ("NEVER_DECLARED", "case.never", "%00", "x" * 5000):
        answer = bob_api.get(f"/api/v1/event-types/{name}/")
        assert answer.status_code == 404
        assert answer["Content-Type"] == "application/problem+json"


def test_types_are_found_by_words_and_stream(bob_api):
    def found(query):
        rows = bob_api.get(f"/api/v1/event-types/?{query}").json()["results"]
        return [row["type"] for row in rows]

    for query in ("q=cash_low", "q=Watch.Cash", "q=cash+running", "q=fell+below"):
        assert found(query) == ["CASH_LOW"]
    assert found("stream=axiom:chat") == ["CHAT_MESSAGE_SENT"]
    assert found("q=no+such+words") == found("stream=axiom:chat&q=cash") == []


def test_an_unknown_stream_is_refused(bob_api):
    answer = bob_api.get("/api/v1/event-types/?stream=axiom:nowhere")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["parameter"] == "stream"


def test_a_reader_who_has_it_already_is_told_so(bob_api):
    first = bob_api.get("/api/v1/event-types/CASH_LOW/")
    again = bob_api.get("/api/v1/event-types/CASH_LOW/", headers={"if-none-match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_catalog_is_only_for_people_who_are_logged_in_and_read_only(api, alice_api):
    assert api.get("/api/v1/event-types/").status_code == 401
    for method in (alice_api.post, alice_api.put, alice_api.patch, alice_api.delete):
        assert method("/api/v1/event-types/CASH_LOW/").status_code == 405
    assert alice_api.post("/api/v1/event-types/").status_code == 405
    assert catalog.canonical("CASH_LOW")


def test_the_document_of_the_api_says_what_the_list_answers():
    document = Generator().get_schema(request=None, public=True)
    answer = document["paths"]["/api/v1/event-types/"]["get"]["responses"]["200"]
    assert answer["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/EventTypeList"
    }
