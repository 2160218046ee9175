"""What differs between two payloads, for people to read."""

import difflib
import json
from typing import Any


def difference(before: Any, after: Any) -> str:
    """A unified diff of both as indented JSON; text is taken as it is. Empty when they are equal."""
    lines = difflib.unified_diff(
        _lines(before), _lines(after), fromfile="before", tofile="after", lineterm=""
    )
    return "\n".join(lines)


def _lines(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.splitlines()
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).splitlines()
