"""Gives a diagram that was written without a layout a plain one: from left to right."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lxml import etree

from apps.processes.bpmn.checking import GATEWAYS, MODEL, NODES
from apps.processes.bpmn.reading import read

DI = "http://www.omg.org/spec/BPMN/20100524/DI"
DC = "http://www.omg.org/spec/DD/20100524/DC"
WAY = "http://www.omg.org/spec/DD/20100524/DI"
GAP, ROOM = 60, 40


@dataclass
class Box:
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    @property
    def centre(self) -> float:
        return self.x + self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width

    def stands_between(self, source: "Box", target: "Box") -> bool:
        """Whether a line from one to the other would cross it."""
        beside = self.right <= source.right or self.x >= target.x
        return not beside and self.y <= source.middle <= self.y + self.height


def with_layout(text: str) -> str:
    """The text, with a layout when it has none."""
    root = read(text)
    if root.find(f".//{{{DI}}}BPMNShape") is not None:
        return text
    diagram = etree.SubElement(root, f"{{{DI}}}BPMNDiagram", id="drawn", nsmap={"bpmndi": DI})
    process = root.find(f"{{{MODEL}}}process")
    plane = etree.SubElement(
        diagram, f"{{{DI}}}BPMNPlane", id="drawn_plane", bpmnElement=process.get("id")
    )
    _draw(process, plane, 0, 0)
    return str(etree.tostring(root, encoding="unicode"))


def _draw(holder: Any, plane: Any, left: float, top: float) -> Box:
    """Draw what a process or sub-process holds; returns the space it takes."""
    nodes = {each.get("id"): each for each in holder if _kind(each) in NODES}
    flows = [each for each in holder if _kind(each) == "sequenceFlow"]
    boxes: dict[str, Box] = {}
    x, right, bottom = left + ROOM, left + ROOM, top + ROOM
    for column in _columns(nodes, flows):
        y = top + ROOM
        for name in column:
            boxes[name] = _place(nodes[name], plane, x, y)
            y, right = y + boxes[name].height + ROOM, max(right, x + boxes[name].width)
        x, bottom = right + GAP, max(bottom, y)
    _attach(nodes, boxes, plane)
    for flow in flows:
        _join(flow, boxes, plane)
    return Box(left, top, right + ROOM - left, bottom - top)


def _columns(nodes: dict[str, Any], flows: list[Any]) -> list[list[str]]:
    """Each node one column after the first that leads to it; what is attached is not here."""
    attached = {name: each.get("attachedToRef") for name, each in nodes.items()}
    next_to: dict[str, list[str]] = {name: [] for name in nodes}
    for flow in flows:
        next_to[flow.get("sourceRef")].append(flow.get("targetRef"))
    for name, holder in attached.items():
        if holder:
            next_to[holder] += next_to[name]
    starts = [name for name, each in nodes.items() if _kind(each) == "startEvent"]
    order = _order(starts, next_to)
    rank = dict.fromkeys(order, 0)
    for place, name in enumerate(order):
        for after in next_to[name]:
            # What leads back, to somewhere before it, moves nothing.
            if order.index(after) > place:
                rank[after] = max(rank[after], rank[name] + 1)
    columns: list[list[str]] = [[] for _ in range(max(rank.values(), default=0) + 1)]
    for name in order:
        columns[rank[name]].append(name)
    return columns


def _order(starts: list[str], next_to: dict[str, list[str]]) -> list[str]:
    """All that is reached, each before what follows it; a loop is cut where it closes."""
    done: list[str] = []
    seen = set(starts)
    path = [(name, iter(next_to[name][::-1])) for name in starts]
    while path:
        following = path[-1][1]
        after = next((each for each in following if each not in seen), None)
        if after is None:
            done.append(path.pop()[0])
        else:
            seen.add(after)
            path.append((after, iter(next_to[after][::-1])))
    return done[::-1]


def _place(node: Any, plane: Any, x: float, y: float) -> Box:
    kind = _kind(node)
    if kind == "subProcess":
        shape = _shape(node, plane, isExpanded="true")
        box = _draw(node, plane, x, y)
    else:
        width, height = _size(kind or "")
        shape, box = _shape(node, plane), Box(x, y + (80 - height) / 2, width, height)
    _bounds(shape, box)
    return box


def _size(kind: str) -> tuple[int, int]:
    if kind in GATEWAYS:
        return 50, 50
    return (36, 36) if kind.endswith("Event") else (120, 80)


def _attach(nodes: dict[str, Any], boxes: dict[str, Box], plane: Any) -> None:
    for name, node in nodes.items():
        holder = boxes.get(node.get("attachedToRef") or "")
        if holder is not None:
            corner = holder.x + holder.width - 36
            boxes[name] = Box(corner, holder.y + holder.height - 18, 36, 36)
            _bounds(_shape(node, plane), boxes[name])


def _shape(node: Any, plane: Any, **how: str) -> Any:
    name = node.get("id")
    return etree.SubElement(
        plane, f"{{{DI}}}BPMNShape", id=f"drawn_{name}", bpmnElement=name, **how
    )


def _bounds(shape: Any, box: Box) -> None:
    values = {name: str(value) for name, value in vars(box).items()}
    etree.SubElement(shape, f"{{{DC}}}Bounds", nsmap={"dc": DC}, **values)


def _join(flow: Any, boxes: dict[str, Box], plane: Any) -> None:
    name, source, target = (
        flow.get("id"),
        boxes[flow.get("sourceRef")],
        boxes[flow.get("targetRef")],
    )
    edge = etree.SubElement(plane, f"{{{DI}}}BPMNEdge", id=f"drawn_{name}", bpmnElement=name)
    for x, y in _points(source, target, list(boxes.values())):
        etree.SubElement(edge, f"{{{WAY}}}waypoint", nsmap={"di": WAY}, x=str(x), y=str(y))


def _points(source: Box, target: Box, boxes: list[Box]) -> Iterator[tuple[float, float]]:
    """To the right with two corners, above what stands in between, or back below both."""
    if target.x > source.right:
        between = [box for box in boxes if box.stands_between(source, target)]
        yield from _above(source, target, between) if between else _right(source, target)
        return
    below = max(source.y + source.height, target.y + target.height) + ROOM / 2
    yield source.x + source.width / 2, source.y + source.height
    yield source.x + source.width / 2, below
    yield target.x + target.width / 2, below
    yield target.x + target.width / 2, target.y + target.height


def _right(source: Box, target: Box) -> Iterator[tuple[float, float]]:
    bend = target.x - GAP / 2
    yield source.right, source.middle
    yield bend, source.middle
    yield bend, target.middle
    yield target.x, target.middle


def _above(source: Box, target: Box, between: list[Box]) -> Iterator[tuple[float, float]]:
    """Between this row and the one above it, where nothing stands."""
    above = min(box.y for box in [source, target, *between]) - ROOM / 2
    yield source.centre, source.y
    yield source.centre, above
    yield target.centre, above
    yield target.centre, target.y


def _kind(element: Any) -> str | None:
    tag = element.tag if isinstance(element.tag, str) else ""
    return tag.removeprefix(f"{{{MODEL}}}") if tag.startswith(f"{{{MODEL}}}") else None
