"""Fills in a template and writes what comes out as PDF or DOCX."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from jinja2 import StrictUndefined, TemplateError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from apps.documents.confined.refusal import Refused

LONGEST_TEXT = 500_000

_HEADING = re.compile(r"(#{1,3})\s+(.*)")
_ITEM = re.compile(r"[-*]\s+(.*)")
_ROW = re.compile(r"\|(.*)\|")
_RULE = re.compile(r"[\s|:-]+")


class Block(NamedTuple):
    """A piece of a document: heading1 to heading3, item, table, break or paragraph."""

    kind: str
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


def make(
    *, template: str, data: dict[str, Any], format: str, title: str, out: str
) -> dict[str, int]:
    """Write the filled-in template to a file; says how many characters it had."""
    text = fill_in(template, data)
    # Imported here: each brings a library of its own.
    if format == "pdf":
        from apps.documents.confined.writing_pdf import write
    else:
        from apps.documents.confined.writing_docx import write
    write(list(blocks(text)), title, out)
    return {"characters": len(text)}


def fill_in(template: str, data: dict[str, Any]) -> str:
    """The text of the template with its values; endless ones are cut off by size and clock."""
    pieces, length = [], 0
    with _faults_are_the_templates():
        for piece in _environment().from_string(template).generate(data):
            length += len(piece)
            if length > LONGEST_TEXT:
                raise Refused("template", f"The text is longer than {LONGEST_TEXT} characters.")
            pieces.append(piece)
    return "".join(pieces).replace("\0", "")


def variables(*, template: str) -> dict[str, list[str]]:
    """What the template has gaps for. Even this compiles it, which may take all there is."""
    with _faults_are_the_templates():
        environment = _environment()
        found = meta.find_undeclared_variables(environment.parse(template))
        environment.from_string(template)
    return {"variables": sorted(found - set(environment.globals))}


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    environment.filters["money"] = _money
    return environment


@contextlib.contextmanager
def _faults_are_the_templates() -> Iterator[None]:
    try:
        yield
    except TemplateError as error:
        raise Refused("template", str(error)[:300]) from None
    except MemoryError:
        raise Refused("template", "It takes more memory than there is.") from None
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise Refused("template", f"{type(error).__name__}: {error}"[:300]) from None


def _money(amount: float | str) -> str:
    """1250000000 is written 1,250,000,000; cents only where there are some."""
    number = float(amount)
    return f"{number:,.0f}" if number == int(number) else f"{number:,.2f}"


def blocks(text: str) -> Iterator[Block]:
    """The pieces that a text in light markup consists of."""
    waiting: list[str] = []
    for line in [*text.splitlines(), ""]:
        line = line.strip()
        if waiting and _kind_of(line) != _kind_of(waiting[0]):
            yield _joined(waiting)
            waiting = []
        if _kind_of(line) in {"table", "paragraph"}:
            waiting.append(line)
        elif line:
            yield _single(line)


def _kind_of(line: str) -> str:
    if not line:
        return ""
    if _ROW.fullmatch(line):
        return "table"
    alone = _HEADING.fullmatch(line) or _ITEM.fullmatch(line) or line == "---"
    return "alone" if alone else "paragraph"


def _joined(lines: list[str]) -> Block:
    if _kind_of(lines[0]) != "table":
        return Block("paragraph", "\n".join(lines))
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return Block("table", rows=tuple(row for row in cells if not _is_rule(row)))


def _is_rule(row: tuple[str, ...]) -> bool:
    """The line of dashes below the head of a table."""
    return all(cell and _RULE.fullmatch(cell) for cell in row)


def _single(line: str) -> Block:
    if found := _HEADING.fullmatch(line):
        return Block(f"heading{len(found[1])}", found[2])
    if found := _ITEM.fullmatch(line):
        return Block("item", found[1])
    return Block("break")
