"""Values that people and machines hand in: plain JSON, and not too much of it."""

import json
from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from apps.processes.errors import InvalidFacts

LARGEST = 64 * 1024
DEEPEST = 20
LARGEST_NUMBER = 10**18


def checked(value: Any) -> Any:
    """The value, when a database and an event can carry it."""
    room = LARGEST
    for weight in _weights(value, 0):
        room -= weight
        if room < 0:
            raise InvalidFacts
    return value


def size_of(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", errors="replace"))


def _weights(value: Any, depth: int) -> Iterator[int]:
    """About how many bytes each part has, one by one, so that counting can stop."""
    if depth > DEEPEST:
        raise InvalidFacts
    if isinstance(value, dict):
        for name, inner in value.items():
            yield _text(name) + 2
            yield from _weights(inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield 1
            yield from _weights(inner, depth + 1)
    else:
        yield _text(value) if isinstance(value, str) else _other(value)


def _text(text: str) -> int:
    if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidFacts(_("A text has a character that cannot be stored."))
    return len(text.encode()) + 2


def _other(value: Any) -> int:
    if value is None or isinstance(value, bool):
        return 4
    if isinstance(value, int | float) and abs(value) <= LARGEST_NUMBER:
        return 8
    raise InvalidFacts(_("A number is too large, or a value is not JSON."))
