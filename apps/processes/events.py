"""What processes say: instances, work items, and what agents learn from people."""

from typing import Literal
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop
from pydantic import Field

from apps.events.catalog import Event
from apps.events.facts import Facts, Moment, Share

_INSTANCE = "018f2d1c-0000-7000-8000-000000001257"
_DEFINITION = "018f2d1c-0000-7000-8000-000000000def"
_WORKITEM = "018f2d1c-0000-7000-8000-000000003012"
_CASE = "018f2d1c-0000-7000-8000-00000000ca5e"
_ALICE = "018f2d1c-0000-7000-8000-0000000000a1"


class AboutProcess(Event):
    proc_inst_id: UUID
    proc_def_id: UUID
    case_id: UUID | None = None


class ProcessStarted(
    AboutProcess,
    type="PROCESS_STARTED",
    aggregate="process_instance",
    key="proc_inst_id",
    label=_("Process started"),
    aliases=("process.initiated", "process.started"),
):
    """An instance of a process began."""

    initiator_id: UUID | None
    first_workitem_id: UUID | None = Field(
        description=noop("Nothing when the process begins with a timer or an event.")
    )

    example = {
        "proc_inst_id": _INSTANCE,
        "proc_def_id": _DEFINITION,
        "case_id": _CASE,
        "initiator_id": _ALICE,
        "first_workitem_id": _WORKITEM,
    }


class ProcessCompleted(
    AboutProcess,
    type="PROCESS_COMPLETED",
    aggregate="process_instance",
    key="proc_inst_id",
    label=_("Process completed"),
    aliases=("process.completed",),
):
    """An instance of a process reached its end."""

    started_at: Moment
    end_event: str = Field("", description=noop("At which end of the diagram."))

    example = {
        "proc_inst_id": _INSTANCE,
        "proc_def_id": _DEFINITION,
        "case_id": _CASE,
        "started_at": "2026-02-19T10:00:00Z",
        "end_event": "Plan approved",
    }


class ProcessTerminated(
    AboutProcess,
    type="PROCESS_TERMINATED",
    aggregate="process_instance",
    key="proc_inst_id",
    label=_("Process terminated"),
    aliases=("process.terminated",),
):
    """An instance of a process was stopped before its end."""

    reason: str

    example = {
        "proc_inst_id": _INSTANCE,
        "proc_def_id": _DEFINITION,
        "case_id": _CASE,
        "reason": "The petition was withdrawn.",
    }


class AboutWorkitem(Event):
    workitem_id: UUID
    proc_inst_id: UUID
    activity_name: str
    case_id: UUID | None = None


class WorkitemCreated(
    AboutWorkitem,
    type="WORKITEM_CREATED",
    aggregate="workitem",
    key="workitem_id",
    label=_("Work item created"),
    aliases=("workitem.created",),
):
    """There is something to do, for a person or a machine."""

    activity_id: str = Field(description=noop("The element of the diagram."))
    performer: Literal["person", "agent", "service"]
    assignee_id: UUID | None = None
    role: str = Field("", description=noop("Whoever has this role may take it."))
    agent: str = ""
    due_at: Moment | None = None

    example = {
        "workitem_id": _WORKITEM,
        "proc_inst_id": _INSTANCE,
        "case_id": _CASE,
        "activity_id": "verify_figures",
        "activity_name": "데이터 수치 검증",
        "performer": "person",
        "assignee_id": _ALICE,
        "role": "",
        "agent": "",
        "due_at": "2026-02-21T09:00:00Z",
    }


class WorkitemSubmitted(
    AboutWorkitem,
    type="WORKITEM_SUBMITTED",
    aggregate="workitem",
    key="workitem_id",
    label=_("Work item submitted"),
    aliases=("workitem.submitted",),
):
    """A result was handed in; below a confidence it waits for a person's approval."""

    result: Facts
    submitted_by: str = Field(description=noop("An email, or agent: and its name."))
    confidence: Share | None = None
    needs_approval: bool

    example = {
        "workitem_id": _WORKITEM,
        "proc_inst_id": _INSTANCE,
        "case_id": _CASE,
        "activity_name": "데이터 수치 검증",
        "result": {"verified": 45, "rejected": 2},
        "submitted_by": "agent:gpt-4o",
        "confidence": 0.71,
        "needs_approval": True,
    }


class WorkitemApproved(
    AboutWorkitem,
    type="WORKITEM_APPROVED",
    aggregate="workitem",
    key="workitem_id",
    label=_("Work item approved"),
    aliases=("workitem.approved",),
):
    """A person approved a machine's result, as it was or corrected."""

    approved_by: str
    corrected: bool = False
    comment: str = ""

    example = {
        "workitem_id": _WORKITEM,
        "proc_inst_id": _INSTANCE,
        "case_id": _CASE,
        "activity_name": "데이터 수치 검증",
        "approved_by": "minji.kim@hanbit.example",
        "corrected": True,
        "comment": "Row 17 was a duplicate.",
    }


class WorkitemCompleted(
    AboutWorkitem,
    type="WORKITEM_COMPLETED",
    aggregate="workitem",
    key="workitem_id",
    label=_("Work item completed"),
    aliases=("workitem.completed",),
):
    """A work item is done; its process moves on."""

    result: Facts
    completed_by: str = Field(description=noop("An email, or agent: and its name."))
    confidence: Share | None = None

    example = {
        "workitem_id": _WORKITEM,
        "proc_inst_id": _INSTANCE,
        "case_id": _CASE,
        "activity_name": "데이터 수치 검증",
        "result": {"verified": 45, "rejected": 2},
        "completed_by": "agent:gpt-4o",
        "confidence": 0.92,
    }


class AgentFeedbackReceived(
    Event,
    type="AGENT_FEEDBACK_RECEIVED",
    aggregate="agent",
    key="agent",
    label=_("Feedback for an agent"),
    aliases=("agent.feedback_received",),
):
    """A person said what they think of an agent's result."""

    agent: str
    workitem_id: UUID
    proc_inst_id: UUID
    verdict: Literal["approved", "corrected", "rejected"]
    feedback: str = ""

    example = {
        "agent": "gpt-4o",
        "workitem_id": _WORKITEM,
        "proc_inst_id": _INSTANCE,
        "verdict": "corrected",
        "feedback": "Row 17 was a duplicate.",
    }


class AgentKnowledgeUpdated(
    Event,
    type="AGENT_KNOWLEDGE_UPDATED",
    aggregate="agent",
    key="agent",
    label=_("Agent learned something"),
    aliases=("agent.knowledge_updated",),
):
    """What an agent knows was changed, by feedback or by hand."""

    agent: str
    knowledge_id: UUID
    source: Literal["feedback", "manual"]
    summary: str

    example = {
        "agent": "gpt-4o",
        "knowledge_id": "018f2d1c-0000-7000-8000-000000000b0b",
        "source": "feedback",
        "summary": "Rows with the same creditor and date are duplicates.",
    }
