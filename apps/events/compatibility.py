"""What a changed schema breaks: for events already written, and for those who read them.

A new optional field, a further value of an enumeration and a looser bound break nothing. All else
that differs does: an old event no longer fits, or a reader finds something it does not know.
"""

import json
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]


def breaks(old: Schema, new: Schema) -> list[str]:
    """One sentence for each thing that the new schema breaks, naming the field."""
    return list(_Comparison(old, new).compare(old, new, ""))


class _Comparison:
    def __init__(self, old: Schema, new: Schema) -> None:
        self._old_classes, self._new_classes = old.get("$defs", {}), new.get("$defs", {})
        self._inside_of: list[tuple[str, str]] = []

    def compare(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        pair = old.get("$ref", ""), new.get("$ref", "")
        if all(pair) and pair in self._inside_of:  # A class that contains itself.
            return
        self._inside_of.append(pair)
        yield from self._compare_kinds(old, new, at)
        self._inside_of.pop()

    def _compare_kinds(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        before, after = self._kinds(old, self._old_classes), self._kinds(new, self._new_classes)
        if set(before) != set(after):
            yield f"{at or 'payload'}: was {_either(before)}, is {_either(after)}"
            return
        for kind in before:
            yield from self._compare_kind(kind, before[kind], after[kind], at)

    def _kinds(self, node: Schema, classes: dict[str, Schema]) -> dict[str, list[Schema]]:
        """The alternatives that a node allows, by kind of value."""
        if "$ref" in node:
            return self._kinds(classes[node["$ref"].rpartition("/")[2]], classes)
        if "anyOf" not in node:
            return {_kind(node): [node]}
        found: dict[str, list[Schema]] = {}
        for alternative in node["anyOf"]:
            for kind, nodes in self._kinds(alternative, classes).items():
                found.setdefault(kind, []).extend(nodes)
        return found

    def _compare_kind(
        self, kind: str, old: list[Schema], new: list[Schema], at: str
    ) -> Iterator[str]:
        if len(old) == len(new) == 1:
            yield from _narrowed_values(old[0], new[0], at)
            yield from _tightened_bounds(old[0], new[0], at)
            yield from self._inside(old[0], new[0], at)
        elif json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True):
            yield f"{at or 'payload'}: the alternatives of kind {kind} changed"

    def _inside(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        yield from self._fields(old, new, at)
        if "items" in old or "items" in new:
            yield from self.compare(old.get("items", {}), new.get("items", {}), f"{at}[]")
        yield from self._other_fields(old, new, at)

    def _fields(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        for name in sorted(set(before) - set(after)):
            yield f"{_below(at, name)}: removed"
        for name in sorted(set(new.get("required", [])) - set(old.get("required", []))):
            yield f"{_below(at, name)}: " + (
                "became required" if name in before else "new, required"
            )
        for name in sorted(set(before) & set(after)):
            yield from self.compare(before[name], after[name], _below(at, name))

    def _other_fields(self, old: Schema, new: Schema, at: str) -> Iterator[str]:
        """Fields beyond the named ones: how a dictionary and a closed class are told."""
        before, after = (node.get("additionalProperties", True) for node in (old, new))
        if isinstance(before, dict) and isinstance(after, dict):
            yield from self.compare(before, after, f"{at}.*")
        elif before is not after and after is not True:
            yield f"{at or 'payload'}: other fields were allowed"


def _kind(node: Schema) -> str:
    kind = str(node.get("type", "anything"))
    return f"{kind} ({node['format']})" if "format" in node else kind


def _either(kinds: dict[str, list[Schema]]) -> str:
    return " or ".join(sorted(kinds))


def _below(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _narrowed_values(old: Schema, new: Schema, at: str) -> Iterator[str]:
    before, after = _values(old), _values(new)
    if after is None:
        return
    if before is None:
        yield f"{at}: only {_listed(after)} allowed from now on"
    elif gone := [value for value in before if value not in after]:
        yield f"{at}: {_listed(gone)} no longer allowed"


def _values(node: Schema) -> list[Any] | None:
    return [node["const"]] if "const" in node else node.get("enum")


def _listed(values: list[Any]) -> str:
    return ", ".join(json.dumps(value, ensure_ascii=False) for value in values)


_AT_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_AT_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_EXACT = ("pattern", "multipleOf", "uniqueItems")


def _tightened_bounds(old: Schema, new: Schema, at: str) -> Iterator[str]:
    for bound in (*_AT_MOST, *_AT_LEAST, *_EXACT):
        if bound in new and _tightened(bound, old.get(bound), new[bound]):
            yield f"{at}: {bound} was {old.get(bound, 'not set')}, is {new[bound]}"


def _tightened(bound: str, old: Any, new: Any) -> bool:
    if old is None or bound in _EXACT:
        return bool(old != new)
    return bool(new < old if bound in _AT_MOST else new > old)
