"""Holds a diagram against what can be run here, and tells everything that is wrong with it."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from django.utils.translation import gettext as _

from apps.processes.bpmn import expressions, moments
from apps.processes.bpmn.reading import read
from apps.processes.errors import InvalidBpmn, InvalidExpression
from axiom.roles import Role

MODEL = "http://www.omg.org/spec/BPMN/20100524/MODEL"
OURS = "urn:axiom:bpmn"
"""The namespace of our own attributes: role, assignee, agent, service, due, confidence, approval."""

MOST_NODES = 200
MOST_AHEAD = 2_000
"""SpiffWorkflow looks ahead along every path; parallel branches in a row double their number."""
MOST_FAULTS = 20

TASKS = {"task", "userTask", "manualTask", "serviceTask", "scriptTask"}
WORK = {"userTask", "manualTask", "serviceTask"}
HOLDERS = {"subProcess", "callActivity"}
ACTIVITIES = TASKS | HOLDERS
GATEWAYS = {"exclusiveGateway", "parallelGateway"}
EVENTS = {"startEvent", "endEvent", "intermediateCatchEvent", "boundaryEvent"}
NODES = ACTIVITIES | GATEWAYS | EVENTS
_AROUND = {
    "definitions", "process", "sequenceFlow", "collaboration", "participant", "laneSet", "lane",
    "childLaneSet", "flowNodeRef", "documentation", "incoming", "outgoing", "conditionExpression",
    "script", "timerEventDefinition", "timeDuration", "timeDate", "terminateEventDefinition",
    "textAnnotation", "text", "association", "group", "category", "categoryValue",
}  # fmt: skip
KNOWN = NODES | _AROUND
_EVENT_KINDS = {
    "startEvent": set(),
    "endEvent": {"terminateEventDefinition"},
    "intermediateCatchEvent": {"timerEventDefinition"},
    "boundaryEvent": {"timerEventDefinition"},
}
_ACCEPTABLE_ID = re.compile(r"[A-Za-z_][\w.-]{0,99}", re.ASCII)
_ACCEPTABLE_NAME = re.compile(r"[\w.:@+-]{1,100}")
INITIATOR = "initiator"


@dataclass(frozen=True)
class Activity:
    """A task of the diagram, and who does it."""

    id: str
    name: str
    performer: str
    assignee: str = ""
    role: str = ""
    agent: str = ""
    service: str = ""
    due: str = ""
    confidence: float | None = None
    approval: str = ""
    approver: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Blueprint:
    """A diagram that can be run."""

    key: str
    name: str
    activities: dict[str, Activity]
    tree: Any = field(repr=False)


@dataclass
class Fault:
    element: str
    code: str
    reason: str

    def as_json(self) -> dict[str, str]:
        where = f"{self.element}: " if self.element else ""
        return {"pointer": "#/bpmn", "code": self.code, "detail": where + self.reason}


def blueprint_of(text: str) -> Blueprint:
    """What a BPMN text describes; refused with every reason when it cannot be run."""
    root = read(text)
    if root.tag != f"{{{MODEL}}}definitions":
        raise _refusal([Fault("", "wrong_namespace", _wrong_root(root))])
    faults = list(_faults(root))
    if faults:
        raise _refusal(faults[:MOST_FAULTS])
    process = _main_process(root)
    name = process.get("name") or process.get("id")
    activities = {each.get("id"): _activity(each) for each in _all(process, WORK)}
    for called in _processes(root):
        activities |= {each.get("id"): _activity(each) for each in _all(called, WORK)}
    return Blueprint(process.get("id"), name[:200], activities, root)


def _refusal(faults: list[Fault]) -> InvalidBpmn:
    told = [fault.as_json() for fault in faults]
    return InvalidBpmn(told[0]["detail"], errors=told)


def _wrong_root(root: Any) -> str:
    return _("The outermost element must be `definitions` of %(namespace)s, not %(tag)s.") % {
        "namespace": MODEL, "tag": str(root.tag)[:200],
    }  # fmt: skip


def _faults(root: Any) -> Iterator[Fault]:
    yield from (unknown := list(_unknown_elements(root)))
    yield from (names := list(_wrong_ids(root)))
    if unknown or names:
        return  # What follows would only repeat it in other words.
    yield from _wrong_processes(root)
    for process in _processes(root):
        for scope in [process, *_all(process, {"subProcess"})]:
            yield from _Scope(scope, root).faults()


def _unknown_elements(root: Any) -> Iterator[Fault]:
    for element in root.iter():
        kind = _kind(element)
        if kind is None or _is_extension(element):
            continue
        if kind.endswith("LoopCharacteristics"):
            yield _fault(element.getparent(), "unsupported", _("repeated tasks are not supported"))
        elif kind not in KNOWN and kind != "extensionElements":
            yield _fault(element, "unsupported", _("%(kind)s is not supported") % {"kind": kind})


def _is_extension(element: Any) -> bool:
    return any(_kind(above) == "extensionElements" for above in element.iterancestors())


def _wrong_ids(root: Any) -> Iterator[Fault]:
    named = [each for each in root.iter() if _kind(each) in NODES | {"process", "sequenceFlow"}]
    for element in named:
        if not _ACCEPTABLE_ID.fullmatch(element.get("id") or ""):
            yield _fault(element, "wrong_id", _("an id has 1 to 100 letters, digits, _ . -"))
    for name, count in Counter(each.get("id") for each in named).items():
        if count > 1:
            yield Fault(name or "", "wrong_id", _("this id is there more than once"))
    if sum(_kind(each) in NODES for each in named) > MOST_NODES:
        words = _("a diagram has at most %(n)d tasks, gateways and events") % {"n": MOST_NODES}
        yield Fault("", "too_many_nodes", words)


def _wrong_processes(root: Any) -> Iterator[Fault]:
    processes, called = _processes(root), _called(root)
    ids = {each.get("id") for each in processes}
    mains = ids - called
    if len(mains) != 1:
        words = _("there must be one process that no other calls; here are %(n)d")
        yield Fault("", "one_process", words % {"n": len(mains)})
    for name in sorted(called - ids):
        yield Fault(name, "unknown_process", _("this process is called and is not in the diagram"))
    if _calls_in_circles(root):
        yield Fault("", "endless_calls", _("processes call one another in a circle"))


def _processes(root: Any) -> list[Any]:
    """Those that can run; a pool that only shows a partner is none of them."""
    found = root.findall(f"{{{MODEL}}}process")
    return [each for each in found if each.get("isExecutable", "true") == "true"]


def _called(root: Any) -> set[str]:
    return {each.get("calledElement") or "" for each in _all(root, {"callActivity"})}


def _calls_in_circles(root: Any) -> bool:
    calls = {
        each.get("id"): {inner.get("calledElement") for inner in _all(each, {"callActivity"})}
        for each in _processes(root)
    }
    while calls:
        leaves = {name for name, called in calls.items() if not called & set(calls)}
        if not leaves:
            return True
        calls = {name: called for name, called in calls.items() if name not in leaves}
    return False


def _main_process(root: Any) -> Any:
    (found,) = [each for each in _processes(root) if each.get("id") not in _called(root)]
    return found


class _Scope:
    """A process or a sub-process: its own nodes and the flows between them."""

    def __init__(self, holder: Any, root: Any) -> None:
        self.holder = holder
        self.nodes = {each.get("id"): each for each in holder if _kind(each) in NODES}
        self.flows = [each for each in holder if _kind(each) == "sequenceFlow"]
        self.next: dict[str, list[str]] = {name: [] for name in self.nodes}

    def faults(self) -> Iterator[Fault]:
        dangling = list(self._dangling())
        yield from dangling
        yield from self._beginning_and_end()
        for node in self.nodes.values():
            yield from self._of_node(node)
        if not dangling:
            yield from self._of_shape()

    def _dangling(self) -> Iterator[Fault]:
        for flow in self.flows:
            ends = flow.get("sourceRef"), flow.get("targetRef")
            if not set(ends) <= set(self.nodes):
                yield _fault(flow, "dangling_flow", _("this flow leads from or to nowhere"))
            else:
                self.next[ends[0]].append(ends[1])

    def _beginning_and_end(self) -> Iterator[Fault]:
        kinds = Counter(_kind(each) for each in self.nodes.values())
        if kinds["startEvent"] != 1:
            words = _("exactly one start event is needed; here are %(n)d")
            yield _fault(self.holder, "no_start", words % {"n": kinds["startEvent"]})
        if not kinds["endEvent"]:
            yield _fault(self.holder, "no_end", _("an end event is needed"))
        if self.holder.get("triggeredByEvent") == "true":
            words = _("sub-processes that events start are not supported")
            yield _fault(self.holder, "unsupported", words)

    def _of_node(self, node: Any) -> Iterator[Fault]:
        kind, outgoing = _kind(node), self._leaving(node)
        if kind in EVENTS:
            yield from _of_event(node)
        if kind == "boundaryEvent":
            yield from self._of_boundary(node)
        if kind == "exclusiveGateway":
            yield from self._of_decision(node, outgoing)
        elif any(_child(flow, "conditionExpression") is not None for flow in outgoing):
            yield _fault(node, "stray_condition", _("only exclusive gateways have conditions"))
        if kind == "endEvent" and outgoing:
            yield _fault(node, "after_the_end", _("nothing follows an end event"))
        if kind != "endEvent" and not outgoing:
            yield _fault(node, "dead_end", _("nothing follows; end it with an end event"))
        if kind not in GATEWAYS and len(outgoing) > 1:
            yield _fault(node, "several_flows", _("only gateways have several flows out"))
        if kind == "scriptTask":
            yield from _of_script(node)
        if kind in WORK:
            yield from _of_work(node)

    def _leaving(self, node: Any) -> list[Any]:
        return [flow for flow in self.flows if flow.get("sourceRef") == node.get("id")]

    def _of_boundary(self, node: Any) -> Iterator[Fault]:
        holder = self.nodes.get(node.get("attachedToRef"))
        if holder is None or _kind(holder) not in ACTIVITIES:
            yield _fault(node, "dangling_event", _("this event is attached to nothing"))
        else:
            self.next[holder.get("id")].append(node.get("id"))

    def _of_decision(self, node: Any, outgoing: list[Any]) -> Iterator[Fault]:
        for flow in outgoing:
            condition = _child(flow, "conditionExpression")
            if condition is not None:
                yield from _of_text(flow, expressions.check, condition.text or "")
            elif len(outgoing) > 1 and flow.get("id") != node.get("default"):
                words = _("every flow but the default needs a condition")
                yield _fault(flow, "no_condition", words)

    def _of_shape(self) -> Iterator[Fault]:
        starts = [name for name, each in self.nodes.items() if _kind(each) == "startEvent"]
        for name in sorted(set(self.nodes) - self._reached(starts)):
            yield Fault(name, "unreachable", _("no way leads here"))
        if any(self._ahead(name, ()) > MOST_AHEAD for name in self.nodes):
            words = _("too many parallel branches in a row, or a loop without a decision")
            yield _fault(self.holder, "too_many_paths", words)

    def _reached(self, names: list[str]) -> set[str]:
        found: set[str] = set()
        while names:
            name = names.pop()
            if name not in found:
                found.add(name)
                names += self.next[name]
        return found

    def _ahead(self, name: str, above: tuple[str, ...]) -> int:
        """How many steps the engine will plan from here; it plans up to the next decision."""
        if name in above:
            return MOST_AHEAD + 1
        known = self.__dict__.setdefault("_known", {})
        if name not in known:
            known[name] = self._count_ahead(name, above)
        return cast(int, known[name])

    def _count_ahead(self, name: str, above: tuple[str, ...]) -> int:
        if _kind(self.nodes[name]) == "exclusiveGateway":
            return 1 + len(self.next[name])
        total = 1
        for each in self.next[name]:
            total += self._ahead(each, (*above, name))
            if total > MOST_AHEAD:
                break
        return total


def _of_event(node: Any) -> Iterator[Fault]:
    kinds = [kind for each in node if (kind := _kind(each) or "").endswith("EventDefinition")]
    allowed = _EVENT_KINDS[_kind(node) or ""]
    if set(kinds) - allowed or len(kinds) > 1:
        words = _("%(kinds)s is not supported here") % {"kinds": ", ".join(kinds)}
        yield _fault(node, "unsupported", words)
    elif "timerEventDefinition" in allowed:
        yield from _of_timer(node)


def _of_timer(node: Any) -> Iterator[Fault]:
    timer = _child(node, "timerEventDefinition")
    times = [] if timer is None else [e for e in timer if _kind(e) in {"timeDate", "timeDuration"}]
    if len(times) != 1:
        yield _fault(node, "no_time", _("this event waits for no time"))
    else:
        yield from _of_text(node, moments.check, times[0].text or "")


def _of_script(node: Any) -> Iterator[Fault]:
    script = _child(node, "script")
    if script is None:
        yield _fault(node, "no_script", _("this task has no script"))
    else:
        yield from _of_text(node, expressions.check_script, script.text or "")


def _of_work(node: Any) -> Iterator[Fault]:
    for name in ("role", "approver"):
        if (role := _ours(node, name)) and role not in Role.values:
            words = _("%(role)s is no role") % {"role": role}
            yield _fault(node, "wrong_attribute", words)
    for name in ("assignee", "agent", "service"):
        if (text := _ours(node, name)) and not _ACCEPTABLE_NAME.fullmatch(text):
            words = _("%(name)s: not understood") % {"name": name}
            yield _fault(node, "wrong_attribute", words)
    if due := _ours(node, "due"):
        yield from _of_text(node, moments.check, due)
    if _confidence(node) is None and _ours(node, "confidence"):
        yield _fault(node, "wrong_attribute", _("a confidence is a number from 0 to 1"))
    if _ours(node, "approval") not in {"", "always"}:
        yield _fault(node, "wrong_attribute", _("approval is `always` or not there"))


def _of_text(node: Any, check: Any, text: str) -> Iterator[Fault]:
    try:
        check(text)
    except InvalidExpression as error:
        yield _fault(node, "invalid_expression", error.message)


def _activity(node: Any) -> Activity:
    given = {name: _ours(node, name) for name in ("assignee", "role", "agent", "service", "due")}
    return Activity(
        id=node.get("id"),
        name=(node.get("name") or node.get("id"))[:200],
        performer=_performer(node),
        confidence=_confidence(node),
        approval=_ours(node, "approval"),
        approver=_ours(node, "approver"),
        **given,
    )


def _performer(node: Any) -> str:
    if _ours(node, "agent"):
        return "agent"
    return "service" if _kind(node) == "serviceTask" else "person"


def _confidence(node: Any) -> float | None:
    try:
        value = float(_ours(node, "confidence"))
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def _ours(node: Any, name: str) -> str:
    return (node.get(f"{{{OURS}}}{name}") or "").strip()


def _kind(element: Any) -> str | None:
    """The local name of a BPMN element; None for others, and for comments."""
    tag = element.tag if isinstance(element.tag, str) else ""
    return tag.removeprefix(f"{{{MODEL}}}") if tag.startswith(f"{{{MODEL}}}") else None


def _child(element: Any, kind: str) -> Any:
    return element.find(f"{{{MODEL}}}{kind}")


def _all(element: Any, kinds: set[str]) -> list[Any]:
    return [each for each in element.iter() if _kind(each) in kinds and not _is_extension(each)]


def _fault(element: Any, code: str, reason: str) -> Fault:
    around = [element, *element.iterancestors()]
    name = next((each.get("id") for each in around if each.get("id")), "")
    return Fault(name[:100], code, reason)
