"""Diagrams that came without a layout: everything has its place, and no line crosses a task."""

from itertools import pairwise

import pytest
from lxml import etree

from apps.processes import demo
from apps.processes.bpmn.drawing import DI, WAY, with_layout
from tests.processes import diagrams
from tests.processes.diagrams import END, START, diagram, flow, user

SKIPS_TWO = diagram(
    START
    + '<exclusiveGateway id="large" default="none"/>'
    + "".join(user(name) for name in ("one", "two", "three"))
    + END
    + flow("start", "large", "one", "two", "end")
    + flow("large", "three", condition="amount &gt;= 1000")
    + flow("three", "end")
    + flow("large", "end", name="none")
)
LOOPS = diagram(
    START
    + user("check")
    + '<exclusiveGateway id="again" default="done"/>'
    + END
    + flow("start", "check", "again")
    + flow("again", "check", condition="again")
    + flow("again", "end", name="done")
)
DRAWN = {
    "korean demo": (demo.EXAMPLES / "claim_review_hanbit.bpmn").read_text(),
    "english demo": (demo.EXAMPLES / "claim_review_harbor.bpmn").read_text(),
    "a decision": diagrams.decision(),
    "two branches": diagrams.both(),
    "a long way round": SKIPS_TWO,
    "a loop": LOOPS,
}


def boxes_of(root):
    return {
        shape.get("bpmnElement"): [
            float(shape[0].get(name)) for name in ("x", "y", "width", "height")
        ]
        for shape in root.iter(f"{{{DI}}}BPMNShape")
    }


def lines_of(root):
    for edge in root.iter(f"{{{DI}}}BPMNEdge"):
        points = [(float(p.get("x")), float(p.get("y"))) for p in edge.iter(f"{{{WAY}}}waypoint")]
        yield edge.get("bpmnElement"), pairwise(points)


def crosses(line, box):
    """Whether a line, which is level or upright, goes through the inside of a box."""
    (x1, y1), (x2, y2) = line
    x, y, width, height = box
    beside = max(x1, x2) <= x or min(x1, x2) >= x + width
    return not (beside or max(y1, y2) <= y or min(y1, y2) >= y + height)


@pytest.mark.parametrize("text", DRAWN.values(), ids=DRAWN)
def test_no_line_goes_through_a_task(text):
    root = etree.fromstring(with_layout(text).encode())
    boxes = boxes_of(root)
    assert boxes
    for name, lines in lines_of(root):
        for line in lines:
            hit = [other for other, box in boxes.items() if crosses(line, box)]
            assert hit == [], f"{name} goes through {hit}"


def test_a_layout_that_is_there_stays():
    drawn = with_layout(diagrams.both())
    assert with_layout(drawn) == drawn
