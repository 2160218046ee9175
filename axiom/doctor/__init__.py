"""Checks of an installation, each with its fix: `python manage.py doctor`.

The checks of the ground are in `basics`; an app adds its own in a module `doctor`:

    @check("outbox", fix="Start the relay: python manage.py runworker relay.")
    def outbox() -> Finding: ...
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from django.utils.module_loading import autodiscover_modules


class Verdict(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """What a check saw."""

    verdict: Verdict
    seen: str


@dataclass(frozen=True)
class Check:
    name: str
    fix: str
    needs: str
    look: Callable[[], Finding]


@dataclass(frozen=True)
class Row:
    """One line of the table; the fix is empty where there is none to tell."""

    name: str
    verdict: Verdict
    seen: str
    fix: str


CHECKS: dict[str, Check] = {}


def ok(seen: str) -> Finding:
    return Finding(Verdict.OK, seen)


def warn(seen: str) -> Finding:
    return Finding(Verdict.WARN, seen)


def fail(seen: str) -> Finding:
    return Finding(Verdict.FAIL, seen)


def check(
    name: str, *, fix: str, needs: str = ""
) -> Callable[[Callable[[], Finding]], Callable[[], Finding]]:
    """Add a function to the checks of the doctor; `needs` names a check that has to pass first."""

    def add(look: Callable[[], Finding]) -> Callable[[], Finding]:
        CHECKS[name] = Check(name, fix, needs, look)
        return look

    return add


def known() -> list[str]:
    """The names of all checks, in the order they are made."""
    from . import basics  # noqa: F401

    autodiscover_modules("doctor")
    return list(CHECKS)


def examine(*names: str) -> list[Row]:
    """The findings of these checks and of what they need; of all when none is named."""
    wanted = set(names or known())
    wanted |= {CHECKS[name].needs for name in wanted}
    rows: dict[str, Row] = {}
    for each in CHECKS.values():
        if each.name in wanted:
            rows[each.name] = _row(each, rows.get(each.needs))
    return list(rows.values())


def _row(each: Check, needed: Row | None) -> Row:
    if needed and needed.verdict is Verdict.FAIL:
        return Row(each.name, Verdict.FAIL, f"cannot be told without {each.needs}", fix="")
    finding = _finding(each)
    fix = "" if finding.verdict is Verdict.OK else each.fix
    return Row(each.name, finding.verdict, finding.seen, fix)


def _finding(each: Check) -> Finding:
    try:
        return each.look()
    except Exception as error:  # noqa: BLE001 - one broken part must not hide what others say
        return fail(f"{type(error).__name__}: {error}".splitlines()[0])
