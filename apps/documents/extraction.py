"""Finds fields in a text with a tenant's patterns.

Patterns are RE2's: they run in time linear in the text, whatever is written in them, because
the engine has no backtracking. What it cannot do (look-around, back references) is refused when
the pattern is saved.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

import re2

from apps.documents.models import ExtractionPattern, Page

LONGEST_VALUE = 500
MOST_MATCHES = 50
"""Of one pattern on one page; what is found more often is no field."""
_MOST_MEMORY = 8 * 1024 * 1024


class WrongPattern(ValueError):
    """The pattern is not one that RE2 can run."""


@dataclass(frozen=True)
class Found:
    """A field, with how sure we are of it."""

    name: str
    value: Any
    found_text: str
    page: int
    confidence: float


@lru_cache(maxsize=500)
def compiled(pattern: str) -> Any:
    """The pattern, ready to run; WrongPattern says what is wrong with it."""
    options = re2.Options()
    options.max_mem, options.log_errors = _MOST_MEMORY, False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        raise WrongPattern(
            reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        ) from None


def extract(pages: Iterable[Page], patterns: Iterable[ExtractionPattern]) -> list[Found]:
    """For each field the finding that is most certain."""
    pages = list(pages)
    by_field: dict[str, list[Found]] = {}
    for pattern in patterns:
        found = list(_matches(pattern, pages))
        by_field.setdefault(pattern.field, []).extend(_weighed(found))
    best = [max(found, key=lambda each: each.confidence) for found in by_field.values() if found]
    return sorted(best, key=lambda each: each.name)


def _weighed(found: Sequence[Found]) -> Iterator[Found]:
    """A pattern that finds several values may mean any of them: it is that much less certain."""
    choices = len({str(each.value) for each in found})
    for each in found:
        confidence = round(each.confidence / choices, 4)
        yield Found(each.name, each.value, each.found_text, each.page, confidence)


def _matches(pattern: ExtractionPattern, pages: Sequence[Page]) -> Iterator[Found]:
    run, convert = compiled(pattern.pattern), _CONVERTERS[pattern.value_type]
    for page in pages:
        certain = pattern.confidence * (1.0 if page.confidence is None else page.confidence)
        for number, match in enumerate(run.finditer(page.text)):
            if number == MOST_MATCHES:
                break
            text = " ".join(_value_in(match).split())[:LONGEST_VALUE]
            value = convert(text)
            if value is not None:
                yield Found(pattern.field, value, text, page.number, certain)


def _value_in(match: Any) -> str:
    """The group named `value`, the first group, or all of it."""
    if "value" in match.re.groupindex:
        return match.group("value") or ""
    return (match.group(1) if match.re.groups else match.group(0)) or ""


def _as_text(text: str) -> str | None:
    return text or None


_LARGE = {"억": 10**8, "만": 10**4, "조": 10**12, "천": 10**3}
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
_PARTS = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s*([조억만천]?)")
_LONGEST_NUMBER = 18


def _as_number(text: str) -> int | float | None:
    """1,250,000.50 as well as 12억 5,000만원."""
    text = unicodedata.normalize("NFKC", text)
    if any(unit in text for unit in _LARGE):
        parts = _PARTS.findall(text[:60])
        total = sum(_plain(digits) * _LARGE.get(unit, 1) for digits, unit in parts)
        return _tidy(total) if parts else None
    found = _NUMBER.search(text)
    return _tidy(_plain(found[0])) if found and len(found[0]) <= _LONGEST_NUMBER + 6 else None


def _plain(digits: str) -> float:
    return float(digits.replace(",", ""))


def _tidy(number: float) -> int | float:
    return int(number) if number == int(number) else number


_DATES = (
    re.compile(r"(\d{4})\s*[-./년]\s*(\d{1,2})\s*[-./월]\s*(\d{1,2})"),
    re.compile(r"\b(\d{4})(\d{2})(\d{2})\b"),
)
_ENGLISH_DATE = re.compile(r"(\d{1,2})\s+([A-Za-z]{3})[a-z]*\.?,?\s+(\d{4})")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def _as_date(text: str) -> str | None:
    """2026-01-05, 2026. 1. 5., 2026년 1월 5일 and 5 January 2026 are all 2026-01-05."""
    text = unicodedata.normalize("NFKC", text)
    for form in _DATES:
        if found := form.search(text):
            return _iso(*found.groups())
    found = _ENGLISH_DATE.search(text)
    if found and found[2].lower() in _MONTHS:
        return _iso(found[3], str(_MONTHS.index(found[2].lower()) + 1), found[1])
    return None


def _iso(year: str, month: str, day: str) -> str | None:
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None


_CONVERTERS: dict[str, Callable[[str], Any]] = {
    ExtractionPattern.ValueType.TEXT: _as_text,
    ExtractionPattern.ValueType.NUMBER: _as_number,
    ExtractionPattern.ValueType.DATE: _as_date,
}
