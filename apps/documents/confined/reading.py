"""Opens a file: what is wrong with it, and the text it carries."""

import zipfile
from collections.abc import Iterator
from typing import Any

import pypdf
from PIL import Image
from pypdf.errors import DependencyError, LimitReachedError, PdfReadError

from apps.documents.confined import docx, plain
from apps.documents.confined.refusal import Refused

LONGEST_PAGE = 200_000
"""Characters of one page; a page of a novel has two thousand."""
_TOO_LITTLE = 12
"""A page with fewer letters and a picture on it is a scan with a stamp or a page number."""
_OUTLINES = 2_000
"""Bytes of drawing on a page without a letter that are worth a look; a frame needs fewer."""

Page = dict[str, Any]


def inspect(*, path: str, kind: str, max_pages: int, max_pixels: int) -> dict[str, int]:
    """The number of pages of a file that is sound; anything else is refused."""
    if kind != "docx" and zipfile.is_zipfile(path):
        raise Refused("ambiguous")
    look = {"pdf": _inspect_pdf, "docx": docx.inspect, "txt": plain.inspect}.get(kind)
    pages = look(path) if look else _inspect_image(path, max_pixels)
    if pages > max_pages:
        raise Refused("pages")
    return {"pages": pages}


def _inspect_pdf(path: str) -> int:
    with open(path, "rb") as file:
        # Readers look for it in the first kilobyte, so that something else may stand before.
        if not file.read(5) == b"%PDF-":
            raise Refused("ambiguous")
    try:
        pages = len(_open_pdf(path).pages)
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001  (broken files break parsers in any way)
        raise _refusal_of(error) from None
    if not pages:
        raise Refused("broken")
    return pages


def _open_pdf(path: str) -> pypdf.PdfReader:
    reader = pypdf.PdfReader(path)
    # Many are encrypted with the empty password, only to forbid printing.
    if reader.is_encrypted and not reader.decrypt(""):
        raise Refused("encrypted")
    return reader


def _refusal_of(error: Exception) -> Refused:
    if isinstance(error, DependencyError):
        return Refused("encrypted")
    if isinstance(error, LimitReachedError | MemoryError):
        return Refused("bomb")
    return Refused("broken")


def _inspect_image(path: str, max_pixels: int) -> int:
    """Sizes are declared in front: a bomb is known before a pixel of it is unpacked."""
    Image.MAX_IMAGE_PIXELS = max_pixels
    try:
        with Image.open(path) as image:
            frames = getattr(image, "n_frames", 1)
            for number in range(min(frames, 1000)):
                image.seek(number)
                if image.width * image.height > max_pixels:
                    raise Refused("bomb")
            image.seek(0)
            image.load()
    except Image.DecompressionBombError:
        raise Refused("bomb") from None
    except (OSError, SyntaxError, ValueError, EOFError):
        raise Refused("broken") from None
    if image.format == "PNG":
        _nothing_behind_the_image(path)
    return int(frames)


def _nothing_behind_the_image(path: str) -> None:
    with open(path, "rb") as file:
        content = file.read()
    end = content.rfind(b"IEND")
    if end < 0 or len(content) > end + 8:
        raise Refused("ambiguous")


def read(*, path: str, kind: str, first: int, last: int) -> dict[str, list[Page]]:
    """The text that pages of a file carry; `scanned` says that there is a picture instead."""
    if kind == "pdf":
        return {"pages": list(_read_pdf(path, first, last))}
    if kind in {"txt", "docx"}:
        text = plain.text_of(path) if kind == "txt" else docx.text_of(path)
        return {"pages": [_page(1, text, scanned=False)]}
    return {"pages": [_page(number, "", scanned=True) for number in range(first, last + 1)]}


def _read_pdf(path: str, first: int, last: int) -> Iterator[Page]:
    try:
        pages = _open_pdf(path).pages
        for number in range(first, last + 1):
            yield _read_pdf_page(number, pages[number - 1])
    except (PdfReadError, RecursionError) as error:
        raise _refusal_of(error) from None


def _read_pdf_page(number: int, page: Any) -> Page:
    try:
        text = page.extract_text() or ""
    except (MemoryError, RecursionError, LimitReachedError):
        raise
    except Exception:  # noqa: BLE001  (broken files break parsers in any way)
        # A text layer that cannot be understood is as good as none: the page can be looked at.
        return _page(number, "", scanned=True)
    letters = sum(sign.isalnum() for sign in text)
    return _page(number, text, scanned=letters < _TOO_LITTLE and _shows_more(page, letters))


def _shows_more(page: Any, letters: int) -> bool:
    """Whether there is a picture, or in place of all letters their outlines."""
    try:
        if page["/Resources"].get_object().get("/XObject"):
            return True
        contents = page.get_contents()
    except (KeyError, AttributeError):
        return False
    return not letters and contents is not None and len(contents.get_data()) > _OUTLINES


def _page(number: int, text: str, *, scanned: bool) -> Page:
    # PostgreSQL keeps no NUL, and JSON no lone surrogates.
    clean = text[:LONGEST_PAGE].replace("\0", "").encode("utf-8", "replace").decode()
    return {"number": number, "text": clean, "scanned": scanned}
