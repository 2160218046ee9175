"""The page about every event type, docs/events.md, written from the declarations."""

from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.utils import translation

from .catalog import Event
from .keys import Stream
from .outline import Row, outline

_INTRODUCTION = """\
# Events

Every type that is declared, by stream. `manage.py event_schemas --docs` writes this page; a test
fails when it is out of date. Fields with a `?` may be missing in older events. Who did it, when and
for which tenant is in the envelope. The API tells the same, with schemas and examples:
`/api/v1/event-types/`.

What may change without a new version: a field that older events may lack, a further value of an
enumeration, a looser bound. For anything else, raise `version` in the declaration, add an upcaster,
and run `manage.py event_schemas --write`; `apps/events/schemas.json` keeps every version.
"""


def path() -> Path:
    return Path(settings.BASE_DIR) / "docs" / "events.md"


def page(kinds: Iterable[type[Event]]) -> str:
    """The whole page, in English whatever the language of the moment."""
    kinds = list(kinds)
    with translation.override("en"):
        parts = [_stream(stream, [k for k in kinds if k.stream is stream]) for stream in Stream]
    return "\n".join([_INTRODUCTION, *parts])


def _stream(stream: str, kinds: Iterable[type[Event]]) -> str:
    head = ["| Type | What happened | Payload |", "|---|---|---|"]
    return "\n".join([f"## {stream}\n", *head, *(_line(kind) for kind in kinds)]) + "\n"


def _line(kind: type[Event]) -> str:
    names = [f"`{kind.type}` v{kind.version}", *(f"`{alias}`" for alias in kind.aliases)]
    return f"| {'<br>'.join(names)} | {kind.happening()} | {_payload(kind)} |"


def _payload(kind: type[Event]) -> str:
    rows = [row for row in outline(kind.payload_schema()) if _outermost(row)]
    beside = "".join(f"; envelope: `{name}`" for name in sorted(kind.envelope_fields))
    return f"*{kind.aggregate}*: " + ", ".join(f"`{_named(row)}`" for row in rows) + beside


def _outermost(row: Row) -> bool:
    return "." not in row.name and "[]" not in row.name


def _named(row: Row) -> str:
    return row.name if row.required else f"{row.name}?"
