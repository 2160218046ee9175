"""Whether a type holds every value of another one: the difference between wider and otherwise."""

import re
from typing import NamedTuple

from django.utils.translation import gettext_noop as noop

WIDER_NUMBER = noop("The new type holds every number of the old one.")
LONGER_TEXT = noop("A longer text holds every shorter one.")
FINER_TIME = noop("The new type keeps time at least as finely.")
SAME_TYPE = noop("It is the same type by another name.")
NARROWER = noop("Not every value of the old type fits the new one.")
OTHER_TYPE = noop("The new type is of another kind.")


class Judgement(NamedTuple):
    """Whether the change is safe, and why."""

    widens: bool
    reason: str


class Type(NamedTuple):
    """A type taken apart: varchar(20) is `varchar` and (20,)."""

    name: str
    arguments: tuple[int, ...] = ()
    unsigned: bool = False
    array: bool = False


# Different names of one type, across engines.
_ALIASES = {
    "character varying": "varchar", "nvarchar": "varchar", "varchar2": "varchar",
    "character": "char", "bpchar": "char", "nchar": "char", "int": "integer", "int4": "integer",
    "int2": "smallint", "int8": "bigint", "decimal": "numeric", "dec": "numeric",
    "double precision": "double", "float8": "double", "float4": "real", "bool": "boolean",
    "timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz",
    "time without time zone": "time", "time with time zone": "timetz", "datetime": "datetime",
}  # fmt: skip
# From narrow to wide, each holding all before it.
_INTEGERS = ["tinyint", "smallint", "mediumint", "integer", "bigint"]
_DIGITS = {"tinyint": 3, "smallint": 5, "mediumint": 8, "integer": 10, "bigint": 19}
_FLOATS = ["real", "float", "double"]
_TEXTS = ["tinytext", "text", "mediumtext", "longtext"]
_TIMES = {"timestamp", "timestamptz", "time", "timetz", "datetime", "interval"}
_UNBOUNDED = {"text", "mediumtext", "longtext", "clob"}
_FINEST = 6

_PARTS = re.compile(
    r"^(?P<name>[a-z_][a-z0-9_ ]*?)\s*(?:\((?P<arguments>[\d\s,]*)\))?"
    r"(?P<rest>\s*(?:unsigned|without time zone|with time zone))?\s*(?P<array>(?:\[\])*)$"
)


def parse(dtype: str) -> Type | None:
    """The parts of a type, or None of one that is no simple type (an enum, a domain ...)."""
    found = _PARTS.match(dtype.strip().strip('"').lower())
    if not found:
        return None
    rest = (found["rest"] or "").strip()
    name = f"{found['name']} {rest}" if rest.endswith("zone") else found["name"]
    numbers = tuple(int(each) for each in (found["arguments"] or "").split(",") if each.strip())
    unsigned = rest == "unsigned" or name.endswith(" unsigned")
    name = name.removesuffix(" unsigned")
    return Type(_ALIASES.get(name, name), numbers, unsigned, bool(found["array"]))


def judge(old: str, new: str) -> Judgement:
    """Whether every value of the old type is one of the new."""
    before, after = parse(old), parse(new)
    if before is None or after is None or before.array != after.array:
        return Judgement(False, OTHER_TYPE)
    if before == after:
        return Judgement(True, SAME_TYPE)
    for family in (_integers, _floats, _numerics, _texts, _times):
        judgement = family(before, after)
        if judgement is not None:
            return judgement
    return Judgement(False, OTHER_TYPE)


def _integers(old: Type, new: Type) -> Judgement | None:
    if old.name not in _INTEGERS:
        return None
    if new.name == "numeric":
        return _holds(_whole_digits(new) >= _DIGITS[old.name])
    if new.name not in _INTEGERS:
        return None
    steps = _INTEGERS.index(new.name) - _INTEGERS.index(old.name)
    if old.unsigned and not new.unsigned:
        return _holds(steps > 0)  # The sign takes one bit.
    return _holds(steps >= 0 and old.unsigned == new.unsigned)


def _floats(old: Type, new: Type) -> Judgement | None:
    if old.name not in _FLOATS or new.name not in _FLOATS:
        return None
    return _holds(_FLOATS.index(new.name) >= _FLOATS.index(old.name))


def _numerics(old: Type, new: Type) -> Judgement | None:
    if old.name != "numeric" or new.name != "numeric":
        return None
    whole = _whole_digits(new) >= _whole_digits(old)
    return _holds(whole and _fraction_digits(new) >= _fraction_digits(old))


_NO_LIMIT = 10**6


def _whole_digits(kind: Type) -> int:
    if not kind.arguments:
        return _NO_LIMIT
    return kind.arguments[0] - (kind.arguments[1] if len(kind.arguments) > 1 else 0)


def _fraction_digits(kind: Type) -> int:
    if not kind.arguments:
        return _NO_LIMIT
    return kind.arguments[1] if len(kind.arguments) > 1 else 0


def _holds(yes: bool) -> Judgement:
    return Judgement(True, WIDER_NUMBER) if yes else Judgement(False, NARROWER)


def _texts(old: Type, new: Type) -> Judgement | None:
    texts = {"varchar", *_TEXTS, "clob"}
    if old.name not in texts or new.name not in texts:
        # Of fixed length, a text is padded: only its own kind holds it unchanged.
        return _of_length(old, new) if old.name == new.name == "char" else None
    if old.name in _TEXTS and new.name in _TEXTS:
        return _longer(_TEXTS.index(new.name) >= _TEXTS.index(old.name))
    if new.name in _UNBOUNDED:
        return _longer(True)
    return _of_length(old, new) if old.name == new.name == "varchar" else _longer(False)


def _of_length(old: Type, new: Type) -> Judgement:
    unlimited = (_NO_LIMIT,)
    return _longer((new.arguments or unlimited) >= (old.arguments or unlimited))


def _longer(yes: bool) -> Judgement:
    return Judgement(True, LONGER_TEXT) if yes else Judgement(False, NARROWER)


def _times(old: Type, new: Type) -> Judgement | None:
    if old.name != new.name or old.name not in _TIMES:
        return None
    finer = (new.arguments or (_FINEST,)) >= (old.arguments or (_FINEST,))
    return Judgement(True, FINER_TIME) if finer else Judgement(False, NARROWER)
