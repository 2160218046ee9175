"""What agents learn from people."""

from typing import Any

from django.db import transaction

from apps.events.outbox import publish
from apps.processes.errors import NoAgentsWork
from apps.processes.events import AgentFeedbackReceived, AgentKnowledgeUpdated
from apps.processes.models import AgentFeedback, AgentKnowledge, WorkItem


@transaction.atomic
def give_feedback(
    *, item: WorkItem, by: Any, verdict: str, text: str = "", lesson: str = ""
) -> AgentFeedback:
    """Say what one thinks of an agent's result, later or besides approving it."""
    if item.performer != WorkItem.Performer.AGENT or item.submitted_at is None:
        raise NoAgentsWork
    return record_feedback(item, by=by, verdict=verdict, text=text, lesson=lesson)


def record_feedback(
    item: WorkItem, *, by: Any, verdict: str, text: str, lesson: str
) -> AgentFeedback:
    feedback = AgentFeedback(
        work_item=item, agent=item.agent, verdict=verdict, text=text, given_by=by
    )
    feedback.full_clean()
    feedback.save(force_insert=True)
    publish(
        AgentFeedbackReceived(
            agent=item.agent,
            workitem_id=item.pk,
            proc_inst_id=item.instance_id,
            verdict=verdict,
            feedback=text,
        )
    )
    if lesson:
        _keep(item.agent, lesson, AgentKnowledge.Source.FEEDBACK, by=by, feedback=feedback)
    return feedback


@transaction.atomic
def teach(*, agent: str, summary: str, by: Any = None) -> AgentKnowledge:
    """Let an agent know something, by hand."""
    return _keep(agent, summary, AgentKnowledge.Source.MANUAL, by=by)


def _keep(
    agent: str, summary: str, source: str, *, by: Any, feedback: AgentFeedback | None = None
) -> AgentKnowledge:
    knowledge = AgentKnowledge(
        agent=agent, summary=summary, source=source, added_by=by, feedback=feedback
    )
    knowledge.full_clean()
    knowledge.save(force_insert=True)
    publish(
        AgentKnowledgeUpdated(
            agent=agent, knowledge_id=knowledge.pk, source=source, summary=summary
        )
    )
    return knowledge
