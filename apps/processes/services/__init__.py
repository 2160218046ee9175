"""What processes do."""

from apps.processes.services.define import (
    add_version,
    discard_draft,
    publish_version,
    revise_definition,
    revise_draft,
    upload_definition,
)
from apps.processes.services.learn import give_feedback, teach
from apps.processes.services.run import (
    advance,
    fire_due_timers,
    resume_process,
    start_process,
    terminate_process,
)
from apps.processes.services.work import (
    Deed,
    Doer,
    approve_work,
    complete_work,
    delegate_work,
    hand_in_document,
    possible,
    reject_work,
    start_work,
    submit_work,
    who_can_take_over,
)

__all__ = [
    "Deed",
    "Doer",
    "add_version",
    "advance",
    "approve_work",
    "complete_work",
    "delegate_work",
    "discard_draft",
    "fire_due_timers",
    "give_feedback",
    "hand_in_document",
    "possible",
    "publish_version",
    "reject_work",
    "resume_process",
    "revise_definition",
    "revise_draft",
    "start_process",
    "start_work",
    "submit_work",
    "teach",
    "terminate_process",
    "upload_definition",
    "who_can_take_over",
]
