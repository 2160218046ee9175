"""The language of conditions and scripts: Python's expressions, as few of them as needed.

Uploaded text is never given to `eval` or `exec`. It is parsed, held against a list of what is
allowed, and worked out here over plain JSON values: no attributes of objects (`a.b` looks into a
dictionary), no calls but the few below, and no way to make something large out of something small.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _

from apps.processes import facts
from apps.processes.errors import InvalidExpression

LONGEST = 1_000
MOST_LINES = 50
MOST_PARTS = 200
LARGEST_NUMBER = 10**18
LONGEST_TEXT = 10_000

_NAMES_OF_VALUES = {"true": True, "false": False, "null": None, "none": None}
_WRAPPED = re.compile(r"\s*\$\{(.*)\}\s*", re.DOTALL)


def check(expression: str) -> None:
    """Refuse an expression that is not of this language."""
    _parsed(_bare(expression))


def evaluate(expression: str, variables: Mapping[str, Any]) -> Any:
    """What an expression is worth, given these variables."""
    return _value(_parsed(_bare(expression)), variables)


def check_script(script: str) -> None:
    """Refuse a script that is anything but assignments."""
    _parsed_script(script)


def execute(script: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The variables that a script sets; each line sees what those before it set."""
    known = dict(variables)
    lines = _parsed_script(script)
    for name, expression in lines:
        # Each line: lists of lists of lists grow faster than any limit at the end could tell.
        known[name] = facts.checked(_value(expression, known))
    return {name: known[name] for name, _expression in lines}


def _bare(expression: str) -> str:
    """Other tools write `${amount > 5}`."""
    wrapped = _WRAPPED.fullmatch(expression or "")
    return (wrapped[1] if wrapped else expression or "").strip()


@lru_cache(maxsize=1024)
def _parsed(expression: str) -> ast.expr:
    if len(expression) > LONGEST:
        raise InvalidExpression(_("An expression has at most %(n)d characters.") % {"n": LONGEST})
    body = _syntax(expression, "eval").body
    _allow(body)
    return body


@lru_cache(maxsize=256)
def _parsed_script(script: str) -> tuple[tuple[str, ast.expr], ...]:
    script = (script or "").strip()
    if len(script) > LONGEST * 10 or script.count("\n") >= MOST_LINES:
        raise InvalidExpression(_("A script has at most %(n)d lines.") % {"n": MOST_LINES})
    return tuple(_assignment(line) for line in _syntax(script, "exec").body)


def _assignment(line: ast.stmt) -> tuple[str, ast.expr]:
    if not isinstance(line, ast.Assign) or len(line.targets) != 1:
        raise InvalidExpression(_("A script has lines of the form `name = expression` only."))
    target = line.targets[0]
    if not isinstance(target, ast.Name):
        raise InvalidExpression(_("A script gives values to plain names only."))
    _refuse_hidden(target.id)
    _allow(line.value)
    return target.id, line.value


def _syntax(text: str, mode: str) -> Any:
    try:
        return ast.parse(text, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidExpression(_("Not understood: %(text)s") % {"text": text[:100]}) from None


def _allow(expression: ast.expr) -> None:
    parts = list(ast.walk(expression))
    if len(parts) > MOST_PARTS:
        raise InvalidExpression(_("This expression has too many parts."))
    for part in parts:
        _allow_part(part)


def _allow_part(part: ast.AST) -> None:
    if isinstance(part, ast.Constant):
        _plain(part.value)
    elif isinstance(part, ast.Name):
        _refuse_hidden(part.id)
    elif isinstance(part, ast.Attribute):
        _refuse_hidden(part.attr)
    elif isinstance(part, ast.Call):
        _allow_call(part)
    elif not isinstance(part, _ALLOWED):
        raise InvalidExpression(
            _("%(part)s is not allowed in an expression.") % {"part": type(part).__name__}
        )


def _allow_call(call: ast.Call) -> None:
    if not isinstance(call.func, ast.Name) or call.func.id not in _FUNCTIONS:
        raise InvalidExpression(
            _("Only these can be called: %(names)s.") % {"names": ", ".join(_FUNCTIONS)}
        )
    if call.keywords:
        raise InvalidExpression(_("Functions take no named values."))


def _refuse_hidden(name: str) -> None:
    if name.startswith("_"):
        raise InvalidExpression(_("Names do not begin with an underscore: %(n)s") % {"n": name})


def _plain(value: Any) -> Any:
    """The value, when it is one that JSON has and not too large."""
    if value is None or isinstance(value, bool | list | dict):
        return value
    if isinstance(value, str) and len(value) <= LONGEST_TEXT:
        return value
    if isinstance(value, int | float) and abs(value) <= LARGEST_NUMBER:
        return value
    raise InvalidExpression(_("A value in this expression is too large or of no known kind."))


def _value(part: ast.AST, variables: Mapping[str, Any]) -> Any:
    try:
        return _plain(_WAYS[type(part)](part, variables))
    except (TypeError, ArithmeticError, KeyError, IndexError, ValueError) as error:
        words = {"text": ast.unparse(part), "reason": str(error) or type(error).__name__}
        raise InvalidExpression(_("%(text)s cannot be worked out: %(reason)s") % words) from None


def _name(part: ast.Name, variables: Mapping[str, Any]) -> Any:
    if part.id in variables:
        return variables[part.id]
    if part.id.lower() in _NAMES_OF_VALUES:
        return _NAMES_OF_VALUES[part.id.lower()]
    raise InvalidExpression(_("Nothing is known as %(name)s.") % {"name": part.id})


def _attribute(part: ast.Attribute, variables: Mapping[str, Any]) -> Any:
    owner = _value(part.value, variables)
    if not isinstance(owner, dict):
        raise TypeError(_("it has no fields"))
    return owner.get(part.attr)


def _subscript(part: ast.Subscript, variables: Mapping[str, Any]) -> Any:
    return _value(part.value, variables)[_value(part.slice, variables)]


def _boolean(part: ast.BoolOp, variables: Mapping[str, Any]) -> Any:
    stops_at = isinstance(part.op, ast.Or)
    value: Any = None
    for each in part.values:
        value = _value(each, variables)
        if bool(value) is stops_at:
            return value
    return value


def _unary(part: ast.UnaryOp, variables: Mapping[str, Any]) -> Any:
    value = _value(part.operand, variables)
    return not value if isinstance(part.op, ast.Not) else -_number(value)


def _binary(part: ast.BinOp, variables: Mapping[str, Any]) -> Any:
    left, right = _value(part.left, variables), _value(part.right, variables)
    if isinstance(part.op, ast.Add) and isinstance(left, str) and isinstance(right, str):
        return left + right
    # Numbers only: a text times a number would be a way to fill the memory.
    return _ARITHMETIC[type(part.op)](_number(left), _number(right))


def _number(value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    raise TypeError(_("not a number"))


def _comparison(part: ast.Compare, variables: Mapping[str, Any]) -> bool:
    left = _value(part.left, variables)
    for sign, other in zip(part.ops, part.comparators, strict=True):
        right = _value(other, variables)
        if not _COMPARISONS[type(sign)](left, right):
            return False
        left = right
    return True


def _choice(part: ast.IfExp, variables: Mapping[str, Any]) -> Any:
    return _value(part.body if _value(part.test, variables) else part.orelse, variables)


def _call(part: ast.Call, variables: Mapping[str, Any]) -> Any:
    assert isinstance(part.func, ast.Name)
    return _FUNCTIONS[part.func.id](*(_value(each, variables) for each in part.args))


def _list(part: ast.List | ast.Tuple, variables: Mapping[str, Any]) -> list[Any]:
    return [_value(each, variables) for each in part.elts]


def _round(number: Any, digits: int = 0) -> Any:
    # Rounding to minus a billion digits takes a number of a billion digits.
    return round(_number(number), min(max(int(digits), 0), 15) or None)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": len, "min": min, "max": max, "abs": abs, "round": _round,
    "lower": lambda text: str(text)[:LONGEST_TEXT].lower(),
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right, ast.NotIn: lambda left, right: left not in right,
}  # fmt: skip
_WAYS: dict[type[ast.AST], Callable[[Any, Mapping[str, Any]], Any]] = {
    ast.Constant: lambda part, variables: part.value,
    ast.Name: _name, ast.Attribute: _attribute, ast.Subscript: _subscript,
    ast.BoolOp: _boolean, ast.UnaryOp: _unary, ast.BinOp: _binary, ast.Compare: _comparison,
    ast.IfExp: _choice, ast.Call: _call, ast.List: _list, ast.Tuple: _list,
}  # fmt: skip
_ALLOWED = (
    *_WAYS, *_ARITHMETIC, *_COMPARISONS, ast.And, ast.Or, ast.Not, ast.USub, ast.Load,
)  # fmt: skip
