"""Changes and runs in words for people, in their language."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.metadata.errors import SourceFailed
from apps.metadata.models import CatalogChange, ExtractionRun
from apps.metadata.services.extract import SCHEMAS_NOT_SEEN
from apps.metadata.services.store import plain

KINDS = dict(CatalogChange.Kind.choices)
LONGEST = 300
NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Told:
    """One change as a line of a table."""

    kind: str
    what: Any
    schema: str
    table: str
    name: str
    before: str
    after: str
    breaking: bool
    reason: str

    @property
    def label(self) -> str:
        return ".".join(part for part in (self.schema, self.table) if part)


def tell(change: Any) -> Told:
    """A change of any source: as it was found, as it is kept, or as it waits with a run."""
    given = change if isinstance(change, dict) else _facts(change)
    kind = given["kind"]
    return Told(
        kind, KINDS.get(kind, kind), given["schema"], given["table"], given["name"],
        value(kind, given["before"]), value(kind, given["after"]), given["breaking"],
        _(given["reason"]) if given["reason"] else "",
    )  # fmt: skip


_FACTS = ("kind", "schema", "table", "name", "before", "after", "breaking", "reason")


def _facts(change: Any) -> dict[str, Any]:
    return {name: plain(getattr(change, name)) for name in _FACTS}


def value(kind: str, given: Any) -> str:
    """One side of a change: a type, a key, yes or no, whatever it is of."""
    if given is None or given in ("", [], {}):
        return NOTHING
    if isinstance(given, bool):
        return _("yes") if given else _("no")
    if isinstance(given, dict):
        return _part(kind, given)
    if isinstance(given, list | tuple):
        return (".", ", ")[kind != "table_renamed"].join(map(str, given))
    return str(given)[:LONGEST]


def _part(kind: str, given: dict[str, Any]) -> str:
    if kind.startswith("table_"):
        count = ngettext("%(count)d column", "%(count)d columns", given["columns"])
        return f"{given['kind']}, {count % {'count': given['columns']}}"
    if kind.startswith("column_"):
        return given["dtype"] + ("" if given["nullable"] else " NOT NULL")
    if kind.startswith("foreign_key_"):
        referred = f"{given['schema']}.{given['table']} ({', '.join(given['referred'])})"
        return f"{', '.join(given['columns'])} → {referred}"
    if kind.startswith("index_"):
        unique = "UNIQUE " if given["unique"] else ""
        where = f" WHERE {given['where']}" if given["where"] else ""
        return f"{unique}{given['name']} ({', '.join(given['columns'])}){where}"
    return ", ".join(f"{name}: {value(kind, each)}" for name, each in given.items())[:LONGEST]


def why_held(run: ExtractionRun) -> str:
    """The reason, and the schemas it speaks of."""
    if run.held_because.startswith(SCHEMAS_NOT_SEEN):
        return _(SCHEMAS_NOT_SEEN) + run.held_because.removeprefix(SCHEMAS_NOT_SEEN)
    return _(run.held_because) if run.held_because else ""


def what_went_wrong(run: ExtractionRun) -> str:
    """The sentence, and what the database said itself."""
    for kind in SourceFailed.__subclasses__():
        sentence = str(kind.sentence())
        if kind.code == run.error_code and run.error.startswith(sentence):
            return _(sentence) + run.error.removeprefix(sentence)
    return _(run.error) if run.error else ""
