"""Promises to readers: what breaks one is told, with the way to mend it."""

from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from pydantic import BaseModel, Field, create_model

from apps.events import catalog, handbook, schemas
from apps.events.catalog import Event, InEnvelope
from apps.events.compatibility import breaks


class Inner(BaseModel):
    a: str
    b: int = 0


class InnerWithoutB(BaseModel):
    a: str


class Node(BaseModel):
    name: str
    below: list["Node"] = []


class NodeWithoutName(BaseModel):
    below: list["NodeWithoutName"] = []


def schema_of(**fields: Any) -> dict[str, Any]:
    """The schema of a model with these fields; a bare type is a required field."""
    wanted = {name: f if isinstance(f, tuple) else (f, ...) for name, f in fields.items()}
    return create_model("Payload", **wanted).model_json_schema(mode="serialization")


def test_every_declared_type_is_as_promised():
    found = schemas.findings(schemas.stored(), schemas.declared())
    assert not found, "\n" + "\n".join(map(str, found))


def test_the_page_about_events_is_current():
    current = handbook.page(schemas.declared())
    assert handbook.path().read_text() == current, "run `manage.py event_schemas --docs`"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"a": str, "b": str}, {"a": str}, "b: removed"),
        ({"a": str, "b": (str, "")}, {"a": str}, "b: removed"),
        ({"a": str, "b": str}, {"a": str, "c": str}, "b: removed; c: new, required"),
        ({"a": str}, {"a": str, "b": str}, "b: new, required"),
        ({"a": str, "b": (str, "")}, {"a": str, "b": str}, "b: became required"),
        ({"a": str}, {"a": int}, "a: was string, is integer"),
        ({"a": int}, {"a": float}, "a: was integer, is number"),
        ({"a": str}, {"a": UUID}, "a: was string, is string (uuid)"),
        ({"a": str}, {"a": str | None}, "a: was string, is null or string"),
        ({"a": str | None}, {"a": str}, "a: was null or string, is string"),
        ({"a": str}, {"a": list[str]}, "a: was string, is array"),
        ({"a": list[str]}, {"a": list[int]}, "a[]: was string, is integer"),
        ({"a": Any}, {"a": str}, "a: was anything, is string"),
        ({"a": Literal[7, 3, 1]}, {"a": Literal[7, 3]}, "a: 1 no longer allowed"),
        ({"a": Literal["x", "y"]}, {"a": Literal["x"]}, 'a: "y" no longer allowed'),
        ({"a": str}, {"a": Literal["x"]}, 'a: only "x" allowed from now on'),
        ({"a": Annotated[str, Field(max_length=9)]}, {"a": Annotated[str, Field(max_length=5)]},
         "a: maxLength was 9, is 5"),
        ({"a": str}, {"a": Annotated[str, Field(pattern="^x")]}, "a: pattern was not set, is ^x"),
        ({"a": Annotated[int, Field(ge=0)]}, {"a": Annotated[int, Field(ge=1)]},
         "a: minimum was 0, is 1"),
        ({"a": int}, {"a": Annotated[int, Field(le=9)]}, "a: maximum was not set, is 9"),
        ({"a": Inner}, {"a": InnerWithoutB}, "a.b: removed"),
        ({"a": Inner, "c": Inner}, {"a": InnerWithoutB, "c": InnerWithoutB},
         "a.b: removed; c.b: removed"),
        ({"a": list[Inner]}, {"a": list[InnerWithoutB]}, "a[].b: removed"),
        ({"a": dict[str, Inner]}, {"a": dict[str, InnerWithoutB]}, "a.*.b: removed"),
        ({"a": Inner | None}, {"a": InnerWithoutB | None}, "a.b: removed"),
        ({"a": InnerWithoutB}, {"a": create_model("More", a=(str, ...), z=(int, ...))},
         "a.z: new, required"),
        ({"a": dict[str, Any]}, {"a": dict[str, int]}, "a: other fields were allowed"),
        ({"a": Inner | InnerWithoutB}, {"a": Inner | Node},
         "a: the alternatives of kind object changed"),
        ({"a": Node}, {"a": NodeWithoutName}, "a.name: removed"),
    ],
)  # fmt: skip
def test_a_breaking_change_is_told_by_field(old, new, told):
    assert "; ".join(breaks(schema_of(**old), schema_of(**new))) == told


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"a": str}, {"a": str}),
        ({"a": str}, {"a": str, "b": (str, "")}),
        ({"a": str}, {"a": str, "b": (UUID | None, None)}),
        ({"a": str}, {"a": (str, "")}),
        ({"a": (int, 0)}, {"a": (int, 1)}),
        ({"a": Literal["x"]}, {"a": Literal["x", "y"]}),
        ({"a": Literal["x", "y"]}, {"a": str}),
        ({"a": Annotated[str, Field(max_length=5)]}, {"a": Annotated[str, Field(max_length=9)]}),
        ({"a": Annotated[int, Field(ge=1)]}, {"a": Annotated[int, Field(ge=0)]}),
        ({"a": Annotated[int, Field(ge=1)]}, {"a": int}),
        ({"a": InnerWithoutB}, {"a": Inner}),
        ({"a": list[InnerWithoutB]}, {"a": list[Inner]}),
        ({"a": dict[str, int]}, {"a": dict[str, int]}),
        ({"a": Node}, {"a": Node}),
    ],
)
def test_what_old_events_and_readers_bear_breaks_nothing(old, new):
    assert breaks(schema_of(**old), schema_of(**new)) == []


def test_an_object_that_no_longer_takes_other_fields_is_broken():
    told = breaks({"type": "object"}, {"type": "object", "additionalProperties": False})
    assert told == ["payload: other fields were allowed"]
    assert breaks({"type": "object", "additionalProperties": False}, {"type": "object"}) == []


@pytest.fixture
def first(declared):
    """A type as it was first promised, and the promise."""

    class Shipped(Event, type="TEST_SHIPPED", aggregate="parcel", key="parcel_id"):
        parcel_id: str
        weight: int

        example = {"parcel_id": "p1", "weight": 3}

    declared(Shipped)
    return {"TEST_SHIPPED": {"1": schemas.promise(Shipped)}}


def shipped(*, version: int = 1, upcasters: Any = None, example: Any = None, **fields: Any):
    """The same type as somebody declares it later (fields: annotation, or with its default)."""
    annotations = {n: f[0] if isinstance(f, tuple) else f for n, f in fields.items()}
    defaults = {name: field[1] for name, field in fields.items() if isinstance(field, tuple)}
    body = {
        "__annotations__": annotations, **defaults, "__qualname__": "first.<locals>.Shipped",
        "__module__": __name__, "upcasters": upcasters or {}, "example": example or {},
    }  # fmt: skip
    catalog.forget(catalog.event_class_of("TEST_SHIPPED"))
    declaration = {"type": "TEST_SHIPPED", "aggregate": "parcel", "key": "parcel_id"}
    return type(Event)("Shipped", (Event,), body, **declaration, version=version)


EXAMPLE = {"parcel_id": "p1", "weight": 3}


def test_a_broken_promise_is_told_with_the_way_to_mend_it(first):
    (found,) = schemas.findings(first, [shipped(parcel_id=str, mass=(int, 0))])
    assert found.breaking
    assert str(found).startswith(
        "TEST_SHIPPED v1: weight: removed. To fix: declare version=2 with an upcaster from 1"
    )
    assert "event_schemas --write" in found.fix


def test_a_new_optional_field_only_asks_for_the_file_to_be_refreshed(first):
    later = shipped(parcel_id=str, weight=int, note=(str, ""), example=EXAMPLE)
    (found,) = schemas.findings(first, [later])
    assert not found.breaking
    assert found.problem == "changed in a compatible way"
    assert schemas.findings(schemas.renewed(first, [later]), [later]) == []


def test_a_broken_promise_is_not_overwritten(first):
    later = shipped(parcel_id=str, weight=str, example={"parcel_id": "p1", "weight": "3"})
    assert schemas.renewed(first, [later]) == first


def test_a_new_version_is_added_and_the_old_promise_is_kept(first):
    later = shipped(
        version=2, parcel_id=str, mass=int, example={"parcel_id": "p1", "mass": 3},
        upcasters={1: lambda old: {"parcel_id": old["parcel_id"], "mass": old["weight"]}},
    )  # fmt: skip
    (found,) = schemas.findings(first, [later])
    assert found.problem == "not promised yet"
    promises = schemas.renewed(first, [later])
    assert set(promises["TEST_SHIPPED"]) == {"1", "2"}
    assert promises["TEST_SHIPPED"]["1"] == first["TEST_SHIPPED"]["1"]
    assert schemas.findings(promises, [later]) == []


def test_an_upcaster_that_does_not_bring_old_events_up_to_date_is_told(first):
    later = shipped(
        version=2, parcel_id=str, mass=int, example={"parcel_id": "p1", "mass": 3},
        upcasters={1: lambda old: {"parcel_id": old["id"], "mass": old["weight"]}},
    )  # fmt: skip
    found = schemas.findings(first, [later])[0]
    assert found.breaking
    assert (found.version, found.fix) == (1, "mend its upcaster")


def test_a_version_is_never_lowered(first):
    promises = {"TEST_SHIPPED": {**first["TEST_SHIPPED"], "2": first["TEST_SHIPPED"]["1"]}}
    (found,) = schemas.findings(promises, [shipped(parcel_id=str, weight=int, example=EXAMPLE)])
    assert found.problem == "version 2 was already promised"


def test_a_type_that_is_no_longer_declared_is_told(first):
    (found,) = schemas.findings(first, [])
    assert found.breaking
    assert "keep the class" in found.fix


def test_a_promise_that_was_edited_by_hand_is_told(first):
    later = shipped(parcel_id=str, weight=int, note=(str, ""), example=EXAMPLE)
    first["TEST_SHIPPED"]["1"]["schema"] = catalog.bare_schema(later)
    problems = [found.problem for found in schemas.findings(first, [later])]
    assert "the stored schema was edited by hand" in problems


def test_a_field_that_moves_into_the_envelope_breaks_its_readers(first):
    (found,) = [
        each
        for each in schemas.findings(first, [shipped(parcel_id=str, weight=InEnvelope[int])])
        if each.problem.startswith("weight: removed")
    ]
    assert found.breaking


def test_what_travels_in_the_envelope_is_promised_too(first):
    before = shipped(parcel_id=str, carrier=InEnvelope[str])
    promises = schemas.renewed({}, [before])
    told = [each.problem for each in schemas.findings(promises, [shipped(parcel_id=str)])]
    assert told == ["carrier: removed from the envelope"]
    after = shipped(parcel_id=str, carrier=InEnvelope[str], route=InEnvelope[str])
    told = [each.problem for each in schemas.findings(promises, [after])]
    assert told == ["route: now required in the envelope"]


def test_the_command_checks_by_default(capsys):
    call_command("event_schemas")
    assert "event types are as promised" in capsys.readouterr().out


def test_the_command_fails_on_a_broken_promise_and_writes_nothing_over_it(monkeypatch, tmp_path):
    promises = schemas.stored()
    promises["CASE_CREATED"]["1"]["schema"]["properties"]["judge"] = {"type": "string"}
    monkeypatch.setattr(schemas, "FILE", tmp_path / "schemas.json")
    monkeypatch.setattr(handbook, "path", lambda: tmp_path / "events.md")
    schemas.write(promises)
    for option in ("--check", "--write"):
        with pytest.raises(CommandError, match="CASE_CREATED v1: judge: removed"):
            call_command("event_schemas", option)
    assert schemas.stored() == promises


def test_the_command_stores_what_is_new(monkeypatch, tmp_path):
    promises = schemas.stored()
    monkeypatch.setattr(schemas, "FILE", tmp_path / "schemas.json")
    monkeypatch.setattr(handbook, "path", lambda: tmp_path / "events.md")
    schemas.write({name: versions for name, versions in promises.items() if name != "CASH_LOW"})
    with pytest.raises(CommandError, match="CASH_LOW v1: not promised yet"):
        call_command("event_schemas")
    call_command("event_schemas", "--write")
    assert schemas.stored() == promises
    assert "CASH_LOW" in (tmp_path / "events.md").read_text()
