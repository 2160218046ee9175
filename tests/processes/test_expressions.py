"""The language of conditions and scripts: what it can say, and that it cannot hurt."""

import time

import pytest

from apps.processes.bpmn import expressions
from apps.processes.errors import InvalidExpression, InvalidFacts

VALUES = {
    "amount": 1200,
    "name": "Hanbit",
    "approved": True,
    "claim": {"debtor": {"name": "Kim"}, "rows": [3, 4]},
    "empty": None,
}


@pytest.mark.parametrize(
    ("expression", "worth"),
    [
        ("amount > 1000 and approved", True),
        ("${amount > 1000}", True),
        ("amount / 2 + 1", 601.0),
        ("claim.debtor.name == 'Kim'", True),
        ("claim.missing", None),
        ("claim['rows'][1] % 3", 1),
        ("name in ['Hanbit', 'Harbor']", True),
        ("not approved or amount >= 1200", True),
        ("1 < amount < 5", False),
        ("'large' if amount > 1000 else 'small'", "large"),
        ("len(claim.rows) + max(1, 2)", 4),
        ("round(amount / 7, 2)", 171.43),
        ("empty is None and empty == null", True),
        ("true and not false", True),
        ("lower(name) + '!'", "hanbit!"),
    ],
)
def test_it_says_what_conditions_need(expression, worth):
    assert expressions.evaluate(expression, VALUES) == worth


@pytest.mark.parametrize(
    "expression",
    ["unknown", "name * 5", "amount.real", "name.upper", "1 / 0", "claim['none']", "name > 5",
     "amount * 1000000000000000000", "empty + 1", "round(name)"],
)  # fmt: skip
def test_what_cannot_be_worked_out_is_told(expression):
    with pytest.raises(InvalidExpression):
        expressions.evaluate(expression, VALUES)


def test_a_variable_never_shows_more_than_its_json(monkeypatch):
    with pytest.raises(InvalidExpression):
        expressions.evaluate("claim._x", {"claim": {"_x": 1}})


def test_lists_of_lists_cannot_fill_the_memory():
    bomb = "\n".join(["a = [x, x, x, x, x, x, x, x, x, x]", *["a = [a, a, a, a, a, a, a, a]"] * 40])
    began = time.perf_counter()
    with pytest.raises(InvalidFacts):
        expressions.execute(bomb, {"x": 1})
    assert time.perf_counter() - began < 1


def test_rounding_to_a_billion_digits_costs_nothing():
    began = time.perf_counter()
    assert expressions.evaluate("round(5, -1000000000)", {}) == 5
    assert time.perf_counter() - began < 0.5


def test_each_line_of_a_script_sees_the_ones_before_it():
    assert expressions.execute("a = x + 1\nb = a * 2", {"x": 1}) == {"a": 2, "b": 4}
