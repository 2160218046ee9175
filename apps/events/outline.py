"""A payload's schema as rows that people can read."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

Schema = dict[str, Any]


class Row(NamedTuple):
    name: str
    """With its path: `diff.tables_added`, `deviations[].activity`, `changes.*.old`."""
    kind: str
    required: bool
    description: str


def outline(schema: Schema) -> list[Row]:
    """One row per field, those of inner objects below their own."""
    return list(_fields(schema, schema.get("$defs", {}), ""))


def _fields(node: Schema, classes: dict[str, Schema], at: str) -> Iterator[Row]:
    for name, field in node.get("properties", {}).items():
        required = name in node.get("required", [])
        yield Row(at + name, kind(field, classes), required, field.get("description", ""))
        yield from _inner(field, classes, at + name)


def _inner(field: Schema, classes: dict[str, Schema], at: str) -> Iterator[Row]:
    for node in _alternatives(field, classes):
        yield from _fields(node, classes, f"{at}.")
        if "items" in node:
            yield from _inner(node["items"], classes, f"{at}[]")
        if isinstance(node.get("additionalProperties"), dict):
            yield from _inner(node["additionalProperties"], classes, f"{at}.*")


def _alternatives(node: Schema, classes: dict[str, Schema]) -> list[Schema]:
    if "$ref" in node:
        return [classes[node["$ref"].rpartition("/")[2]]]
    if "anyOf" in node:
        return [each for inner in node["anyOf"] for each in _alternatives(inner, classes)]
    return [node]


def kind(field: Schema, classes: dict[str, Schema]) -> str:
    """In JSON Schema's own words: `string (uuid) | null`, `array of string, at most 100`."""
    said = (_kind(node, classes) for node in _alternatives(field, classes))
    return " | ".join(dict.fromkeys(said))


def _kind(node: Schema, classes: dict[str, Schema]) -> str:
    if "const" in node or "enum" in node:
        values = node.get("enum", [node.get("const")])
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
    name = str(node.get("type", "any"))
    if "items" in node:
        name = f"array of {kind(node['items'], classes)}"
    if "format" in node:
        name += f" ({node['format']})"
    return name + "".join(_bounds(node))


_SIGNS = {
    "minimum": "≥ ", "exclusiveMinimum": "> ", "maximum": "≤ ", "exclusiveMaximum": "< ",
    "minLength": "length ≥ ", "maxLength": "length ≤ ", "maxItems": "length ≤ ",
    "pattern": "",
}  # fmt: skip


def _bounds(node: Schema) -> Iterator[str]:
    return (f", {sign}{node[bound]}" for bound, sign in _SIGNS.items() if bound in node)
