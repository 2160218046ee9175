"""Looks at one page and reads what is on it, with Tesseract."""

import csv
import io
import itertools
import subprocess
from typing import Any

import pypdfium2
from PIL import Image

from apps.documents.confined.reading import LONGEST_PAGE
from apps.documents.confined.refusal import Refused

_DOTS_PER_INCH = 300
_POINTS_PER_INCH = 72

Row = dict[str, str]


def recognise(
    *, path: str, kind: str, number: int, engine: str, languages: str, max_pixels: int
) -> dict[str, Any]:
    """The words on a page, and how sure Tesseract is of them, from 0 to 1."""
    Image.MAX_IMAGE_PIXELS = max_pixels
    try:
        picture = _picture_of(path, kind, number, max_pixels)
    except (OSError, SyntaxError, ValueError, pypdfium2.PdfiumError):
        raise Refused("broken") from None
    words = [row for row in _rows(picture, engine, languages) if row["text"].strip()]
    return {"text": _text(words)[:LONGEST_PAGE], "confidence": _confidence(words)}


def _picture_of(path: str, kind: str, number: int, max_pixels: int) -> Image.Image:
    if kind == "pdf":
        page = pypdfium2.PdfDocument(path)[number - 1]
        return page.render(scale=_scale(page, max_pixels), grayscale=True).to_pil()
    image = Image.open(path)
    image.seek(number - 1)
    return image.convert("L")


def _scale(page: Any, max_pixels: int) -> float:
    """300 dots per inch, or as many as a page of that size may have."""
    width, height = page.get_size()
    wanted = _DOTS_PER_INCH / _POINTS_PER_INCH
    largest = (max_pixels / max(width * height, 1)) ** 0.5
    return float(min(wanted, largest))


def _rows(picture: Image.Image, engine: str, languages: str) -> list[Row]:
    content = io.BytesIO()
    picture.save(content, "PNG", compress_level=1)
    done = subprocess.run(
        [engine, "stdin", "stdout", "-l", languages, "--dpi", str(_DOTS_PER_INCH), "tsv"],
        input=content.getvalue(), capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise Refused("broken", done.stderr.decode(errors="replace")[-300:])
    lines = io.StringIO(done.stdout.decode(errors="replace"))
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def _text(words: list[Row]) -> str:
    """Words with spaces between them, lines as on the page, a blank line between blocks."""
    lines = itertools.groupby(
        words, lambda row: (row["block_num"], row["par_num"], row["line_num"])
    )
    text, last = "", ""
    for (block, *_), row in lines:
        text += ("\n" if block == last else "\n\n") + " ".join(word["text"] for word in row)
        last = block
    return text.strip()


def _confidence(words: list[Row]) -> float:
    """Long words count more: a speck of dust is a short one."""
    letters = sum(len(word["text"]) for word in words)
    sure = sum(max(float(word["conf"]), 0) * len(word["text"]) for word in words)
    return round(sure / letters / 100, 4) if letters else 0.0
