"""What documents do."""

from apps.documents.services.configure import (
    add_pattern,
    add_template,
    change_pattern,
    change_template,
    remove_pattern,
    remove_template,
)
from apps.documents.services.generate import generate_document
from apps.documents.services.process_again import process_again, resume_what_waits
from apps.documents.services.put_in import rename_document, upload_document, upload_version
from apps.documents.services.queue import queue_extraction, queue_job
from apps.documents.services.remove import remove_document, remove_file_after_commit, sweep_orphans

__all__ = [
    "add_pattern",
    "add_template",
    "change_pattern",
    "change_template",
    "generate_document",
    "process_again",
    "queue_extraction",
    "queue_job",
    "remove_document",
    "remove_file_after_commit",
    "remove_pattern",
    "remove_template",
    "rename_document",
    "resume_what_waits",
    "sweep_orphans",
    "upload_document",
    "upload_version",
]
