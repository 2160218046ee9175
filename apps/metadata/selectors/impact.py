"""Who is affected when a table or a column changes: the apps above say so themselves.

An app that depends on the catalog registers a function, in a module that its AppConfig imports
in `ready()`:

    from apps.metadata.selectors import impact

    @impact.affects("cube", label=_("cubes"), page="vision_cube")
    def cubes_on(datasource: str, targets: Sequence[Target]) -> Iterable[Affected]:
        ...

It is called once for all targets, acting for the tenant, and looks only at its own tables. A
target without a column means the whole table: whatever uses any column of it is affected.
`page` is the admin where such a thing is shown.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Target = tuple[str, str, str | None]
"""Schema, table, and a column of it or None."""


@dataclass(frozen=True, slots=True)
class Affected:
    """Something that depends on a target: `how` is a sentence for people."""

    kind: str
    id: str
    name: str
    how: str
    target: Target | None = None


Finder = Callable[[str, Sequence[Target]], Iterable[Affected]]

_finders: dict[str, Finder] = {}
_shown: dict[str, tuple[Any, str]] = {}


def affects(kind: str, *, label: Any = "", page: str = "") -> Callable[[Finder], Finder]:
    """Register who finds the things of this kind (`query`, `binding`, `cube` ...)."""

    def register(finder: Finder) -> Finder:
        _finders[kind], _shown[kind] = finder, (label or kind, page)
        return finder

    return register


def shown(kind: str) -> tuple[Any, str]:
    """What things of this kind are called, and their admin."""
    return _shown.get(kind, (kind, ""))


def affected_by(
    datasource: str, targets: Iterable[Target], kinds: Iterable[str] | None = None
) -> list[Affected]:
    """Everything that depends on these tables and columns of a data source."""
    wanted, chosen = list(targets), list(_finders if kinds is None else kinds)
    if not wanted:
        return []
    finders = [_finders[kind] for kind in chosen if kind in _finders]
    return [each for finder in finders for each in finder(datasource, wanted)]


def queries_on(datasource: str, tables: Iterable[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """How many stored queries use each of these tables."""
    found = affected_by(datasource, ((schema, table, None) for schema, table in tables), ["query"])
    return Counter(each.target[:2] for each in found if each.target)
