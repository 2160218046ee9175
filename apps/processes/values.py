"""Results as people write them: names and values, where a number is a number and the rest is text."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from apps.processes.errors import InvalidFacts


def written(value: Any) -> str:
    """A value as it stands in a field, so that `read` gives back the same."""
    plain = isinstance(value, str) and read(value) == value and value.isprintable()
    return value if plain else json.dumps(value, ensure_ascii=False)


def read(text: str) -> Any:
    """What somebody wrote: JSON if it is that, and otherwise text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()


def rows_of(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, written(value)) for name, value in result.items()]


def result_of(names: Sequence[str], texts: Sequence[str]) -> dict[str, Any]:
    """The values by their names; rows without either are none."""
    rows = [(name.strip(), text) for name, text in zip(names, texts, strict=False)]
    rows = [(name, text) for name, text in rows if name or text.strip()]
    known = [name for name, _text in rows]
    if "" in known or len(set(known)) < len(known):
        raise InvalidFacts(_("Every value needs a name of its own."))
    return {name: read(text) for name, text in rows}
