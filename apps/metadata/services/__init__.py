"""What the catalog does."""

from apps.metadata.services.define import define_term, delete_term
from apps.metadata.services.describe import (
    describe,
    generate_descriptions,
    request_descriptions,
    tag,
    untag,
)
from apps.metadata.services.extract import (
    approve,
    cancel,
    reject,
    request_extraction,
    run_extraction,
    start_due,
)
from apps.metadata.services.register import (
    add_datasource,
    change_datasource,
    remove_datasource,
    reseal_passwords,
    try_connection,
)
from apps.metadata.services.snapshots import (
    compare_snapshots,
    compare_with_now,
    create_snapshot,
    restore_snapshot,
)

__all__ = [
    "add_datasource",
    "approve",
    "cancel",
    "change_datasource",
    "compare_snapshots",
    "compare_with_now",
    "create_snapshot",
    "define_term",
    "delete_term",
    "describe",
    "generate_descriptions",
    "reject",
    "remove_datasource",
    "request_descriptions",
    "request_extraction",
    "reseal_passwords",
    "restore_snapshot",
    "run_extraction",
    "start_due",
    "tag",
    "try_connection",
    "untag",
]
