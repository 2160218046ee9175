"""What the documents worker reacts to. Each event moves a document one step on."""

from typing import Any

from apps.documents import services
from apps.documents.events import WorkerOcrCompleted, WorkerOcrStarted
from apps.events.handlers import on
from apps.events.message import Message


@on(WorkerOcrStarted, group="worker_group")
def bring_reading_into_line(message: Message) -> None:
    """The reading itself may take an hour, which no handler may."""
    event: Any = message.event
    services.queue_job(job_id=event.job_id)


@on(WorkerOcrCompleted, group="worker_group")
def bring_extraction_into_line(message: Message) -> None:
    event: Any = message.event
    if event.outcome == "done":
        services.queue_extraction(document_id=event.document_id, number=event.document_version)
