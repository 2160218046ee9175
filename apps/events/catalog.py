"""What can happen: every event type is declared once, as a frozen class.

    class CaseCreated(Event, type="CASE_CREATED", aggregate="case", key="case_id",
                      label=_("Case opened"), aliases=("case.created",)):
        case_id: UUID
        title: str

        example = {"case_id": "5f0c...", "title": "Hanbit Textile"}

Declaring it is enough: the catalog finds it by importing each app's `events.py`.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, TypeVar

import pydantic
from django.utils.translation import gettext
from pydantic import BaseModel, ConfigDict

from axiom.errors import first_sentence

from .errors import PayloadDoesNotFit, UnknownEventType
from .keys import Stream

Payload = dict[str, Any]
Upcaster = Callable[[Payload], Payload]
T = TypeVar("T")


class _InEnvelope:
    """Marks a field that travels beside the payload, not in it."""


InEnvelope = Annotated[T, _InEnvelope()]
_Text = Any  # a str or a lazy translation


class Event(BaseModel):
    """Something that happened. Ids and the few facts a reader needs, no models inside."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants"
    )

    type: ClassVar[str]
    stream: ClassVar[Stream]
    aggregate: ClassVar[str]
    key: ClassVar[str]
    version: ClassVar[int]
    label: ClassVar[_Text]
    aliases: ClassVar[tuple[str, ...]]
    example: ClassVar[Payload] = {}
    example_beside: ClassVar[Payload] = {}
    """What travels beside the example, for types with fields in the envelope."""
    upcasters: ClassVar[dict[int, Upcaster]] = {}
    """From version n to n + 1, so that what was written long ago can still be read."""
    envelope_fields: ClassVar[frozenset[str]] = frozenset()
    do_not_call_in_templates: ClassVar[bool] = True
    """The catalog's pages show the class itself; Django would make an event of it."""

    def __init_subclass__(cls, **declaration: Any) -> None:
        """Pydantic hands the declaration on below, once the fields are known."""
        super().__init_subclass__()

    @classmethod
    def __pydantic_init_subclass__(
        cls,
        *,
        type: str = "",
        stream: Stream = Stream.EVENTS,
        aggregate: str = "",
        key: str = "",
        version: int = 1,
        label: _Text = "",
        aliases: tuple[str, ...] = (),
        **kwargs: Any,
    ) -> None:
        if not type:  # An abstract base that families share.
            return
        cls.type, cls.stream, cls.aggregate, cls.key = type, stream, aggregate, key
        cls.version, cls.label, cls.aliases = version, label, aliases
        cls.envelope_fields = frozenset(
            name for name, field in cls.model_fields.items()
            if any(isinstance(mark, _InEnvelope) for mark in field.metadata)
        )  # fmt: skip
        _check_declaration(cls)
        _register(cls)

    @property
    def aggregate_id(self) -> str:
        return str(getattr(self, self.key))

    def payload_json(self) -> str:
        return self.model_dump_json(exclude=set(self.envelope_fields) or None)

    def envelope_values(self) -> dict[str, str]:
        values = ((name, getattr(self, name)) for name in sorted(self.envelope_fields))
        return {name: str(value) for name, value in values if value is not None}

    @classmethod
    def happening(cls) -> str:
        """What happened, in one sentence of the reader's language: the class's docstring."""
        return gettext(first_sentence(cls.__doc__))

    @classmethod
    def payload_schema(cls) -> Payload:
        """The JSON Schema of the payload, as readers see it."""
        schema = cls.model_json_schema(mode="serialization")
        for name in cls.envelope_fields:
            schema["properties"].pop(name, None)
        if "required" in schema:
            schema["required"] = [n for n in schema["required"] if n not in cls.envelope_fields]
        return schema


_types: dict[str, type[Event]] = {}
_aliases: dict[str, str] = {}


def _check_declaration(event_class: type[Event]) -> None:
    name = event_class.__name__
    if event_class.key not in event_class.model_fields:
        raise TypeError(f"{name}: key={event_class.key!r} is not one of its fields.")
    missing = set(range(1, event_class.version)) - set(event_class.upcasters)
    if missing:
        raise TypeError(f"{name}: no upcaster from version {min(missing)}.")


def _register(event_class: type[Event]) -> None:
    known = _types.get(event_class.type, event_class)
    if known.__qualname__ != event_class.__qualname__:
        raise TypeError(f"{event_class.type} is declared twice: {known} and {event_class}.")
    for alias in event_class.aliases:
        if alias in _types or _aliases.get(alias, event_class.type) != event_class.type:
            raise TypeError(f"{event_class.__name__}: {alias!r} already names another event.")
    _types[event_class.type] = event_class
    _aliases.update(dict.fromkeys(event_class.aliases, event_class.type))


def forget(event_class: type[Event]) -> None:
    """Take a declaration back (tests declare events of their own)."""
    _types.pop(event_class.type, None)
    for alias in event_class.aliases:
        _aliases.pop(alias, None)


def is_declared(event_class: type[Event]) -> bool:
    """Whether readers can know this type; a base that families share is none."""
    return getattr(event_class, "type", "") in _types


def event_types() -> Iterator[type[Event]]:
    """Every declared event type, by name."""
    return iter(sorted(_types.values(), key=lambda event_class: event_class.type))


def canonical(name: str) -> str:
    """The type's own name, also for an alias; unknown names are refused."""
    return event_class_of(name).type


def event_class_of(name: str) -> type[Event]:
    try:
        return _types[_aliases.get(name, name)]
    except KeyError:
        raise UnknownEventType(f"No event type is called {name!r}.") from None


def build(name: str, payload: Payload, *, version: int | None = None, **beside: Any) -> Event:
    """The typed event of a raw payload; an older version is brought up to date first."""
    event_class = event_class_of(name)
    payload = _upcast(event_class, payload, version or event_class.version)
    beside = {k: v for k, v in beside.items() if k in event_class.envelope_fields}
    try:
        return event_class.model_validate({**payload, **beside})
    except pydantic.ValidationError as error:
        raise PayloadDoesNotFit(_reasons(event_class, error), errors=_faults(error)) from error


def current_payload(name: str, payload: Payload, *, version: int) -> Payload:
    """A stored payload in the shape of the current version; whether it fits is not looked at."""
    return _upcast(event_class_of(name), payload, version)


def _upcast(event_class: type[Event], payload: Payload, version: int) -> Payload:
    if version > event_class.version:
        raise PayloadDoesNotFit(
            f"{event_class.type} version {version} is newer than the known {event_class.version}."
        )
    for step in range(version, event_class.version):
        payload = event_class.upcasters[step](payload)
    return payload


def _reasons(event_class: type[Event], error: pydantic.ValidationError) -> str:
    reasons = (
        f"{'.'.join(str(part) for part in e['loc']) or 'payload'}: {e['msg']}"
        for e in error.errors()
    )
    return f"{event_class.type}: {'; '.join(reasons)}."


def _faults(error: pydantic.ValidationError) -> list[dict[str, str]]:
    """What is wrong with each value, and where it is, as the API tells it."""
    return [
        {"pointer": "/".join(["#/payload", *map(str, e["loc"])]), "code": e["type"],
         "detail": e["msg"]}
        for e in error.errors()
    ]  # fmt: skip


def bare_schema(event_class: type[Event]) -> Payload:
    """The payload's schema without titles and descriptions: what programs depend on."""
    return dict(_without_prose(event_class.payload_schema()))


def fingerprint(event_class: type[Event]) -> str:
    """Changes when the payload's schema changes; descriptions and titles do not count."""
    return fingerprint_of(bare_schema(event_class))


def fingerprint_of(schema: Payload) -> str:
    return hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()


def _without_prose(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_prose(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        # Below these, keys are names of fields and classes, and a field may be called "title".
        key: {name: _without_prose(inner) for name, inner in value.items()}
        if key in _BY_NAME
        else _without_prose(value)
        for key, value in node.items()
        if key not in _PROSE
    }


_PROSE = {"title", "description", "examples"}
_BY_NAME = {"properties", "$defs"}
