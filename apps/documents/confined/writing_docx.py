"""Writes DOCX, with a Korean font named for the programs that have one."""

import re

from docx import Document
from docx.oxml.ns import qn

from apps.documents.confined.making import Block

_KOREAN_FONT = "맑은 고딕"
# XML has no place for these.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def write(pieces: list[Block], title: str, out: str) -> None:
    document = Document()
    document.core_properties.title = _CONTROL.sub("", title)[:255]
    normal = document.styles["Normal"]
    normal.font.name = _KOREAN_FONT
    normal.element.rPr.rFonts.set(qn("w:eastAsia"), _KOREAN_FONT)
    for piece in pieces:
        _add(document, piece)
    document.save(out)


def _add(document, piece: Block) -> None:  # type: ignore[no-untyped-def]
    text = _CONTROL.sub("", piece.text)
    if piece.kind == "break":
        document.add_page_break()
    elif piece.kind == "table":
        _add_table(document, piece)
    elif piece.kind == "item":
        document.add_paragraph(text, style="List Bullet")
    elif piece.kind == "paragraph":
        document.add_paragraph(text)
    else:
        document.add_heading(text, level=int(piece.kind[-1]))


def _add_table(document, piece: Block) -> None:  # type: ignore[no-untyped-def]
    columns = max(len(row) for row in piece.rows)
    table = document.add_table(rows=0, cols=columns, style="Table Grid")
    for row in piece.rows:
        cells = table.add_row().cells
        for cell, text in zip(cells, row, strict=False):
            cell.text = _CONTROL.sub("", text)
