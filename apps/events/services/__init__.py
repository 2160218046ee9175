"""What can be done about events that were given up."""

from .discard import discard
from .edit import Edit, draft, edit_and_redrive, payload_of, plan_edit, raw_text
from .forget import forget_settled
from .redrive import redrive
from .redrive_matching import advance_redrives, start_redrive, stop_redrive
from .rehearse import Rehearsal, dry_run

__all__ = [
    "Edit",
    "Rehearsal",
    "advance_redrives",
    "discard",
    "draft",
    "dry_run",
    "edit_and_redrive",
    "forget_settled",
    "payload_of",
    "plan_edit",
    "raw_text",
    "redrive",
    "start_redrive",
    "stop_redrive",
]
