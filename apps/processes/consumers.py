"""What the engine reacts to: finished work, and documents that were read."""

from uuid import UUID

from apps.events.handlers import GiveUp, on
from apps.events.message import Message
from apps.processes import services
from apps.processes.events import WorkitemCompleted
from axiom.errors import AxiomError


@on(WorkitemCompleted, group="bpm_engine")
def move_on(message: Message) -> None:
    """The process goes on with the result."""
    services.advance(UUID(message.payload["proc_inst_id"]))


# By its name: documents stand beside processes, and neither imports the other.
@on("DOCUMENT_EXTRACTED", group="bpm_engine")
def hand_in_what_was_read(message: Message) -> None:
    """What a document says is the result of the work that waits for it."""
    payload = message.payload
    found = {name: field["value"] for name, field in payload["fields"].items()}
    item = payload.get("workitem_id")
    try:
        services.hand_in_document(
            case_id=UUID(payload["case_id"]),
            workitem_id=UUID(item) if item else None,
            fields={**found, "document_id": payload["document_id"]},
            confidence=payload["confidence"],
        )
    except AxiomError as error:
        raise GiveUp(error.message) from error
