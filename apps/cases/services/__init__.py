"""What cases do."""

from apps.cases.services.run_cases import (
    assign,
    change_status,
    close_case,
    open_case,
    reopen_case,
    revise_case,
)

__all__ = [
    "assign",
    "change_status",
    "close_case",
    "open_case",
    "reopen_case",
    "revise_case",
]
