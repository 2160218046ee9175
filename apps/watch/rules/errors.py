"""Why a rule is refused."""

from itertools import groupby
from typing import Any

from django.utils.translation import gettext as _
from pydantic import ValidationError

from axiom.errors import AxiomError

Fault = dict[str, str]

_KINDS_OF_VALUES = {"int", "float", "str", "bool", "Field_"}


class RuleRefused(AxiomError):
    """This rule is not valid."""

    code, status = "rule_refused", 400


def refusal(error: ValidationError, rule: Any) -> RuleRefused:
    """The refusal of a rule, with the path of each fault and the reason."""
    found = [(pointer(e["loc"], rule), e) for e in error.errors(include_url=False)]
    found = [(where, e) for where, e in found if not _follows(where, e, found)]
    faults = [_fault(where, list(told)) for where, told in groupby(found, lambda pair: pair[0])]
    sentence = " ".join(f"{fault['pointer']}: {fault['detail']}" for fault in faults)
    return RuleRefused(sentence, errors=faults)


def _follows(where: str, error: Any, found: list[tuple[str, Any]]) -> bool:
    """A list is also called too short when one of its elements is wrong."""
    return error["type"] == "too_short" and any(w.startswith(f"{where}/") for w, _error in found)


def _fault(where: str, told: list[tuple[str, Any]]) -> Fault:
    """One fault per place: a value that may be of several kinds is told once, not for each."""
    if len(told) > 1:
        detail = _("It has to be a number, text, true, false, null or the path of another field.")
        return {"pointer": where, "code": "wrong_kind", "detail": detail}
    error = told[0][1]
    return {"pointer": where, "code": error["type"], "detail": reason(error)}


def pointer(location: tuple[int | str, ...], rule: Any) -> str:
    """A JSON pointer into the rule; pydantic also names the types it went through."""
    parts, node, named = [], rule, False
    for part in location:
        is_type = isinstance(node, dict) and node.get("type") == part and not named
        if is_type or part in _KINDS_OF_VALUES:
            named = True
            continue
        parts.append(str(part).replace("~", "~0").replace("/", "~1"))
        node, named = _inside(node, part), False
    return "/".join(["#", "rule", *parts])


def _inside(node: Any, part: int | str) -> Any:
    try:
        return node[part]
    except (KeyError, IndexError, TypeError):
        return None


def reason(fault: Any) -> str:
    """One sentence in the reader's language."""
    context = {k: str(v) for k, v in fault.get("ctx", {}).items()}
    known = _sentences().get(fault["type"])
    return known % context if known else str(fault["msg"])


def _sentences() -> dict[str, str]:
    return {
        "missing": _("This is missing."),
        "extra_forbidden": _("Nothing is called that here."),
        "union_tag_invalid": _("No rule is of that type; there are %(expected_tags)s."),
        "union_tag_not_found": _("It has no type."),
        "model_attributes_type": _("It has to be an object."),
        "literal_error": _("It has to be %(expected)s."),
        "greater_than": _("It has to be more than %(gt)s."),
        "greater_than_equal": _("It has to be at least %(ge)s."),
        "less_than_equal": _("It has to be at most %(le)s."),
        "too_long": _("There may be at most %(max_length)s."),
        "too_short": _("There have to be at least %(min_length)s."),
        "string_pattern_mismatch": _("It is not a path such as result.score or items.*.amount."),
        "value_error": "%(error)s",
    }
