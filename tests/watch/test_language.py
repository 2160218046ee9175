"""A bad rule is refused with the path and the reason."""

import jsonschema
import pytest

from apps.watch.rules import RuleRefused, parse, rule_schema

AMOUNT = {"type": "threshold", "field": "amount", "operator": ">", "threshold": 1}
STEPS = {"first": {"event_type": "CASE_CREATED"}, "then": {"event_type": "case.assigned"}}


@pytest.mark.parametrize(
    ("rule", "pointer", "reason"),
    [
        (None, "#/rule", "It has to be an object."),
        ({}, "#/rule", "It has no type."),
        ({"type": "magic"}, "#/rule", "No rule is of that type"),
        (AMOUNT | {"operator": "=>"}, "#/rule/operator", "It has to be '>', '<'"),
        (AMOUNT | {"field": "a b"}, "#/rule/field", "It is not a path"),
        (AMOUNT | {"field": "a..b"}, "#/rule/field", "It is not a path"),
        (AMOUNT | {"threshold": [1]}, "#/rule/threshold", "It has to be a number, text"),
        (AMOUNT | {"thresold": 1}, "#/rule/thresold", "Nothing is called that here."),
        ({"type": "threshold", "field": "a"}, "#/rule/threshold", "This is missing."),
        ({"type": "deadline", "days_before": -1}, "#/rule/days_before", "at least 0"),
        ({"type": "deadline", "days_before": 1.5}, "#/rule/days_before", "valid integer"),
        ({"type": "all", "conditions": []}, "#/rule/conditions", "at least 1"),
        (
            {"type": "any", "conditions": [AMOUNT, AMOUNT | {"operator": "~"}]},
            "#/rule/conditions/1/operator",
            "It has to be",
        ),
        (
            {"type": "not", "condition": {"type": "pattern", "min_count": 3}},
            "#/rule/condition",
            "No rule is of that type",  # conditions look at one event
        ),
        ({"type": "pattern", "min_count": 0}, "#/rule/min_count", "at least 1"),
        ({"type": "pattern", "window_hours": 0}, "#/rule/window_hours", "more than 0"),
        ({"type": "pattern", "window_hours": 9999}, "#/rule/window_hours", "at most 2160"),
        ({"type": "sequence", "within_hours": 1}, "#/rule/first", "This is missing."),
        (
            {"type": "absence", "within_hours": 1, **STEPS, "then": {"event_type": "NOPE"}},
            "#/rule/then/event_type",
            "No event type is called 'NOPE'.",
        ),
    ],
)
def test_a_bad_rule_is_refused_with_the_path_and_the_reason(rule, pointer, reason):
    with pytest.raises(RuleRefused) as refused:
        parse(rule)
    faults = {fault["pointer"]: fault["detail"] for fault in refused.value.facts["errors"]}
    assert reason in faults[pointer]
    assert reason in refused.value.message


def nested(depth):
    rule = AMOUNT
    for _ in range(depth):
        rule = {"type": "not", "condition": rule}
    return rule


def test_a_rule_may_be_nested_but_not_without_end():
    parse(nested(8))
    with pytest.raises(RuleRefused, match="nested too deeply"):
        parse(nested(5000))


def test_a_rule_has_at_most_a_hundred_conditions():
    half = {"type": "all", "conditions": [AMOUNT] * 49}
    parse(half)
    with pytest.raises(RuleRefused, match="more than 100"):
        parse({"type": "any", "conditions": [half, half]})


def test_steps_are_known_by_their_own_names():
    assert (
        parse({"type": "sequence", "within_hours": 1, **STEPS}).then.event_type == "CASE_ASSIGNED"
    )


@pytest.mark.parametrize(
    ("rule", "fits"),
    [
        (AMOUNT, True),
        ({"type": "always"}, True),
        ({"type": "all", "conditions": [AMOUNT, {"type": "deadline"}]}, True),
        ({"type": "pattern", "min_count": 3, "window_hours": 24, "group_by": "case_id"}, True),
        ({"type": "aggregate", "function": "sum", "field": "a", "threshold": 5}, True),
        ({"type": "sequence", "within_hours": 1, **STEPS}, True),
        (AMOUNT | {"operator": "=>"}, False),
        ({"type": "pattern", "min_count": 0}, False),
        ({"type": "magic"}, False),
    ],
)
def test_the_published_schema_says_the_same(rule, fits):
    schema = rule_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert jsonschema.Draft202012Validator(schema).is_valid(rule) is fits
