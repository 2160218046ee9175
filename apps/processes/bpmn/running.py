"""Runs a diagram with SpiffWorkflow, under our own clock, language and limits."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from django.utils.translation import gettext as _
from SpiffWorkflow.bpmn.parser.BpmnParser import BpmnParser, full_tag
from SpiffWorkflow.bpmn.parser.event_parsers import (
    BoundaryEventParser,
    IntermediateCatchEventParser,
)
from SpiffWorkflow.bpmn.parser.TaskParser import TaskParser
from SpiffWorkflow.bpmn.serializer.config import DEFAULT_CONFIG
from SpiffWorkflow.bpmn.serializer.default.workflow import (
    BpmnWorkflowConverter,
    WorkflowConverter,
)
from SpiffWorkflow.bpmn.serializer.workflow import BpmnWorkflowSerializer
from SpiffWorkflow.bpmn.specs.defaults import (
    BoundaryEvent,
    EndEvent,
    IntermediateCatchEvent,
    UserTask,
)
from SpiffWorkflow.bpmn.specs.event_definitions.timer import TimeDateEventDefinition
from SpiffWorkflow.bpmn.workflow import BpmnWorkflow
from SpiffWorkflow.exceptions import SpiffWorkflowException
from SpiffWorkflow.util.task import TaskState

from apps.processes import facts
from apps.processes.bpmn import expressions, moments
from apps.processes.bpmn.checking import blueprint_of
from apps.processes.bpmn.reading import read
from apps.processes.errors import InvalidBpmn
from axiom.errors import AxiomError

MOST_STEPS = 500
DEEPEST = 800
"""SpiffWorkflow keeps every round of a loop, and looks no deeper than 1,000 of its steps."""

# It tells every state of every task at INFO; what matters is told by our events.
logging.getLogger("spiff").setLevel(logging.WARNING)


class Stuck(Exception):
    """The process cannot go on from here; the message says why."""


class Waiting(NamedTuple):
    """A task that somebody has to do."""

    task_id: UUID
    activity_id: str


class Timer(NamedTuple):
    """A moment that the process waits for."""

    task_id: UUID
    activity_id: str
    due_at: datetime


class _Language:
    """SpiffWorkflow's script engine. Its own one runs uploaded text as Python code."""

    def __init__(self, variables: dict[str, Any], now: datetime) -> None:
        self.variables, self.now = variables, now

    def evaluate(self, task: Any, expression: str, external_context: Any = None) -> Any:
        return expressions.evaluate(expression, self.variables)

    def execute(self, task: Any, script: str, external_context: Any = None) -> bool:
        self.variables.update(expressions.execute(script, self.variables))
        return True

    def call_service(self, task: Any, **kwargs: Any) -> None:
        raise Stuck("Services are called through work items.")


class _Nothing:
    """In place of a language until there is one: SpiffWorkflow's default would be Python."""

    def __getattr__(self, name: str) -> Any:
        raise Stuck("There is no language here.")


class _Workflow(BpmnWorkflow):
    def __init__(self, spec: Any, subprocess_specs: Any = None, **how: Any) -> None:
        how.setdefault("script_engine", _Nothing())
        super().__init__(spec, subprocess_specs, **how)


class DueEvent(TimeDateEventDefinition):
    """Waits for a moment of our clock, not of the machine's."""

    def has_fired(self, my_task: Any) -> bool:
        language = my_task.workflow.script_engine
        if my_task._get_internal_data("event_value") is None:
            due = moments.moment(self.expression, language.variables, now=language.now)
            my_task._set_internal_data(event_value=due.isoformat())
        if due_at_of(my_task) <= language.now:
            my_task._set_internal_data(event_fired=True)
        return bool(my_task._get_internal_data("event_fired", False))


def due_at_of(task: Any) -> datetime:
    return datetime.fromisoformat(task._get_internal_data("event_value"))


class _Timers:
    def parse_timer_event(self: Any, event: Any) -> DueEvent:
        (time,) = event.xpath("./bpmn:timeDate | ./bpmn:timeDuration", namespaces=self.nsmap)
        return DueEvent(self.node.get("name") or self.bpmn_id, time.text or "")


class _CatchParser(_Timers, IntermediateCatchEventParser):
    """Reads a timer on the way."""


class _BoundaryParser(_Timers, BoundaryEventParser):
    """Reads a timer at the edge of a task."""


class _Parser(BpmnParser):
    """Services are done by work items too, so that every machine's result can be approved."""

    OVERRIDE_PARSER_CLASSES = {
        full_tag("serviceTask"): (TaskParser, UserTask),
        full_tag("manualTask"): (TaskParser, UserTask),
        full_tag("intermediateCatchEvent"): (_CatchParser, IntermediateCatchEvent),
        full_tag("boundaryEvent"): (_BoundaryParser, BoundaryEvent),
    }


class _StateConverter(BpmnWorkflowConverter):
    """Keeps where a process stands, without the diagram, which its version has."""

    def to_dict(self, workflow: Any) -> dict[str, Any]:
        state: dict[str, Any] = WorkflowConverter.to_dict(self, workflow)
        state["subprocesses"] = self.mapping_to_dict(workflow.subprocesses)
        return state

    def from_dict(self, dct: dict[str, Any], specs: "Specs") -> Any:
        workflow = self.target_class(specs.main, specs.inner, deserializing=True)
        workflow.tasks = self.mapping_from_dict(dct["tasks"], UUID, workflow=workflow)
        workflow.task_tree = workflow.tasks[UUID(dct["root"])]
        self.set_default_attributes(workflow, dct)
        self.subprocesses_from_dict(dct["subprocesses"], workflow)
        return workflow


def _registry() -> Any:
    config = {kind: each for kind, each in DEFAULT_CONFIG.items() if kind is not BpmnWorkflow}
    return BpmnWorkflowSerializer.configure({**config, _Workflow: _StateConverter})


_REGISTRY = _registry()


@dataclass(frozen=True)
class Specs:
    """A diagram as SpiffWorkflow knows it: the process and those inside or called by it."""

    main: Any
    inner: dict[str, Any]


def compile_specs(text: str, key: str) -> Specs:
    """Let SpiffWorkflow read a diagram; what it refuses is refused in its words."""
    parser = _Parser()
    try:
        parser.add_bpmn_xml(read(text))
        return Specs(parser.get_spec(key), parser.get_subprocess_specs(key))
    except (SpiffWorkflowException, RecursionError, NotImplementedError) as error:
        raise InvalidBpmn(_("SpiffWorkflow: %(reason)s") % {"reason": error}) from error


@lru_cache(maxsize=64)
def specs_of(version_id: UUID, text: str, key: str) -> Specs:
    """The specs of a published version, which never changes."""
    return compile_specs(text, key)


def prove(text: str) -> Any:
    """The blueprint of a diagram, after SpiffWorkflow made a process of it once."""
    blueprint = blueprint_of(text)
    specs = compile_specs(text, blueprint.key)
    _Workflow(specs.main, specs.inner)
    return blueprint


class Run:
    """A process in hand: moved until it waits, then put back as a state."""

    def __init__(self, workflow: Any, variables: dict[str, Any], now: datetime) -> None:
        self.workflow, self.variables = workflow, variables
        workflow.script_engine = _Language(variables, now)
        self._steps = 0

    @classmethod
    def begin(cls, specs: Specs, variables: dict[str, Any], *, now: datetime) -> "Run":
        return cls(_Workflow(specs.main, specs.inner), variables, now)

    @classmethod
    def resume(
        cls, specs: Specs, state: dict[str, Any], variables: dict[str, Any], *, now: datetime
    ) -> "Run":
        return cls(_REGISTRY.restore(dict(state), specs=specs), variables, now)

    def state(self) -> dict[str, Any]:
        return dict(_REGISTRY.convert(self.workflow))

    def finish(self, task_id: UUID, result: dict[str, Any]) -> bool:
        """A task was done with this result; False when nobody waits for it any more."""
        task = self._task(task_id)
        if task is None or not task.has_state(TaskState.READY):
            return False
        self.variables.update(result)
        self._guarded(task.run)
        return True

    def go(self) -> None:
        """Move on until people, machines or time are needed."""
        self._guarded(self._until_it_waits)

    def _until_it_waits(self) -> None:
        facts.checked(self.variables)
        # A timer that fires makes a task ready after the steps were done: look again.
        while True:
            self.workflow.do_engine_steps(will_complete_task=self._count)
            ready = self.workflow.get_tasks(state=TaskState.READY)
            facts.checked(self.variables)
            if all(task.task_spec.manual for task in ready):
                return

    def _guarded(self, move: Any) -> None:
        try:
            move()
        except AxiomError as error:
            raise Stuck(error.message) from error
        except SpiffWorkflowException as error:
            raise Stuck(str(error)) from error

    def _count(self, task: Any) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Stuck(_("It goes in circles: %(n)d steps without a pause.") % {"n": MOST_STEPS})
        if task.depth > DEEPEST:
            raise Stuck(_("It went round too often: %(n)d steps.") % {"n": DEEPEST})

    def _task(self, task_id: UUID) -> Any:
        return next((each for each in self._tasks() if each.id == task_id), None)

    def _tasks(self, **which: Any) -> Iterator[Any]:
        yield from self.workflow.get_tasks(**which)

    def waiting(self) -> list[Waiting]:
        """What somebody has to do now."""
        found = self._tasks(state=TaskState.READY)
        return [Waiting(t.id, t.task_spec.bpmn_id) for t in found if t.task_spec.manual]

    def timers(self) -> list[Timer]:
        """The moments that are waited for."""
        found = self._tasks(state=TaskState.WAITING)
        return [
            Timer(task.id, task.task_spec.bpmn_id, due_at_of(task))
            for task in found
            if isinstance(getattr(task.task_spec, "event_definition", None), DueEvent)
            and task._get_internal_data("event_value") is not None
        ]

    def has_passed(self, task_id: UUID) -> bool:
        task = self._task(task_id)
        return task is not None and bool(task.has_state(TaskState.COMPLETED))

    def been_at(self) -> list[str]:
        """The elements of the diagram that were passed."""
        done = self._tasks(state=TaskState.COMPLETED)
        return sorted({each.task_spec.bpmn_id for each in done if each.task_spec.bpmn_id})

    def stands_at(self) -> list[str]:
        """The elements of the diagram where it is now."""
        here = self._tasks(state=TaskState.READY | TaskState.WAITING | TaskState.STARTED)
        return sorted({each.task_spec.bpmn_id for each in here if each.task_spec.bpmn_id})

    @property
    def is_over(self) -> bool:
        return bool(self.workflow.is_completed())

    def end(self) -> str:
        """The name of the end that was reached last."""
        ends = [
            task
            for task in self.workflow.get_tasks(state=TaskState.COMPLETED, skip_subprocesses=True)
            if isinstance(task.task_spec, EndEvent)
        ]
        last = max(ends, key=lambda task: task.last_state_change, default=None)
        return (last.task_spec.bpmn_name or last.task_spec.bpmn_id) if last else ""
