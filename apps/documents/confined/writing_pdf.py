"""Writes PDF with a font of our own inside, so that Korean reads the same everywhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table

from apps.documents.confined.making import Block

_FONTS = Path(__file__).resolve().parent.parent / "fonts"
_PLAIN, _BOLD, _WESTERN = "NanumSquareR", "NanumSquareB", "Helvetica"
_SIZES = {"heading1": 18, "heading2": 14, "heading3": 12, "paragraph": 10.5, "item": 10.5}
_WIDTH = A4[0] - 50 * mm


def write(pieces: list[Block], title: str, out: str) -> None:
    for name in (_PLAIN, _BOLD):
        pdfmetrics.registerFont(TTFont(name, _FONTS / f"{name}.ttf"))
    page = SimpleDocTemplate(
        out, pagesize=A4, title=title, creator="Axiom",
        leftMargin=25 * mm, rightMargin=25 * mm, topMargin=25 * mm, bottomMargin=25 * mm,
    )  # fmt: skip
    # Without anything in it there would be no page, and no reader opens that.
    story = [flowable for piece in pieces for flowable in _flowables(piece)] or [Spacer(1, 1)]
    page.build(story, onFirstPage=_number, onLaterPages=_number)


def _flowables(piece: Block) -> Iterator[Any]:
    if piece.kind == "break":
        yield PageBreak()
    elif piece.kind == "table":
        yield _table(piece)
        yield Spacer(1, 4 * mm)
    else:
        bullet = "•" if piece.kind == "item" else None
        yield Paragraph(_marked(piece.text), _style(piece.kind), bulletText=bullet)


def _style(kind: str) -> ParagraphStyle:
    heading = kind.startswith("heading")
    size = _SIZES[kind]
    return ParagraphStyle(
        kind, fontName=_BOLD if heading else _PLAIN, fontSize=size, leading=size * 1.6,
        spaceBefore=size * 0.6 if heading else 0, spaceAfter=size * 0.5, wordWrap="CJK",
        leftIndent=12 if kind == "item" else 0, bulletFontName=_PLAIN,
    )  # fmt: skip


def _table(piece: Block) -> Table:
    columns = max(len(row) for row in piece.rows)
    cells = [
        [Paragraph(_marked(cell), _style("paragraph")) for cell in row]
        + [""] * (columns - len(row))
        for row in piece.rows
    ]
    lines = [("GRID", (0, 0), (-1, -1), 0.5, colors.grey), ("VALIGN", (0, 0), (-1, -1), "MIDDLE")]
    head = [("BACKGROUND", (0, 0), (-1, 0), colors.whitesmoke)]
    return Table(cells, colWidths=[_WIDTH / columns] * columns, style=lines + head, repeatRows=1)


def _marked(text: str) -> str:
    return "".join(_sign(sign) for sign in text).replace("\n", "<br/>")


def _sign(sign: str) -> str:
    """A sign that our font lacks is taken from a standard one, or shown to be missing."""
    known = pdfmetrics.getFont(_PLAIN).face.charToGlyph
    if sign == "\n" or ord(sign) in known:
        return escape(sign)
    try:
        sign.encode("cp1252")
    except UnicodeEncodeError:
        return "□"
    return f'<font name="{_WESTERN}">{escape(sign)}</font>'


def _number(canvas: Any, page: Any) -> None:
    canvas.setFont(_PLAIN, 8)
    canvas.drawCentredString(A4[0] / 2, 12 * mm, str(page.page))
