"""The language of rules: JSON that people write, checked, explained and compiled."""

from .compiling import Check, compile_condition
from .errors import RuleRefused
from .language import (
    Absence,
    Aggregate,
    Condition,
    Pattern,
    Rule,
    Sequence,
    Step,
    event_types_of,
    is_windowed,
    parse,
    rule_schema,
)

__all__ = [
    "Absence",
    "Aggregate",
    "Check",
    "Condition",
    "Pattern",
    "Rule",
    "RuleRefused",
    "Sequence",
    "Step",
    "compile_condition",
    "event_types_of",
    "is_windowed",
    "parse",
    "rule_schema",
]
