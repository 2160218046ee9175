"""Reads Mondrian 3 schemas (XML). What cannot be kept is refused with its path and the reason."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]
from django.utils.translation import gettext as _
from pydantic import ValidationError

from apps.vision.definition import Definition, Dimension, Join, Level, Measure, Source
from apps.vision.errors import SchemaRefused

LARGEST = 1_000_000
DEEPEST = 10
_COLUMNS_OF_LEVEL = ("nameColumn", "ordinalColumn", "parentColumn", "captionColumn")
# These name no table and no column.
_HARMLESS = {
    "Annotations", "CalculatedMember", "NamedSet", "Role", "Parameter", "UserDefinedFunction",
    "MemberFormatter", "CellFormatter",
}  # fmt: skip
_INSIDE = {
    "Schema": {"Cube", "Dimension"},
    "Cube": {"Table", "Dimension", "DimensionUsage", "Measure"},
    "Dimension": {"Hierarchy"},
    "Hierarchy": {"Table", "Join", "Level"},
    "Level": {"Property"},
    "Join": {"Table", "Join"},
    "Table": set[str](),
    "Measure": set[str](),
    "DimensionUsage": set[str](),
    "Property": set[str](),
}


@dataclass(frozen=True)
class Imported:
    """A cube of a schema."""

    name: str
    caption: str
    description: str
    definition: Definition


@dataclass(frozen=True)
class Node:
    """An element that knows where it is."""

    element: Element
    path: str

    def refuse(self, reason: str) -> SchemaRefused:
        return SchemaRefused(f"{self.path}: {reason}", path=self.path, reason=reason)

    def children(self, *tags: str) -> Iterator["Node"]:
        for child in self.element:
            if child.tag in tags:
                yield Node(child, self.path + "/" + _label(child))

    def get(self, name: str) -> str:
        return self.element.get(name, "").strip()

    def need(self, name: str) -> str:
        if not (value := self.get(name)):
            raise self.refuse(_("The attribute %(name)s is missing.") % {"name": name})
        return value

    def only(self, *tags: str) -> "Node":
        found = list(self.children(*tags))
        if len(found) != 1:
            wanted = {"tags": " / ".join(tags), "count": len(found)}
            raise self.refuse(_("One %(tags)s is needed, %(count)d found.") % wanted)
        return found[0]


def read(xml: str, *, default_schema: str) -> list[Imported]:
    """The cubes of a Mondrian schema."""
    root = _parsed(xml)
    _refuse_the_unknown(root)
    reader = _Reader(
        default_schema, {each.need("name"): each for each in root.children("Dimension")}
    )
    cubes = [reader.cube(node) for node in root.children("Cube")]
    if not cubes:
        raise root.refuse(_("There is no cube in it."))
    return cubes


def _parsed(xml: str) -> Node:
    if len(xml) > LARGEST:
        raise SchemaRefused(_("It is larger than a million characters."))
    try:
        root = fromstring(xml, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise SchemaRefused(_("It is not XML that can be read: %s") % error) from None
    node = Node(root, "/" + _label(root))
    if root.tag != "Schema":
        raise node.refuse(_("A Mondrian schema begins with Schema."))
    return node


def _label(element: Element) -> str:
    name = element.get("name")
    return f"{element.tag}[{name}]" if name else str(element.tag)


def _refuse_the_unknown(node: Node, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise node.refuse(_("It is nested too deeply."))
    for child in node.element:
        if child.tag in _HARMLESS:
            continue
        inner = Node(child, node.path + "/" + _label(child))
        if child.tag not in _INSIDE[str(node.element.tag)]:
            raise inner.refuse(_("%(tag)s is not supported here.") % {"tag": child.tag})
        _refuse_the_unknown(inner, depth + 1)


Tables = dict[str, Source]


@dataclass(frozen=True)
class _Reader:
    default_schema: str
    shared: dict[str, Node]

    def cube(self, node: Node) -> Imported:
        fact = self._source(node.only("Table"))
        definition = _built(
            node, Definition, fact=fact, dimensions=tuple(self._dimensions(node)),
            measures=tuple(_measure(each) for each in node.children("Measure")),
        )  # fmt: skip
        return Imported(node.need("name"), node.get("caption"), node.get("description"), definition)

    def _source(self, table: Node) -> Source:
        schema = table.get("schema") or self.default_schema
        return _built(table, Source, schema_name=schema, table_name=table.need("name"))

    def _dimensions(self, cube: Node) -> Iterator[Dimension]:
        for each in cube.children("Dimension", "DimensionUsage"):
            body = each if each.element.tag == "Dimension" else self._shared(each)
            for hierarchy in body.children("Hierarchy"):
                yield self._dimension(each, hierarchy)

    def _shared(self, usage: Node) -> Node:
        source = usage.need("source")
        if source not in self.shared:
            told = {"name": source}
            raise usage.refuse(_("There is no shared dimension called %(name)s.") % told)
        return self.shared[source]

    def _dimension(self, usage: Node, hierarchy: Node) -> Dimension:
        tables, joins = self._relation(hierarchy)
        first = next(iter(tables.values()), None)
        if first is not None and not usage.get("foreignKey"):
            raise usage.refuse(_("The attribute %(name)s is missing.") % {"name": "foreignKey"})
        key = hierarchy.need("primaryKey") if first else hierarchy.get("primaryKey")
        own = _table_of(hierarchy, hierarchy.get("primaryKeyTable"), tables) or first
        name = " ".join(filter(None, (usage.need("name"), hierarchy.get("name"))))
        return _built(
            usage, Dimension, name=name, source=own, foreign_key=usage.get("foreignKey"),
            primary_key=key, joins=tuple(joins),
            levels=tuple(_level(each, tables) for each in hierarchy.children("Level")),
        )  # fmt: skip

    def _relation(self, hierarchy: Node) -> tuple[Tables, list[Join]]:
        found = list(hierarchy.children("Table", "Join"))
        if len(found) > 1:
            raise hierarchy.refuse(_("More than one table: join them."))
        return self._joined(found[0]) if found else ({}, [])

    def _joined(self, node: Node) -> tuple[Tables, list[Join]]:
        if node.element.tag == "Table":
            return {node.get("alias") or node.need("name"): self._source(node)}, []
        sides = list(node.children("Table", "Join"))
        if len(sides) != 2:
            raise node.refuse(_("A join has two sides."))
        (left, left_joins), (right, right_joins) = (self._joined(side) for side in sides)
        join = _built(
            node, Join, left=_side(node, "leftAlias", left), left_key=node.need("leftKey"),
            right=_side(node, "rightAlias", right), right_key=node.need("rightKey"),
        )  # fmt: skip
        return {**left, **right}, [*left_joins, *right_joins, join]


def _side(join: Node, attribute: str, tables: Tables) -> Source:
    return _table_of(join, join.get(attribute), tables) or next(iter(tables.values()))


def _table_of(node: Node, alias: str, tables: Tables) -> Source | None:
    if alias and alias not in tables:
        raise node.refuse(_("There is no table called %(name)s here.") % {"name": alias})
    return tables.get(alias)


def _level(node: Node, tables: Tables) -> Level:
    more = [node.get(name) for name in _COLUMNS_OF_LEVEL]
    more += [each.need("column") for each in node.children("Property")]
    return _built(
        node, Level, name=node.need("name"), column=node.need("column"),
        more_columns=tuple(filter(None, more)), source=_table_of(node, node.get("table"), tables),
    )  # fmt: skip


def _measure(node: Node) -> Measure:
    aggregator = node.get("aggregator").replace("distinct count", "distinct-count")
    column = node.get("column") if aggregator == "count" else node.need("column")
    return _built(
        node, Measure, name=node.need("name"), column=column, aggregator=aggregator or "sum"
    )


def _built(node: Node, kind: Callable[..., Any], **parts: Any) -> Any:
    """The part, or a refusal with the path of the element it was made from."""
    try:
        return kind(**parts)
    except ValidationError as error:
        raise node.refuse(error.errors(include_url=False)[0]["msg"]) from None
