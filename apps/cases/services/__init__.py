"""What cases do."""

from apps.cases.services.comment import add_comment, delete_comment
from apps.cases.services.decide import approve, cancel_approval, reject
from apps.cases.services.keep_cash import record_cash
from apps.cases.services.plan import (
    add_deadline,
    add_payment,
    request_approval,
    revise,
    schedule_review,
    settle,
)
from apps.cases.services.register_data import register_data, revise_data
from apps.cases.services.run_cases import (
    assign,
    change_status,
    close_case,
    open_case,
    reopen_case,
    revise_case,
)

__all__ = [
    "add_comment",
    "add_deadline",
    "add_payment",
    "approve",
    "assign",
    "cancel_approval",
    "change_status",
    "close_case",
    "delete_comment",
    "open_case",
    "record_cash",
    "register_data",
    "reject",
    "reopen_case",
    "request_approval",
    "revise",
    "revise_case",
    "revise_data",
    "schedule_review",
    "settle",
]
